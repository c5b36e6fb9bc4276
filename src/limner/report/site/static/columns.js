// The columns of a leaderboard. A row is a painter of ours with its numbers, {painter, row, numbers}, or a figure from
// the paper, {paper, numbers}.
"use strict";

(() => {
  const { html, Name, Score } = L;

  const BESIDE = 3; // Scores shown beside the first one unless others are chosen: all fit into 1280 pixels.
  const BESIDE_OPEN = 1; // The same if the judge abstains, which adds two columns.

  const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

  const rowName = (r) => (r.paper ? r.paper.model : r.painter.row);
  const isControl = (r) => Boolean(r.painter && r.painter.control);
  const known = (r, score) => {
    if (!r.numbers) return false;
    const ends = r.numbers.bounds[score.name];
    return Boolean(r.numbers.scores[score.name] || (ends && (ends[0] > 0 || ends[1] < score.top)));
  };

  // Differences from the paper's settings, each set once, in the order of their numbers.
  const differs = (r) => (r.row && r.row.n ? r.row.differs.join("; ") : "");
  const differing = (rows) => [...new Set(rows.map(differs).filter(Boolean))];

  function Painter({ r, differences }) {
    if (r.paper) {
      const where = `${r.paper.table}, ${r.paper.group}`;
      const source = r.paper.board ? `release board ${r.paper.board}` : "paper";
      return html`<${Name}>${r.paper.model}<//>${" "}<span class="badge" title=${where}>${source}</span>`;
    }
    const { painter } = r;
    const number = differences.indexOf(differs(r)) + 1;
    return html`<a href=${L.painterLink(painter)}><${Name}>${painter.row}<//></a>
      ${number > 0 && html`<sup title=${differs(r)}>${number}</sup>`}
      ${painter.control && !painter.name.startsWith("control/") && html`${" "}<span class="badge">control</span>`}`;
  }

  // Ties share a rank. Below it: the range of ranks over resamples, if it was computed for these questions.
  function placeColumn(score, rows, open) {
    const place = (r) => r.numbers?.order?.[score.name]?.[1] ?? null;
    const shared = (r) => rows.some((other) => other !== r && place(other) === place(r));
    const range = (r) => open && r.row.ranks[score.name];
    const ends = ([low, high]) => (low === high ? `${low}` : `${low}–${high}`);
    return {
      id: "place",
      name: "Rank",
      open: open && rows.some((r) => r.row && r.row.ranks[score.name]),
      number: true,
      sort: "place",
      help: `By ${L.words(score.name)}; ties share a rank`,
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

  // Runs of painters without a significant difference, as lines beside their rows. Overlapping runs get separate lanes.
  function untoldColumn(runs, rows) {
    const shown = rows.filter((r) => r.row && !isControl(r)).map((r) => r.row.p);
    const kept = runs.map((run) => run.filter((p) => shown.includes(p))).filter((run) => run.length > 1);
    const lanes = [];
    for (const run of kept) {
      const free = lanes.find((lane) => !lane.some((other) => other.some((p) => run.includes(p))));
      if (free) free.push(run);
      else lanes.push([run]);
    }
    if (!lanes.length) return null;
    const name = (p) => rows.find((r) => r.row && r.row.p === p).painter.row;
    const lane = (p) => (runsOf) => {
      const run = runsOf.find((one) => one.includes(p));
      const end = run && (run[0] === p ? "start" : run.at(-1) === p ? "end" : "");
      const said = run && `No significant difference: ${run.map(name).join(", ")}`;
      return html`<i class=${run ? `lane on ${end}` : "lane"} title=${said}></i>`;
    };
    const numbers = (p) => lanes.flat().flatMap((run, n) => (run.includes(p) ? [n + 1] : []));
    return {
      id: "untold",
      name: html`<span class="hidden">No significant difference</span>`,
      sort: "lanes",
      help: "Painters on one line do not differ significantly",
      cell: (r) => {
        if (!r.row || isControl(r)) return "";
        const mine = numbers(r.row.p);
        return html`<span class="lanebox" aria-hidden="true">${lanes.map(lane(r.row.p))}</span>
          ${mine.length > 0 && html`<span class="hidden">group ${mine.join(", ")}</span>`}`;
      },
    };
  }

  // Rows are ordered as in `limner scores`: ties by the next score. The data hold the order for each score.
  const scoreColumn = (score, lead, rows) => ({
    id: score.name,
    name: L.words(score.name),
    number: true,
    sort: lead ? "headline" : "quiet",
    help: `${score.about}; at most ${score.top}`,
    value: (r) => {
      const at = r.numbers?.order?.[score.name];
      if (!at || rows.some((one) => one.paper)) return L.sortable(r.numbers, score);
      return r.numbers.scores[score.name] ? -at[0] : undefined;
    },
    cell: (r) => html`<${Score} view=${r.numbers} score=${score} whisker=${lead} />`,
  });

  const share = (id, name, help, of, more) => ({
    id,
    name,
    help,
    number: true,
    sort: "quiet",
    value: (r) => of(r) ?? undefined,
    cell: (r) =>
      more
        ? html`<span class="score">${L.percent(of(r))}<span class="ends">${more(r)}</span></span>`
        : L.percent(of(r)),
  });

  const costColumn = (what, name) => ({
    id: `${what}_cost`,
    name,
    number: true,
    sort: "quiet",
    help: `Dollars for ${what} one drawing, failed attempts included; unknown if it was paid elsewhere or has no price`,
    value: (r) => r.row?.costs[what] ?? undefined,
    cell: (r) => (r.row ? L.price(r.row.costs[what]) : "–"),
  });

  // All columns; `chosen` names those to show, in place of the default ones.
  function columnsOf(exam, way, rows, { lead, by, placed, open, untold, withPaper, chosen }) {
    const scores = exam.scores.filter((score) => rows.some((r) => known(r, score)));
    const abstains = rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length);
    const failed = (r) => (r.row ? total(r.row.failures) : undefined);
    const kinds = (r) => Object.entries(r.row.failures).map(([kind, count]) => `${count} ${L.words(kind)}`);
    const judge = (r) => (r.paper ? r.paper.judge : way.name);
    const differences = withPaper ? differing(rows) : [];
    const usual = scores.filter((score) => score.main && score !== lead);
    const beside = usual.slice(0, abstains ? BESIDE_OPEN : BESIDE).map((score) => score.name);
    const costs = (what) => rows.some((r) => r.row && !isControl(r) && r.row.costs[what] !== 0);
    const list = [
      {
        id: "painter",
        name: "Painter",
        first: true,
        always: true,
        value: rowName,
        cell: (r) => html`<${Painter} r=${r} differences=${differences} />`,
      },
      placed && { ...placeColumn(by, rows, open), usual: true },
      untold && { ...untoldColumn(untold, rows), always: true },
      ...scores
        .slice()
        .sort((a, b) => Number(b === lead) - Number(a === lead))
        .map((score) => ({
          ...scoreColumn(score, score === lead, rows),
          usual: score === lead || beside.includes(score.name),
        })),
      abstains && {
        ...share("decided", "Decided", "Share of criteria this judge could decide", (r) => r.numbers?.decided.share),
        usual: true,
      },
      abstains && {
        ...share("met", "Met of decided", "The share of the decided criteria that is met", (r) => r.numbers?.decided.met),
        usual: true,
      },
      {
        ...share(
          "coverage",
          "Coverage",
          "The share of the exam's questions that have a score; below, the number of questions behind these numbers",
          (r) => r.row?.coverage,
          (r) => (r.numbers?.n == null ? "" : `n ${L.count(r.numbers.n)}`),
        ),
        usual: true,
      },
      {
        id: "failed",
        name: "Failed",
        number: true,
        sort: "quiet",
        help: "What could not be drawn or marked; left out, never counted as zero",
        value: failed,
        cell: (r) => (r.row ? html`<span title=${kinds(r).join(", ")}>${failed(r)}</span>` : "–"),
        usual: rows.some((r) => r.row && failed(r)),
      },
      {
        id: "unmarked",
        name: "Not marked",
        number: true,
        sort: "quiet",
        help: "Drawings that this judge has not marked yet; not failures",
        value: (r) => r.row?.unmarked,
        usual: rows.some((r) => r.row && r.row.unmarked),
      },
      { ...costColumn("drawing", "$ to draw"), usual: costs("drawing") },
      { ...costColumn("marking", "$ to mark"), usual: costs("marking") },
      withPaper && { id: "judge", name: "Judge", usual: true, value: judge, cell: (r) => html`<${Name}>${judge(r)}<//>` },
    ].filter((column) => column && column.id);
    const shown = list.filter((column) => column.always || (chosen ? chosen.includes(column.id) : column.usual));
    return { list, shown };
  }

  L.board = { rowName, isControl, differing, columnsOf };
})();
