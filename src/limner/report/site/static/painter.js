// One painter: its scores and how certain they are, its strengths and weaknesses, its typical faults.
"use strict";

(() => {
  const { html, Name, Warning, TrustOf, Score, Choice, Pic, Mark, Table } = L;
  const { useMemo, useState } = preactHooks;

  const FEWEST = 10; // A category with fewer questions is not called strong or weak.
  const ENDS = 4; // The number of strongest and weakest categories shown.
  const SORTS = 6; // The number of kinds of faults shown.

  const at = L.sortable;

  function Ends({ name, some, score }) {
    const item = (r) => html`<li>
      <span><${Name}>${L.words(r.value)}<//><span class="soft"> ${L.words(r.tag)}, n ${r.view.n}</span></span>
      <${Score} view=${r.view} score=${score} whisker />
    </li>`;
    return html`<div class="card">
      <h3>${name}</h3>
      ${some.length
        ? html`<ol class="ranked">${some.map(item)}</ol>`
        : html`<p class="soft">Too few categories have ${FEWEST} questions or more.</p>`}
    </div>`;
  }

  function Categories({ part, score }) {
    const tags = Object.keys(part.by);
    const [tag, setTag] = useState(tags[0]);
    const rows = useMemo(() => Object.entries(part.by[tag] || {}).map(([value, view]) => ({ value, view })), [tag]);
    const all = useMemo(() => {
      const values = (one) => Object.entries(part.by[one]).map(([value, view]) => ({ tag: one, value, view }));
      const found = tags.flatMap(values).filter((r) => r.view.n >= FEWEST && at(r.view, score) != null);
      return found.sort((a, b) => at(b.view, score) - at(a.view, score));
    }, []);
    const columns = useMemo(
      () => [
        {
          id: "value",
          name: L.words(tag),
          first: true,
          value: (r) => r.value,
          cell: (r) => html`<${Name}>${L.words(r.value)}<//>`,
        },
        {
          id: "score",
          name: L.words(score.name),
          number: true,
          value: (r) => at(r.view, score),
          cell: (r) => html`<${Score} view=${r.view} score=${score} whisker />`,
        },
        {
          id: "met",
          name: "Met of decided",
          number: true,
          value: (r) => r.view.decided.met,
          cell: (r) => L.percent(r.view.decided.met),
        },
        { id: "n", name: "n", number: true, value: (r) => r.view.n },
      ],
      [tag],
    );
    if (!tags.length) return html`<p class="soft">The questions have no categories.</p>`;
    const half = Math.min(ENDS, Math.floor(all.length / 2));
    const options = tags.map((one) => [one, L.words(one)]);
    return html`<div class="cards two">
        <${Ends} name="Strongest" some=${all.slice(0, half)} score=${score} />
        <${Ends} name="Weakest" some=${all.slice(all.length - half).reverse()} score=${score} />
      </div>
      ${tags.length > 1 &&
      html`<div class="bar">
        <${Choice} name="All categories by" value=${tag} options=${options} onChange=${setTag} />
      </div>`}
      <${Table}
        key=${tag}
        columns=${columns}
        rows=${rows}
        caption=${`By ${L.words(tag)}`}
        sort=${{ id: "score", desc: true }}
      />`;
  }

  function Example({ one }) {
    const link = L.questionLink(one.key, one.d);
    return html`<li class="card example">
      <a href=${link}><${Pic} sha=${one.image} alt=${`Drawing of ${one.id}`} /></a>
      <div>
        <p><${Mark} value=${one.value} top=${one.top} />${" "}<${Name}>${one.text}<//></p>
        ${one.reason && html`<p class="soft"><${Name}>${one.reason}<//></p>`}
        <p>
          <a href=${link}><${Name}>${one.id}<//></a>
        </p>
      </div>
    </li>`;
  }

  function Faults({ part }) {
    const found = part.faults.filter((sort) => sort.failed);
    if (!found.length) return html`<p class="soft">This judge found no faults, or decided nothing.</p>`;
    return found.slice(0, SORTS).map(
      (sort) => html`<section class="fault">
        <h3>
          ${sort.sort}${" "}
          <span class="soft">not fully met: ${L.count(sort.failed)} of ${L.count(sort.decided)} decided</span>
        </h3>
        <ul class="examples">
          ${sort.examples.map((one) => html`<${Example} one=${one} />`)}
        </ul>
      </section>`,
    );
  }

  function Tile({ shown }) {
    return html`<a class="tile" href=${L.questionLink(shown.key, shown.d)}>
      <${Pic} sha=${shown.image} alt="" />
      <span class="tiletext"><${Name}>${shown.id}<//><span class="soft">${L.percent(shown.met)} met</span></span>
    </a>`;
  }

  // Every known score with its interval, coverage, failures, cost.
  function Facts({ known, view, row }) {
    const failures = Object.entries(row.failures);
    const fact = (name, value, more) => html`<div class="card fact">
      <h3>${name}</h3>
      <span class="score"><b>${value}</b>${more && html`<span class="ends">${more}</span>`}</span>
    </div>`;
    const open = view && view.decided.share != null && view.decided.share < 1;
    const failed = failures.reduce((sum, [, count]) => sum + count, 0);
    return html`<div class="cards facts">
      ${known.map(
        (score) => html`<div class="card fact" title=${score.about}>
          <h3>${L.words(score.name)}</h3>
          <${Score} view=${view} score=${score} whisker />
        </div>`,
      )}
      ${open && fact("decided", L.percent(view.decided.share), "of all criteria")}
      ${open && fact("met of decided", L.percent(view.decided.met))}
      ${fact("coverage", L.percent(row.coverage), `${L.count(row.n)} of ${L.count(row.expected)} questions`)}
      ${fact("failed", failed, failures.map(([kind, count]) => `${count} ${L.words(kind)}`).join(", "))}
      ${row.unmarked > 0 && fact("not marked", row.unmarked, "by this judge")}
      ${fact("to draw", L.price(row.costs.drawing), "per drawing")}
      ${fact("to mark", L.price(row.costs.marking), "per drawing")}
    </div>`;
  }

  function Under({ exam, place, part, params }) {
    const way = exam.ways[part.way];
    const row = way.rows.find((one) => one.p === place);
    const view = L.compared(exam, row);
    const known = exam.scores.filter((score) => view.scores[score.name] || view.bounds[score.name]);
    const lead = exam.scores.find((score) => score.name === way.lead) || exam.scores[0];
    // A leading score near zero or near its maximum does not separate strengths from weaknesses.
    const middling = (score) => view.scores[score.name] && Math.abs(view.scores[score.name][0] / score.top - 0.5) < 0.45;
    const chosen = known.find((score) => score.name === params.score);
    const score = chosen || known.find((one) => one.main && middling(one)) || lead;
    const rank = row.ranks[lead.name];
    const common = view === row.views.common ? " that all painters have" : "";
    const open = rank && common && (rank[0] === rank[1] ? L.ordinal(rank[0]) : `${L.ordinal(rank[0])} to ${L.ordinal(rank[1])}`);
    const placed = way.rows.filter((one) => one.place != null);
    const shared = placed.some((one) => one !== row && one.place === row.place);
    const options = known.map((one) => [one.name, L.words(one.name)]);
    if (!row.n) {
      return html`<p>
          Judge <b><${Name}>${way.name}<//></b>: none of its drawings has a score.${" "}
          <a href=${`failures.html${L.address({ painter: exam.painters[place].key })}`}>What went wrong.</a>
        </p>
        <${Facts} known=${[]} row=${row} />`;
    }
    return html`<h2>Scores</h2>
      <p>
        Judge <b><${Name}>${way.name}<//></b>, <${TrustOf} exam=${exam} way=${way} />, reading <b>${exam.reading}</b>, on ${L.many(view.n, "question")}${common}.
        ${row.place != null &&
        html` By ${L.words(lead.name)} it ranks <b>${L.ordinal(row.place)}</b> of
          ${" "}${placed.length}${shared ? ", tied with others" : ""}.`}
        ${open && html` In 95% of resamples it ranks <b>${open}</b>.`}
      </p>
      <${Warning} judge=${way} />
      <${Facts} known=${known} view=${view} row=${row} />
      ${row.differs.length > 0 &&
      html`<p class="soft">Differences from the paper: <${Name}>${row.differs.join("; ")}<//>.</p>`}
      ${row.remarks.length > 0 &&
      html`<ul class="notes">
        ${row.remarks.map((remark) => html`<li><${Name}>${remark}<//></li>`)}
      </ul>`}
      <h2>Strengths and weaknesses</h2>
      ${known.length > 1 &&
      html`<div class="bar">
        <${Choice}
          name="By score"
          value=${score.name}
          options=${options}
          onChange=${(score) => L.change({ score })}
        />
      </div>`}
      <${Categories} key=${score.name} part=${part} score=${score} />
      <h2>Typical faults</h2>
      <${Faults} part=${part} />
      <h2>Best and worst drawings</h2>
      <h3>Best <span class="soft">by the share of decided criteria that are met</span></h3>
      <div class="tiles">${part.best.map((one) => html`<${Tile} shown=${one} />`)}</div>
      <h3>Worst</h3>
      <div class="tiles">${part.worst.map((one) => html`<${Tile} shown=${one} />`)}</div>
      ${Object.keys(part.analyses).length > 0 &&
      html`<h2>Further analyses of the paper</h2>
        <pre class="box">${JSON.stringify(part.analyses, null, 1)}</pre>`}`;
  }

  function Painter({ exam, place, params }) {
    const painter = exam.painters[place];
    const { parts: found, wrong } = L.useFile(`painters/${painter.key}`);
    if (wrong) return html`<p class="wrong">${wrong}</p>`;
    const parts = (found || []).filter((part) => part.way !== undefined);
    const part = parts.find((one) => one.way === Number(params.way)) || parts[0];
    const ways = parts.map((one) => [String(one.way), exam.ways[one.way].name]);
    return html`<h1>
        <${Name}>${painter.row}<//>
        ${painter.control && html`${" "}<span class="badge">control</span>`}
      </h1>
      <p class="lead">
        ${L.many(painter.done, "drawing")} of <${Name}>${exam.name}<//>
        ${painter.seeds > 1 && `, ${painter.seeds} per question`}.${" "}
        ${painter.done > 0 &&
        html`<a href=${`gallery.html${L.address({ painter: painter.key })}`}>See all of them.</a>`}
      </p>
      ${!found && html`<p class="wait" role="status">Loading …</p>`}
      ${found && !part && html`<p>No judge has marked its drawings yet.</p>`}
      ${parts.length > 1 &&
      html`<div class="bar">
        <${Choice}
          name="Judge"
          value=${String(part.way)}
          options=${ways}
          onChange=${(way) => L.change({ way })}
        />
      </div>`}
      ${part && html`<${Under} key=${part.way} exam=${exam} place=${place} part=${part} params=${params} />`}`;
  }

  // All painters, with the number of their drawings.
  function Painters({ exam }) {
    const columns = useMemo(
      () => [
        {
          id: "painter",
          name: "Painter",
          first: true,
          value: (one) => one.row,
          cell: (one) => html`<a href=${L.painterLink(one)}><${Name}>${one.row}<//></a>`,
        },
        { id: "spec", name: "What it is", value: (one) => one.spec, cell: (one) => html`<${Name}>${one.spec}<//>` },
        { id: "strategy", name: "Strategy", value: (one) => one.strategy, cell: (one) => html`<${Name}>${one.strategy}<//>` },
        { id: "done", name: "Drawings", number: true, value: (one) => one.done, cell: (one) => L.count(one.done) },
        {
          id: "failed",
          name: "Could not be drawn",
          number: true,
          value: (one) => Object.values(one.failed).reduce((sum, count) => sum + count, 0),
        },
        { id: "seeds", name: "Per question", number: true, value: (one) => one.seeds },
      ],
      [],
    );
    return html`<h1>Painters <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">Choose one to see its scores, strengths and weaknesses, typical faults and drawings.</p>
      <${Table}
        columns=${columns}
        rows=${exam.painters}
        caption=${`Painters of ${exam.name}`}
        rowClass=${(one) => (one.control ? "control" : "")}
        apart=${(one) => one.control}
        block=${(one) => one.control && "Controls: their correct result is known"}
      />`;
  }

  function Page({ data: [[exam]] }) {
    const params = L.useParams();
    const place = exam.painters.findIndex((one) => one.key === params.p);
    L.useTitle(place < 0 ? `Painters · ${exam.name}` : `${exam.painters[place].row} · ${exam.name}`);
    if (place >= 0) return html`<${Painter} key=${params.p} exam=${exam} place=${place} params=${params} />`;
    return html`<${Painters} exam=${exam} />`;
  }

  L.show(Page, "exam");
})();
