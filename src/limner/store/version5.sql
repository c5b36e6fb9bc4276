-- Human studies with ratings, comparisons and metrics, certificates of judges, the making of exams.
CREATE TABLE studies (
    name VARCHAR(200) NOT NULL,
    exam VARCHAR(200) NOT NULL,
    status VARCHAR(20) NOT NULL,
    body JSON NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    PRIMARY KEY (name),
    FOREIGN KEY(exam) REFERENCES exams (name)
);
CREATE TABLE study_items (
    study VARCHAR(200) NOT NULL,
    n INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    question_id TEXT NOT NULL,
    drawings JSON NOT NULL,
    stratum TEXT NOT NULL,
    probability FLOAT NOT NULL,
    PRIMARY KEY (study, n),
    FOREIGN KEY(study) REFERENCES studies (name)
);
CREATE TABLE study_raters (
    study VARCHAR(200) NOT NULL,
    rater VARCHAR(200) NOT NULL,
    token VARCHAR(64) NOT NULL,
    setup VARCHAR(64) NOT NULL,
    body JSON NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    PRIMARY KEY (study, rater),
    FOREIGN KEY(study) REFERENCES studies (name),
    FOREIGN KEY(setup) REFERENCES setups (id)
);
CREATE INDEX study_raters_by_token ON study_raters (token);
CREATE TABLE study_answers (
    study VARCHAR(200) NOT NULL,
    rater VARCHAR(200) NOT NULL,
    item INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    field VARCHAR(200) NOT NULL,
    value JSON,
    reason TEXT,
    seconds FLOAT,
    at FLOAT NOT NULL,
    PRIMARY KEY (study, rater, item, repeat, field),
    FOREIGN KEY(study, rater) REFERENCES study_raters (study, rater)
);
CREATE TABLE ratings (
    id VARCHAR(64) NOT NULL,
    study TEXT,
    setup VARCHAR(64) NOT NULL,
    drawing VARCHAR(64) NOT NULL,
    scale VARCHAR(200) NOT NULL,
    repeat INTEGER NOT NULL,
    value FLOAT,
    reason TEXT,
    seconds FLOAT,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(setup) REFERENCES setups (id),
    FOREIGN KEY(drawing) REFERENCES drawings (id)
);
CREATE INDEX ratings_by_drawing ON ratings (drawing);
CREATE INDEX ratings_by_setup ON ratings (setup);
CREATE TABLE comparisons (
    id VARCHAR(64) NOT NULL,
    study TEXT,
    setup VARCHAR(64) NOT NULL,
    exam VARCHAR(200) NOT NULL,
    question_id TEXT NOT NULL,
    scale VARCHAR(200) NOT NULL,
    first VARCHAR(64) NOT NULL,
    second VARCHAR(64) NOT NULL,
    shown_first VARCHAR(10),
    repeat INTEGER NOT NULL,
    choice VARCHAR(10),
    reason TEXT,
    seconds FLOAT,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(setup) REFERENCES setups (id),
    FOREIGN KEY(exam) REFERENCES exams (name),
    FOREIGN KEY(first) REFERENCES drawings (id),
    FOREIGN KEY(second) REFERENCES drawings (id)
);
CREATE INDEX comparisons_by_exam ON comparisons (exam);
CREATE INDEX comparisons_by_setup ON comparisons (setup);
CREATE TABLE metrics (
    id VARCHAR(64) NOT NULL,
    setup VARCHAR(64) NOT NULL,
    exam VARCHAR(200) NOT NULL,
    painter TEXT NOT NULL,
    strategy TEXT,
    seed INTEGER,
    value FLOAT NOT NULL,
    n INTEGER,
    body JSON NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(setup) REFERENCES setups (id),
    FOREIGN KEY(exam) REFERENCES exams (name)
);
CREATE INDEX metrics_by_exam ON metrics (exam);
CREATE TABLE certificates (
    id VARCHAR(64) NOT NULL,
    setup VARCHAR(64) NOT NULL,
    exam VARCHAR(200) NOT NULL,
    body JSON NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(setup) REFERENCES setups (id),
    FOREIGN KEY(exam) REFERENCES exams (name)
);
CREATE INDEX certificates_by_setup ON certificates (setup);
CREATE TABLE builds (
    name VARCHAR(200) NOT NULL,
    recipe VARCHAR(200) NOT NULL,
    body JSON NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE build_items (
    build VARCHAR(200) NOT NULL,
    step VARCHAR(200) NOT NULL,
    item VARCHAR(200) NOT NULL,
    given VARCHAR(64) NOT NULL,
    status VARCHAR(20) NOT NULL,
    reason TEXT,
    body JSON,
    cost FLOAT,
    created FLOAT NOT NULL,
    PRIMARY KEY (build, step, item),
    FOREIGN KEY(build) REFERENCES builds (name)
);
CREATE TABLE build_reviews (
    id VARCHAR(64) NOT NULL,
    build VARCHAR(200) NOT NULL,
    item VARCHAR(200) NOT NULL,
    reviewer VARCHAR(200) NOT NULL,
    action VARCHAR(20) NOT NULL,
    base VARCHAR(64),
    body JSON,
    comment TEXT,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(build) REFERENCES builds (name)
);
CREATE INDEX build_reviews_by_item ON build_reviews (build, item);
