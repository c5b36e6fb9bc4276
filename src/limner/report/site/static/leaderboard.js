// Who draws best, under which judge, on which questions, and how sure that is.
"use strict";

(() => {
  const { html, Name, Score, Choice, Check, Search, Table } = L;
  const { useState, useEffect, useMemo } = preactHooks;

  const VIEWS = {
    common: "Questions all painters have",
    all: "All questions each painter has",
    pessimistic: "What is missing counts as nothing",
  };
  const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);

  // A row of the table: a painter with its numbers, or a figure from the paper.
  const ours = (exam, row, numbers) => ({ painter: exam.painters[row.p], row, numbers });
  const theirs = (paper) => {
    const scores = Object.entries(paper.scores).map(([name, value]) => [name, [value, null, null]]);
    return { paper, numbers: { scores: Object.fromEntries(scores), bounds: {}, decided: {} } };
  };
  const rowName = (r) => (r.paper ? r.paper.model : L.label(r.painter));
  const bounds = (r, score) => (r.numbers && r.numbers.bounds[score.name]) || null;
  const value = (r, score) => {
    const found = r.numbers && r.numbers.scores[score.name];
    const ends = bounds(r, score);
    return found ? found[0] : ends ? ends[0] + ends[1] / 1e6 : undefined;
  };
  const known = (r, score) => {
    const ends = bounds(r, score);
    return Boolean(r.numbers && (r.numbers.scores[score.name] || (ends && (ends[0] > 0 || ends[1] < score.top))));
  };

  function Painter({ r }) {
    if (r.paper) {
      const where = `${r.paper.table}, ${r.paper.group}`;
      return html`<${Name}>${r.paper.model}<//>${" "}<span class="badge" title=${where}>paper</span>`;
    }
    const { painter } = r;
    return html`<a href=${L.painterLink(painter)}><${Name}>${painter.name}<//></a>
      ${painter.control && !painter.name.startsWith("control/") && html`${" "}<span class="badge">control</span>`}
      ${painter.strategy !== "direct" && html`${" "}<span class="badge">${painter.strategy}</span>`}`;
  }

  function rankColumn(score) {
    const rank = (r) => r.row && r.row.ranks[score.name];
    const shown = ([low, high]) => (low === high ? L.ordinal(low) : `${L.ordinal(low)}–${L.ordinal(high)}`);
    return {
      id: "rank",
      name: "Place",
      number: true,
      help: `Best and worst place that 95% of resamples leave open, by ${L.words(score.name)}`,
      value: (r) => (rank(r) ? -(rank(r)[0] + rank(r)[1] / 1000) : undefined),
      cell: (r) => (rank(r) ? shown(rank(r)) : "–"),
    };
  }

  const scoreColumn = (score, whisker) => ({
    id: score.name,
    name: L.words(score.name),
    number: true,
    help: `${score.about}; at best ${score.top}`,
    value: (r) => value(r, score),
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

  function columnsOf(exam, way, rows, { lead, ranked, more, withPaper }) {
    const scores = exam.scores.filter((score) => (more || score.main) && rows.some((r) => known(r, score)));
    const abstains = rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length);
    const failed = (r) => r.row && total(r.row.failures);
    const kinds = (r) => Object.entries(r.row.failures).map(([kind, count]) => `${count} ${kind}`);
    const judge = (r) => (r.paper ? r.paper.judge : way.judge);
    const cost = (r) => (r.row && r.row.cost != null ? r.row.cost : undefined);
    return [
      { id: "painter", name: "Painter", first: true, value: rowName, cell: (r) => html`<${Painter} r=${r} />` },
      ranked && rankColumn(lead),
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
      share("coverage", "Coverage", "Questions with a score, of those drawn or tried", (r) => r.row?.coverage),
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

  // What a reader must know to take the table right.
  function Notes({ exam, way, rows, columns, view, tag, withPaper }) {
    const unknown = exam.scores.filter((score) => score.main && !columns.some((column) => column.id === score.name));
    const unmarked = exam.painters.filter((painter, p) => !way.rows.some((row) => row.p === p));
    const remarks = [...new Set(way.rows.flatMap((row) => row.remarks))];
    const whose = (remark) => {
      const named = way.rows.filter((row) => row.remarks.includes(remark));
      const names = named.map((row) => L.label(exam.painters[row.p])).join(", ");
      return named.length < way.rows.length ? html`<${Name}>${names}<//>: ` : "";
    };
    const compared = {
      common: () => `Compared on the ${L.many(way.rows[0].views.common.n, "question")} that all painters have.`,
      all: () => null,
      pessimistic: () => "What is missing or undecided counts as nothing, so refusing gains nothing.",
    };
    const notes = [
      rows.some((r) => r.numbers && Object.values(r.numbers.scores).some((found) => found[1] != null)) &&
        "[low, high] is the 95% bootstrap interval over questions.",
      tag ? "A category is taken over all questions that each painter has in it." : compared[view](),
      rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length) &&
        "Where the judge abstains a score is not known: least … most shows what it could be.",
      rows.some((r) => r.row && r.row.coverage < 1) &&
        "Coverage: questions with a score, of those drawn or tried. Failures are left out, never zeros.",
      unknown.length > 0 &&
        `Nothing is known of ${unknown.map((score) => L.words(score.name)).join(", ")}: this judge decides none of it.`,
      withPaper &&
        "Figures from the paper were marked by its own judge, on all its questions. They are no part of the comparison.",
      unmarked.length > 0 && html`Not marked by this judge: <${Name}>${unmarked.map(L.label).join(", ")}<//>.`,
      ...remarks.map((remark) => html`${whose(remark)}<${Name}>${remark}<//>`),
    ];
    return html`<ul class="notes">
      ${notes.filter(Boolean).map((note) => html`<li>${note}</li>`)}
    </ul>`;
  }

  function Bar({ exam, way, params, change, view, several, tag, category }) {
    const strategies = [...new Set(exam.painters.map((painter) => painter.strategy))];
    const ways = exam.ways.map((one) => [String(one.number), L.wayName(one, exam.ways)]);
    const categories = Object.entries(exam.by).map(([name, values]) => ({
      name: L.words(name),
      options: values.map((one) => [JSON.stringify([name, one]), L.words(one)]),
    }));
    const choose = (chosen) => {
      const [by, one] = chosen ? JSON.parse(chosen) : ["", ""];
      change({ by, value: one });
    };
    const views = Object.entries(VIEWS).filter(([key]) => key !== "common" || several);
    const check = (name, on, what) => html`<${Check} name=${name} on=${on} onChange=${(now) => change(what(now))} />`;
    return html`<form class="bar" onSubmit=${(event) => event.preventDefault()}>
      ${ways.length > 1 &&
      html`<${Choice} name="Judge" value=${String(way.number)} options=${ways} onChange=${(v) => change({ way: v })} />`}
      ${categories.length > 0 &&
      html`<${Choice}
        name="Category"
        value=${tag ? JSON.stringify([tag, category]) : ""}
        options=${[["", "All questions"], ...categories]}
        onChange=${choose}
      />`}
      ${!tag &&
      html`<${Choice} name="Numbers on" value=${view} options=${views} onChange=${(v) => change({ view: v })} />`}
      ${strategies.length > 1 &&
      html`<${Choice}
        name="Strategy"
        value=${params.strategy || ""}
        options=${[["", "All"], ...strategies.map((one) => [one, one])]}
        onChange=${(v) => change({ strategy: v })}
      />`}
      <${Search} name="Painter" value=${params.s || ""} onInput=${(v) => change({ s: v })} hint="part of a name" />
      <div class="checks">
        ${exam.painters.some((painter) => painter.control) &&
        check("Controls", params.controls !== "0", (on) => ({ controls: on ? "" : "0" }))}
        ${exam.scores.some((score) => !score.main) &&
        check("More scores", params.more === "1", (on) => ({ more: on ? "1" : "" }))}
        ${exam.published > 0 &&
        check("Figures from the paper", params.paper === "1", (on) => ({ paper: on ? "1" : "" }))}
      </div>
    </form>`;
  }

  function Board({ exam, way, params }) {
    const change = (what) => L.go({ ...params, ...what }, true);
    const [by, setBy] = useState(null);
    const [paper, setPaper] = useState(null);
    const several = way.rows.some((row) => row.views.common && row.views.common.n);
    const wanted = VIEWS[params.view] ? params.view : "common";
    const view = wanted === "common" && !several ? "all" : wanted;
    const [tag, category] = params.by ? [params.by, params.value] : [null, null];
    const withPaper = params.paper === "1" && exam.published > 0;
    useEffect(() => {
      if (tag && !by) L.one("by").then(setBy);
    }, [tag]);
    useEffect(() => {
      if (withPaper && !paper) L.one("published").then((found) => setPaper(found.rows));
    }, [withPaper]);
    const lead = exam.scores.find((score) => score.name === way.lead);

    const rows = useMemo(() => {
      const inside = by && tag ? (by[tag] || {})[category] || [] : [];
      const numbers = (row) => {
        if (!tag) return row.views[view] || row.views.all;
        return inside.filter(([w, p]) => w === way.number && p === row.p).map(([, , found]) => found)[0];
      };
      const beside = withPaper && paper ? paper : [];
      const words = (params.s || "").toLocaleLowerCase();
      return [
        ...way.rows.map((row) => ours(exam, row, numbers(row))),
        ...beside.filter((one) => one.tag === (tag || "") && one.value === (category || "")).map(theirs),
      ].filter(
        (r) =>
          (params.controls !== "0" || !r.painter || !r.painter.control) &&
          (!params.strategy || (r.painter && r.painter.strategy === params.strategy)) &&
          rowName(r).toLocaleLowerCase().includes(words),
      );
    }, [way, view, tag, category, by, withPaper, paper, params.s, params.controls, params.strategy]);

    const ranked = Boolean(lead && view === "common" && !tag && rows.some((r) => r.row && r.row.ranks[lead.name]));
    const columns = useMemo(
      () => columnsOf(exam, way, rows, { lead, ranked, more: params.more === "1", withPaper }),
      [rows, params.more],
    );
    const caption = `${exam.name}, judge ${way.judge}, reading ${exam.reading}`;
    const { variant } = way.setup;
    return html`<h1>Leaderboard <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">
        Judge <b><${Name}>${way.judge}<//></b>${variant && html`, variant <${Name}>${variant}<//>`}, reading${" "}
        <b>${exam.reading}</b>.${lead && html` Ordered by <b>${L.words(lead.name)}</b>: ${lead.about}.`}
      </p>
      <${Bar}
        exam=${exam}
        way=${way}
        params=${params}
        change=${change}
        view=${view}
        several=${several}
        tag=${tag}
        category=${category}
      />
      <${Table}
        key=${`${way.number} ${params.by} ${params.value}`}
        columns=${columns}
        rows=${rows}
        caption=${caption}
        sort=${{ id: lead ? lead.name : "met", desc: true }}
        rowClass=${(r) => (r.paper ? "paper" : "")}
      />
      <${Notes}
        exam=${exam}
        way=${way}
        rows=${rows}
        columns=${columns}
        view=${view}
        tag=${tag}
        withPaper=${withPaper}
      />`;
  }

  function Page({ data: [[exam]] }) {
    const params = L.useParams();
    const way = exam.ways[Number(params.way) || 0] || exam.ways[0];
    if (way) return html`<${Board} exam=${exam} way=${way} params=${params} />`;
    const { drawings, questions } = exam.counts;
    return html`<h1>Leaderboard</h1>
      <p>
        Nothing is marked yet: ${L.many(drawings, "drawing")} of ${L.many(questions, "question")}. The${" "}
        <a href="gallery.html">gallery</a> shows what is drawn.
      </p>`;
  }

  L.show(Page, "exam");
})();
