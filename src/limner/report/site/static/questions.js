// All questions of an exam, and how difficult they are.
"use strict";

(() => {
  const { html, Name, Listed, Filter, Check, Search, More, Table } = L;
  const { useMemo } = preactHooks;

  const TAGS = 3; // The number of tags with a column.

  function columnsOf(exam, list, way) {
    const tag = (name) => {
      const value = (r) => exam.tags[name][list.tags[name][r.q]];
      const cell = (r) => html`<${Name}>${L.words(value(r) ?? "–")}<//>`;
      return { id: `tag ${name}`, name: L.words(name), value, cell };
    };
    const met = (r) => list.met[way.number][r.q];
    return [
      {
        id: "id",
        name: "Question",
        first: true,
        value: (r) => list.id[r.q],
        cell: (r) => html`<${Listed} list=${list} q=${r.q} />`,
      },
      ...Object.keys(exam.tags).slice(0, TAGS).map(tag), // prettier-ignore
      { id: "criteria", name: "Criteria", number: true, value: (r) => list.criteria[r.q] },
      { id: "drawn", name: "Drawings", number: true, value: (r) => list.drawn[r.q] },
      way && {
        id: "met",
        name: "Criteria met",
        number: true,
        help: "Mean share of decided criteria that are met, over all painters except controls",
        value: (r) => met(r) ?? undefined,
        cell: (r) => L.percent(met(r)),
      },
    ].filter(Boolean);
  }

  function Page({ data: [[exam], parts] }) {
    const params = L.useParams();
    const list = useMemo(() => L.joined(parts), []);
    const words = L.useFile(params.s && "words");
    const texts = useMemo(() => words.parts && L.joined(words.parts).words, [words]);
    const way = exam.ways[Number(params.way) || 0] || exam.ways[0];
    // The page opens on the questions that are drawn, or on all if none is.
    const undrawn = list.drawn.filter((count) => !count).length;
    const everything = params.all === "1" || undrawn === list.id.length;
    const rows = useMemo(() => {
      const fits = L.fitting(exam, list, texts, params);
      return list.id.map((id, q) => ({ q })).filter(({ q }) => fits[q] && (everything || list.drawn[q]));
    }, [params, texts]);
    const columns = useMemo(() => columnsOf(exam, list, way), [way]);
    const filter = (name, at, options, any) =>
      html`<${Filter} name=${name} at=${at} params=${params} options=${options} onChange=${L.change} any=${any} />`;
    return html`<h1>Questions <span class="of"><${Name}>${exam.name}<//></span></h1>
      <form class="bar" onSubmit=${(event) => event.preventDefault()}>
        <${Search}
          name="Search"
          hint="words of a prompt, an id, a tag"
          value=${params.s || ""}
          onInput=${(s) => L.change({ s })}
        />
        ${undrawn > 0 &&
        undrawn < list.id.length &&
        html`<div class="checks">
          <${Check}
            name=${`Also the ${L.count(undrawn)} without drawings`}
            on=${everything}
            onChange=${(on) => L.change({ all: on ? "1" : "" })}
          />
        </div>`}
        <${More} on=${Object.keys(params).some((name) => name !== "s" && name !== "all")}>
          ${Object.entries(exam.tags).map(([tag, values]) => filter(L.words(tag), `t.${tag}`, L.toChoose(values)))}
          ${exam.ways.length > 1 && filter("Judge", "way", L.waysToChoose(exam).slice(1), L.waysToChoose(exam)[0][1])}
        <//>
      </form>
      <${Table} columns=${columns} rows=${rows} caption=${`Questions of ${exam.name}`} />`;
  }

  L.show(Page, "exam", "questions");
})();
