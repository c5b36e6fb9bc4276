// The first page: what was examined, and each exam's result in a sentence, with its certainty.
"use strict";

(() => {
  const { html, Name, Warning, Trust, Score, Pic } = L;

  const page = (exam, file, found) => `exams/${exam.slug}/${file}.html${found ? L.address(found) : ""}`;

  const Painter = ({ exam, p }) =>
    html`<a href=${page(exam, "painter", { p: exam.painters[p].key })}><${Name}>${exam.painters[p].row}<//></a>`;

  // Words, and painters by their numbers.
  const Words = ({ exam, words }) =>
    words.map((word) => (typeof word === "number" ? html`<${Painter} exam=${exam} p=${word} />` : word));

  // A table with the score of the sentence and the exam's next main one.
  function Leaders({ exam, answer, score }) {
    const place = (n) => (n > 0 ? "second" : "");
    const scores = [score, ...exam.scores.filter((other) => other.main && other !== score).slice(0, 1)];
    const shared = (row) => answer.rows.some((other) => other !== row && other.place === row.place);
    const priced = answer.rows.some((row) => row.cost);
    const mixed = answer.rows.some((row) => !exam.painters[row.p].control);
    const line = (row) => html`<tr>
      <td class="rank">${row.place == null ? "" : shared(row) ? `=${row.place}` : row.place}</td>
      <th scope="row">
        <${Painter} exam=${exam} p=${row.p} />${mixed && exam.painters[row.p].control && html`${" "}<span class="badge">control</span>`}
      </th>
      ${scores.map((each, n) => html`<td class=${`number ${place(n)}`}><${Score} view=${row.numbers} score=${each} whisker /></td>`)}
      ${priced && html`<td class="number">${exam.painters[row.p].control ? "" : L.price(row.cost)}</td>`}
    </tr>`;
    return html`<table class="mini">
      <caption>
        ${scores.map((each, n) => html`<div class=${place(n)}>${L.words(each.name)}: ${each.about}</div>`)}
      </caption>
      <thead>
        <tr>
          <th scope="col"><span class="hidden">Rank</span></th>
          <th scope="col">Painter</th>
          ${scores.map((each, n) => html`<th scope="col" class=${`number ${place(n)}`}>${L.words(each.name)}</th>`)}
          ${priced && html`<th scope="col" class="number" title="Dollars for one drawing">$ a drawing</th>`}
        </tr>
      </thead>
      <tbody>
        ${answer.rows.map(line)}
      </tbody>
    </table>`;
  }

  const questionPage = (exam, key, d) => page(exam, "question", { q: key, d });

  const Tile = ({ exam, one }) => html`<li>
    <a class="tile" href=${questionPage(exam, one.key, one.d)}>
      <${Pic} sha=${one.image} alt=${`${one.id} by ${exam.painters[one.p].row}`} eager />
      <span class="tiletext">
        <${Name}>${exam.painters[one.p].row}<//><span class="soft">${L.percent(one.met)} met</span>
      </span>
    </a>
  </li>`;

  // The best or the worst drawings in a row.
  const Strip = ({ exam, title, tiles }) => html`<figure class="drawn">
    <figcaption>${title}</figcaption>
    <ul class="tiles">
      ${tiles.map((one) => html`<${Tile} exam=${exam} one=${one} />`)}
    </ul>
  </figure>`;

  // One question drawn by the listed painters, beside the reference.
  function Drawn({ exam, drawn }) {
    const link = () => questionPage(exam, drawn.key);
    const many = drawn.drawings.length > 1;
    return html`<figure class="drawn">
      <figcaption>
        ${many ? "The question on which they differ most" : "One of the questions"}:${" "}
        <a href=${link()}><${Name}>${drawn.id}<//></a>
      </figcaption>
      <ul class="tiles">
        ${drawn.reference &&
        !drawn.drawings.some((one) => one.image === drawn.reference) &&
        html`<li>
          <a class="tile" href=${link()}>
            <${Pic} sha=${drawn.reference} alt=${`Reference of ${drawn.id}`} eager />
            <span class="tiletext">Reference<span class="soft">as it should be</span></span>
          </a>
        </li>`}
        ${drawn.drawings.map((one) => html`<${Tile} exam=${exam} one=${one} />`)}
      </ul>
    </figure>`;
  }

  // What the judge is worth: its examination, its agreement with people, its scores of controls.
  function Worth({ exam, answer, score }) {
    const rivals = answer.rows.some((row) => !exam.painters[row.p].control);
    const controls = (rivals ? answer.controls : []).map(
      ([p, value], n) => html`${n ? " and " : ""}<${Painter} exam=${exam} p=${p} /> ${L.number(value, score.digits)}`,
    );
    return html`<p class="soft">
      Judge <${Name}>${answer.judge}<//>,${" "}<${Trust} judge=${answer} people=${answer.people} home=${`exams/${exam.slug}/`} />;
      reading ${exam.reading}.${controls.length > 0 && html` It gives ${controls}.`}
    </p>`;
  }

  function Card({ exam }) {
    const { answer, judges, times } = exam;
    const score = exam.scores.find((found) => found.name === answer.score);
    const { questions, drawings, differences, failures } = exam.counts;
    const rivals = exam.painters.filter((painter) => !painter.control).length;
    const controls = exam.painters.length - rivals;
    const what = [
      L.many(questions, "question"),
      rivals > 0 && L.many(rivals, "painter"),
      controls > 0 && L.many(controls, "control"),
      L.many(drawings, "drawing"),
      L.many(judges.length, "judge"),
      times[1] != null && `drawn until ${L.day(times[1]).slice(0, 10)}`,
    ];
    const links = [
      ["index", "Leaderboard"],
      ["painter", "Painters"],
      ["judges", "Judges"],
      ["questions", "Questions"],
      ["gallery", "Gallery"],
    ];
    if (differences) links.push(["differences", L.many(differences, "difference")]);
    if (failures) links.push(["failures", L.many(failures, "failure")]);
    return html`<article class="card answer">
      <header>
        <h2><a href=${page(exam, "index")}><${Name}>${exam.name}<//></a></h2>
        <p class="soft">${exam.title}</p>
        <p class="soft">${what.filter(Boolean).join(" · ")}</p>
      </header>
      <div class="said">
        <p class="verdict"><${Words} exam=${exam} words=${answer.said} /></p>
        <${Warning} judge=${answer} />
        ${answer.sure.length > 0 && html`<p><${Words} exam=${exam} words=${answer.sure} /></p>`}
        ${answer.judge && html`<${Worth} exam=${exam} answer=${answer} score=${score} />`}
        ${score && answer.rows.length > 1 && html`<${Leaders} exam=${exam} answer=${answer} score=${score} />`}
      </div>
      <div class="strips">
        ${answer.drawn && html`<${Drawn} exam=${exam} drawn=${answer.drawn} />`}
        ${answer.best?.length > 0 && html`<${Strip} exam=${exam} title="Best drawings" tiles=${answer.best} />`}
        ${answer.worst?.length > 0 && html`<${Strip} exam=${exam} title="Worst drawings" tiles=${answer.worst} />`}
      </div>
      <ul class="links">
        ${links.map(([file, name]) => html`<li><a href=${page(exam, file)}>${name}</a></li>`)}
      </ul>
    </article>`;
  }

  function Page({ data: [[site]] }) {
    return html`<h1>Exams</h1>
      <p class="lead">
        Can text-to-image models draw what a textbook would show, and draw it right? Choose an exam to see its
        leaderboard, its painters, and every question with all drawings and marks.
      </p>
      <div class="answers">${site.exams.map((exam) => html`<${Card} exam=${exam} />`)}</div>`;
  }

  L.show(Page, "site");
})();
