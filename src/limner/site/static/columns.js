// The columns of a leaderboard. A row is a painter of ours with its numbers, {painter, row, numbers}, or a figure from
// the paper, {paper, numbers}.
"use strict";

(() => {
  const { html, Name, Score } = L;

  const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

  const rowName = (r) => (r.paper ? r.paper.model : r.painter.row);
  const isControl = (r) => Boolean(r.painter && r.painter.control);
  const known = (r, score) => {
    if (!r.numbers) return false;
    const ends = r.numbers.bounds[score.name];
    return Boolean(r.numbers.scores[score.name] || (ends && (ends[0] > 0 || ends[1] < score.top)));
  };

  // What differs from the paper's settings, each set of differences once: its words, in the order of their numbers.
  const differs = (r) => (r.row && r.row.n ? r.row.differs.join("; ") : "");
  const differing = (rows) => [...new Set(rows.map(differs).filter(Boolean))];

  function Painter({ r, differences }) {
    if (r.paper) {
      const where = `${r.paper.table}, ${r.paper.group}`;
      const source = r.paper.board ? "release board" : "paper";
      return html`<${Name}>${r.paper.model}<//>${" "}<span class="badge" title=${where}>${source}</span>`;
    }
    const { painter } = r;
    const number = differences.indexOf(differs(r)) + 1;
    return html`<a href=${L.painterLink(painter)}><${Name}>${painter.row}<//></a>
      ${number > 0 && html`<sup title=${differs(r)}>${number}</sup>`}
      ${painter.control && !painter.name.startsWith("control/") && html`${" "}<span class="badge">control</span>`}`;
  }

  // Equals share a place. Under it stands which places resampling leaves open, where that was asked of these questions.
  function placeColumn(score, way, open) {
    const place = (r) => r.row?.place ?? undefined;
    const shared = (r) => way.rows.some((other) => other !== r.row && other.place === place(r));
    const range = (r) => open && r.row.ranks[score.name];
    const ends = ([low, high]) => (low === high ? `${low}` : `${low}–${high}`);
    return {
      id: "place",
      name: "Place",
      open: open && way.rows.some((row) => row.ranks[score.name]),
      number: true,
      help: `By ${L.words(score.name)}; equals share a place`,
      value: (r) => (place(r) == null ? undefined : -place(r)),
      cell: (r) => {
        if (place(r) == null) return html`<span class="soft">${isControl(r) ? "control" : "–"}</span>`;
        return html`<span class="score">
          <b>${shared(r) && "="}${place(r)}</b>
          ${range(r) && html`<span class="ends">[${ends(range(r))}]</span>`}
        </span>`;
      },
    };
  }

  const scoreColumn = (score, whisker) => ({
    id: score.name,
    name: L.words(score.name),
    number: true,
    help: `${score.about}; at best ${score.top}`,
    value: (r) => L.sortable(r.numbers, score),
    cell: (r) => html`<${Score} view=${r.numbers} score=${score} whisker=${whisker} />`,
  });

  const share = (id, name, help, of) => ({
    id,
    name,
    help,
    number: true,
    value: (r) => of(r) ?? undefined,
    cell: (r) => L.percent(of(r)),
  });

  function columnsOf(exam, way, rows, { lead, placed, open, more, withPaper }) {
    const scores = exam.scores.filter((score) => (more || score.main) && rows.some((r) => known(r, score)));
    const abstains = rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length);
    const failed = (r) => r.row && total(r.row.failures);
    const kinds = (r) => Object.entries(r.row.failures).map(([kind, count]) => `${count} ${kind}`);
    const judge = (r) => (r.paper ? r.paper.judge : way.name);
    const differences = withPaper ? differing(rows) : [];
    const cost = (r) => (r.row && r.row.cost != null ? r.row.cost : undefined);
    return [
      {
        id: "painter",
        name: "Painter",
        first: true,
        value: rowName,
        cell: (r) => html`<${Painter} r=${r} differences=${differences} />`,
      },
      placed && placeColumn(lead, way, open),
      ...scores.map((score) => scoreColumn(score, score === lead)),
      abstains &&
        share("decided", "Decided", "Share of criteria this judge could decide", (r) => r.numbers?.decided.share),
      abstains &&
        share("met", "Met of decided", "Of the criteria decided, the share that is met", (r) => r.numbers?.decided.met),
      {
        id: "n",
        name: "n",
        number: true,
        help: "Questions these numbers stand for",
        value: (r) => r.numbers?.n,
        cell: (r) => (r.numbers?.n == null ? "–" : L.count(r.numbers.n)),
      },
      share("coverage", "Coverage", "Questions with a score, of those in the exam", (r) => r.row?.coverage),
      {
        id: "failed",
        name: "Failed",
        number: true,
        help: "What could not be drawn or marked; left out, never a zero",
        value: failed,
        cell: (r) => (r.row ? html`<span title=${kinds(r).join(", ")}>${failed(r)}</span>` : "–"),
      },
      rows.some((r) => r.row && r.row.cost) && {
        id: "cost",
        name: "Cost",
        number: true,
        help: "Drawing and marking, failures included",
        value: cost,
        cell: (r) => (r.row ? L.money(r.row.cost) : "–"),
      },
      withPaper && { id: "judge", name: "Judge", value: judge, cell: (r) => html`<${Name}>${judge(r)}<//>` },
    ].filter(Boolean);
  }

  L.board = { rowName, isControl, differing, columnsOf };
})();
