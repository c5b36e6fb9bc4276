// Who draws best, under which judge, on which questions, and how sure that is.
"use strict";

(() => {
  const { html, Name, Choice, Check, Search, Table } = L;
  const { rowName, isControl, differing, columnsOf } = L.board;
  const { useState, useEffect, useMemo } = preactHooks;

  const VIEWS = {
    common: "Questions all painters have",
    all: "All questions each painter has",
    pessimistic: "What is missing counts as nothing",
  };
  const ours = (exam, row, numbers) => ({ painter: exam.painters[row.p], row, numbers });
  const theirs = (paper) => {
    const scores = Object.entries(paper.scores).map(([name, value]) => [name, [value, null, null]]);
    return { paper, numbers: { scores: Object.fromEntries(scores), bounds: {}, decided: {} } };
  };

  // What a reader must know to take the table right.
  function Notes({ exam, way, rows, columns, view, several, tag, withPaper }) {
    const unknown = exam.scores.filter((score) => score.main && !columns.some((column) => column.id === score.name));
    const unmarked = exam.painters.filter((painter, p) => !way.rows.some((row) => row.p === p));
    const remarks = [...new Set(way.rows.flatMap((row) => row.remarks))];
    const whose = (remark) => {
      const named = way.rows.filter((row) => row.remarks.includes(remark));
      const names = named.map((row) => exam.painters[row.p].row).join(", ");
      return named.length < way.rows.length ? html`<${Name}>${names}<//>: ` : "";
    };
    const some = (test) => rows.some((r) => r.numbers && Object.values(r.numbers.scores).some(test));
    const category = several && exam.on === "common" ? "all painters have" : "each painter has";
    const notes = [
      some((found) => found[1] != null) && "[low, high] is the 95% interval over questions.",
      columns.some((column) => column.open) && "Under a place: the places held in 95% of resamples.",
      some((found) => found[3] != null) && "(n=…): too few questions for an interval.",
      tag && `A category is taken over the questions that ${category} in it.`,
      !tag &&
        view === "pessimistic" &&
        "What is missing or undecided counts as nothing, so refusing gains nothing.",
      rows.some(isControl) && "Controls stand below the others: what they ought to get is known, so they have no place.",
      rows.some((r) => r.numbers && Object.keys(r.numbers.bounds).length) &&
        "Where the judge abstains, a score is shown as least … most: its lowest and its highest possible value.",
      rows.some((r) => r.row && r.row.coverage < 1) &&
        "Coverage: questions with a score, of those in the exam. Failures are left out, never zeros.",
      unknown.length > 0 &&
        `No score for ${unknown.map((score) => L.words(score.name)).join(", ")}: this judge decides too few criteria.`,
      withPaper &&
        "Figures from the paper were marked by its own judge, on all its questions; those of a release board by whoever kept it. They are no part of the comparison.",
      unmarked.length > 0 &&
        html`Not marked by this judge: <${Name}>${unmarked.map((painter) => painter.row).join(", ")}<//>.`,
      ...remarks.map((remark) => html`${whose(remark)}<${Name}>${remark}<//>`),
    ];
    const differences = withPaper ? differing(rows) : [];
    return html`<ul class="notes">
        ${notes.filter(Boolean).map((note) => html`<li>${note}</li>`)}
      </ul>
      ${differences.length > 0 &&
      html`<p class="soft">Not as in the paper:</p>
        <ol class="differs">
          ${differences.map((said) => html`<li><${Name}>${said}<//></li>`)}
        </ol>`}`;
  }

  // Who is compared on what, and who keeps the others from more: before the numbers, not after them.
  function Compared({ notes }) {
    if (!notes.length) return null;
    return html`<ul class="compared">
      ${notes.map((note) => html`<li><${Name}>${note}<//></li>`)}
    </ul>`;
  }

  function Bar({ exam, way, params, change, view, several, tag, category }) {
    const strategies = [...new Set(exam.painters.map((painter) => painter.strategy))];
    const ways = L.waysToChoose(exam);
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
    const wanted = VIEWS[params.view] ? params.view : exam.on;
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

    // Places belong to the questions that the report compares painters on.
    const placed = Boolean(lead) && !tag && (view === exam.on || !several) && way.rows.some((row) => row.place != null);
    const open = placed && view === "common";
    const columns = useMemo(
      () => columnsOf(exam, way, rows, { lead, placed, open, more: params.more === "1", withPaper }),
      [rows, params.more],
    );
    const caption = `${exam.name}, judge ${way.name}, reading ${exam.reading}`;
    const { variant } = way.setup;
    const more = [way.judge !== way.name && way.judge, variant && `variant ${variant}`].filter(Boolean).join(", ");
    const constants = Object.entries(exam.constants).map(([name, number]) => `, ${name}=${number}`);
    return html`<h1>Leaderboard <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">
        Judge <b><${Name}>${way.name}<//></b>${more && html` (<${Name}>${more}<//>)`}, ${
          way.certificate ? html`<a href=${way.certificate}>examined ${way.examined}</a>` : "not examined"
        }, reading${" "}
        <b>${exam.reading}</b>${constants}.${lead && html` Ordered by <b>${L.words(lead.name)}</b>: ${lead.about}.`}
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
      <${Compared} notes=${way.notes[tag ? exam.on : view] || []} />
      <${Table}
        key=${`${way.number} ${params.by} ${params.value}`}
        columns=${columns}
        rows=${rows}
        caption=${caption}
        sort=${{ id: lead ? lead.name : "met", desc: true }}
        rowClass=${(r) => (r.paper ? "paper" : isControl(r) ? "control" : "")}
        apart=${isControl}
      />
      <${Notes}
        exam=${exam}
        way=${way}
        rows=${rows}
        columns=${columns}
        view=${view}
        several=${several}
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
