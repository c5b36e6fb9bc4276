// Which painter draws best, under which judge, on which questions, and how certain that is.
"use strict";

(() => {
  const { html, Name, Warning, TrustOf, Choice, Check, Search, Table } = L;
  const { rowName, isControl, differing, columnsOf } = L.board;
  const { useMemo } = preactHooks;

  const VIEWS = {
    common: "Questions that all painters have",
    all: "All questions of each painter",
    pessimistic: "All questions, missing ones count as zero",
  };
  const ours = (exam, row, numbers) => ({ painter: exam.painters[row.p], row, numbers });
  const theirs = (paper) => {
    const scores = Object.entries(paper.scores).map(([name, value]) => [name, [value, null, null]]);
    return { paper, numbers: { scores: Object.fromEntries(scores), bounds: {}, decided: {} } };
  };

  // What a reader needs to know to understand the table.
  function Notes({ exam, way, board, rows, list, columns, view, several, tag, withPaper, boards }) {
    const unknown = exam.scores.filter((score) => score.main && !list.some((column) => column.id === score.name));
    const unmarked = exam.painters.filter((painter, p) => !board.rows.some((row) => row.p === p));
    const remarks = [...new Set(board.rows.flatMap((row) => row.remarks))];
    const whose = (remark) => {
      const named = board.rows.filter((row) => row.remarks.includes(remark));
      const names = named.map((row) => exam.painters[row.p].row).join(", ");
      return named.length < board.rows.length ? html`<${Name}>${names}<//>: ` : "";
    };
    const shared = columns.some((column) => column.id === "untold");
    const some = (test) => rows.some((r) => r.numbers && Object.values(r.numbers.scores).some(test));
    const days = [...new Set(rows.map((r) => r.paper?.board).filter(Boolean))].sort();
    const category = several && exam.on === "common" ? "all painters have" : "each painter has";
    const notes = [
      some((found) => found[1] != null) && "[low, high] is the 95% interval over questions.",
      columns.some((column) => column.open) && "Below a rank: the range of ranks in 95% of resamples.",
      shared &&
        "Painters on one line do not differ significantly on these questions (p ≥ 0.05, corrected for all pairs, as in limner compare).",
      some((found) => found[3] != null) && "No interval: fewer than five questions are too few for one.",
      tag && `A category covers the questions that ${category} in it.`,
      !tag &&
        view === "pessimistic" &&
        "What is missing or undecided counts as zero, so refusing gains nothing.",
      rows.some(isControl) && "Controls are listed last and not ranked: their correct result is known.",
      rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length) &&
        "If the judge abstains, a score is shown as low … high: its lowest and highest possible value.",
      rows.some((r) => r.row && r.row.coverage < 1) &&
        "Coverage: the share of the exam's questions that have a score. Failures are left out, never counted as zero.",
      unknown.length > 0 &&
        `No score for ${unknown.map((score) => L.words(score.name)).join(", ")}: this judge decides too few criteria.`,
      withPaper &&
        "Figures from the paper were marked by its own judge, on all its questions; those of a release board by its maintainers. They are not part of the comparison.",
      ...days.map((day) => html`<${Name}>${boards[day]}<//>`),
      unmarked.length > 0 &&
        html`Not marked by this judge: <${Name}>${unmarked.map((painter) => painter.row).join(", ")}<//>.`,
      ...remarks.map((remark) => html`${whose(remark)}<${Name}>${remark}<//>`),
    ];
    const differences = withPaper ? differing(rows) : [];
    return html`<ul class="notes">
        ${notes.filter(Boolean).map((note) => html`<li>${note}</li>`)}
      </ul>
      ${differences.length > 0 &&
      html`<p class="soft">Differences from the paper:</p>
        <ol class="differs">
          ${differences.map((said) => html`<li><${Name}>${said}<//></li>`)}
        </ol>`}`;
  }

  // What painters are compared on: shown before the numbers, not after them.
  function Compared({ notes }) {
    if (!notes.length) return null;
    return html`<ul class="compared">
      ${notes.map((note) => html`<li><${Name}>${note}<//></li>`)}
    </ul>`;
  }

  // A prominent note on the painters that limit the common questions, with buttons to leave them out and back in.
  function Cut({ exam, board }) {
    const names = (some) => some.map((p) => exam.painters[p].row).join(", ");
    const keys = (some) => some.map((p) => exam.painters[p].key).join(",");
    const gone = board.left_out;
    const { cut } = board;
    const out = cut && keys([...gone, ...cut.painters]);
    const one = cut && cut.painters.length === 1;
    return html`${gone.length > 0 &&
      html`<p class="loud calm" role="status">
        <span>
          Left out: <b><${Name}>${names(gone)}<//></b>. The others are compared on the questions that all of them have.
        </span>
        <button type="button" onClick=${() => L.change({ without: "" })}>Put back</button>
      </p>`}
      ${cut &&
      html`<p class="loud">
        <span>
          <b><${Name}>${names(cut.painters)}<//></b> ${one ? "cuts" : "cut"} the common questions from${" "}
          <b>${cut.without}</b> to <b>${cut.questions}</b>: all numbers below are based on those ${cut.questions}.
        </span>
        ${board.next && html`<button type="button" onClick=${() => L.change({ without: out, by: "", value: "" })}>
          Leave ${one ? "it" : "them"} out
        </button>`}
      </p>`}`;
  }

  function Columns({ list, shown }) {
    const on = (column) => shown.some((one) => one.id === column.id);
    const toggle = (column) =>
      L.change((now) => {
        const before = now.cols ? now.cols.split(",") : shown.map((one) => one.id);
        const after = list.filter((one) => !one.always && before.includes(one.id) !== (one === column));
        return { ...now, cols: after.map((one) => one.id).join(",") || "none" };
      });
    const box = (column) =>
      html`<li><${Check} name=${column.name} on=${on(column)} onChange=${() => toggle(column)} /></li>`;
    return html`<details class="switch columns">
      <summary>Columns</summary>
      <ul>
        ${list.filter((column) => !column.always).map(box)}
        <li><button type="button" onClick=${() => L.change({ cols: "" })}>Default columns</button></li>
      </ul>
    </details>`;
  }

  function Bar({ exam, way, board, params, view, several, tag, category, children }) {
    const strategies = [...new Set(exam.painters.map((painter) => painter.strategy))];
    const ways = L.waysToChoose(exam);
    const categories = Object.entries(exam.by).map(([name, values]) => ({
      name: L.words(name),
      options: values.map((one) => [JSON.stringify([name, one]), L.words(one)]),
    }));
    const choose = (chosen) => {
      const [by, one] = chosen ? JSON.parse(chosen) : ["", ""];
      L.change({ by, value: one });
    };
    const views = Object.entries(VIEWS).filter(([key]) => key !== "common" || several);
    const check = (name, on, what) => html`<${Check} name=${name} on=${on} onChange=${(now) => L.change(what(now))} />`;
    return html`<form class="bar" onSubmit=${(event) => event.preventDefault()}>
      ${ways.length > 1 &&
      html`<${Choice} name="Judge" value=${String(way.number)} options=${ways} onChange=${(v) => L.change({ way: v })} />`}
      ${categories.length > 0 &&
      !board.left_out.length &&
      html`<${Choice}
        name="Category"
        value=${tag ? JSON.stringify([tag, category]) : ""}
        options=${[["", "All questions"], ...categories]}
        onChange=${choose}
      />`}
      ${!tag &&
      html`<${Choice} name="Numbers on" value=${view} options=${views} onChange=${(v) => L.change({ view: v })} />`}
      ${strategies.length > 1 &&
      html`<${Choice}
        name="Strategy"
        value=${params.strategy || ""}
        options=${[["", "All"], ...strategies.map((one) => [one, one])]}
        onChange=${(v) => L.change({ strategy: v })}
      />`}
      <${Search} name="Painter" value=${params.s || ""} onInput=${(v) => L.change({ s: v })} hint="part of a name" />
      <div class="checks">
        ${exam.painters.some((painter) => painter.control) &&
        check("Controls", params.controls !== "0", (on) => ({ controls: on ? "" : "0" }))}
        ${exam.published > 0 &&
        check("Figures from the paper", params.paper === "1", (on) => ({ paper: on ? "1" : "" }))}
        ${children}
      </div>
    </form>`;
  }

  // The board without the painters that the address names, if there is one; otherwise the board of all painters.
  function chosenBoard(exam, way, without) {
    const all = [{ ...way, left_out: way.left_out || [] }, ...way.without];
    const key = (board) => board.left_out.map((p) => exam.painters[p].key).join(",");
    const at = Math.max(0, all.findIndex((board) => key(board) === (without || ""))); // prettier-ignore
    return { ...all[at], next: all.length > at + 1 };
  }

  function Board({ exam, way, params }) {
    const board = useMemo(() => chosenBoard(exam, way, params.without), [way, params.without]);
    const several = board.rows.some((row) => row.views.common && row.views.common.n);
    const wanted = VIEWS[params.view] ? params.view : exam.on;
    const view = wanted === "common" && !several ? "all" : wanted;
    const [tag, category] = params.by && !board.left_out.length ? [params.by, params.value] : [null, null];
    const withPaper = params.paper === "1" && exam.published > 0;
    const by = L.useFile(tag && "by").parts?.[0];
    const { rows: paper, boards } = L.useFile(withPaper && "published").parts?.[0] || {};
    const lead = exam.scores.find((score) => score.name === board.lead);

    const rows = useMemo(() => {
      const inside = by && tag ? (by[tag] || {})[category] || [] : [];
      const numbers = (row) => {
        if (!tag) return row.views[view] || row.views.all;
        return inside.filter(([w, p]) => w === way.number && p === row.p).map(([, , found]) => found)[0];
      };
      const beside = withPaper && paper ? paper : [];
      const words = (params.s || "").toLocaleLowerCase();
      return [
        ...board.rows.map((row) => ours(exam, row, numbers(row))),
        ...beside.filter((one) => one.tag === (tag || "") && one.value === (category || "")).map(theirs),
      ].filter(
        (r) =>
          (params.controls !== "0" || !r.painter || !r.painter.control) &&
          (!params.strategy || (r.painter && r.painter.strategy === params.strategy)) &&
          rowName(r).toLocaleLowerCase().includes(words),
      );
    }, [board, view, tag, category, by, withPaper, paper, params.s, params.controls, params.strategy]);

    // Ranks need questions that all painters have, or those that the report compares them on.
    const on = tag || view === exam.on || view === "common" || !several;
    const score = exam.scores.find((one) => one.name === (params.sort || board.by)) || lead;
    const placed = Boolean(score && on) && rows.some((r) => r.numbers?.order?.[score.name]?.[1] != null);
    const open = placed && view === "common" && !tag;
    const leading = board.by && (!params.sort || params.sort === board.by);
    const untold = leading && !tag && view === exam.on ? board.untold : null;
    const chosen = params.cols ? params.cols.split(",") : params.more === "1" ? everything(exam) : null;
    const { list, shown } = useMemo(
      () => columnsOf(exam, way, rows, { lead, by: score, placed, open, untold, withPaper, chosen }),
      [rows, params.cols, params.more, params.sort],
    );
    const sortable = list.find((column) => column.id === params.sort && column.value);
    const first = board.by || (list.some((column) => column.id === "met") ? "met" : "painter");
    const sorted = sortable ? sortable.id : first;
    const down = Boolean(list.find((column) => column.id === sorted)?.number);
    const sort = { id: sorted, desc: params.dir ? params.dir === "desc" : down };
    const resort = ({ id, desc }) => {
      const usual = Boolean(list.find((column) => column.id === id)?.number);
      L.change({ sort: id === first ? "" : id, dir: desc === usual ? "" : desc ? "desc" : "asc" });
    };
    const by_ = list.find((column) => column.id === sorted);
    const byScore = exam.scores.find((one) => one.name === sorted);
    const order = byScore
      ? html` Ordered by <b>${L.words(byScore.name)}</b>: ${byScore.about}.`
      : by_ && html` Ordered by <b>${by_.name}</b>${placed && score && html`; ranks by <b>${L.words(score.name)}</b>`}.`;
    const caption = `${exam.name}, judge ${way.name}, reading ${exam.reading}, ordered by ${byScore ? L.words(sorted) : by_?.name}`;
    const { variant } = way.setup;
    const more = [way.judge !== way.name && way.judge, variant && `variant ${variant}`].filter(Boolean).join(", ");
    const constants = Object.entries(exam.constants).map(([name, number]) => `, ${name}=${number}`).join("");
    const cut = (tag ? exam.on : view) === "common" ? board.cut : null;
    const notes = board.notes[tag ? exam.on : view] || [];
    return html`<h1>Leaderboard <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">
        Judge <b><${Name}>${way.name}<//></b>${more && html` (<${Name}>${more}<//>)`},${" "}
        <${TrustOf} exam=${exam} way=${way} />, reading${" "}
        <b>${exam.reading}</b>${constants}.<span>${order}</span>
      </p>
      <${Warning} judge=${way} />
      <${Bar}
        exam=${exam}
        way=${way}
        board=${board}
        params=${params}
        view=${view}
        several=${several}
        tag=${tag}
        category=${category}
      >
        <${Columns} list=${list} shown=${shown} />
      <//>
      <${Cut} exam=${exam} board=${{ ...board, cut }} />
      <${Compared} notes=${cut ? notes.slice(1) : notes} />
      <${Table}
        key=${`${way.number} ${params.by} ${params.value} ${params.without}`}
        columns=${shown}
        rows=${rows}
        caption=${caption}
        sort=${sort}
        onSort=${resort}
        rowClass=${(r) => (r.paper ? "paper" : isControl(r) ? "control" : "")}
        apart=${isControl}
        block=${(r) => isControl(r) && "Controls are not ranked: their correct result is known"}
      />
      <${Notes}
        exam=${exam}
        way=${way}
        board=${board}
        rows=${rows}
        list=${list}
        columns=${shown}
        view=${view}
        several=${several}
        tag=${tag}
        withPaper=${withPaper}
        boards=${boards}
      />`;
  }

  const everything = (exam) => ["place", "coverage", "failed", ...exam.scores.map((score) => score.name)];

  function Page({ data: [[exam]] }) {
    const params = L.useParams();
    const way = exam.ways[Number(params.way) || 0] || exam.ways[0];
    if (way) return html`<${Board} exam=${exam} way=${way} params=${params} />`;
    const { drawings, questions } = exam.counts;
    return html`<h1>Leaderboard</h1>
      <p>
        Nothing is marked yet: ${L.many(drawings, "drawing")} of ${L.many(questions, "question")}. The${" "}
        <a href="gallery.html">gallery</a> shows the drawings.
      </p>`;
  }

  L.show(Page, "exam");
})();
