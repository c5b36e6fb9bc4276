// What could not be drawn or marked. A failure is never a zero: it is listed here.
"use strict";

(() => {
  const { html, Name, Listed, Filter, Table } = L;
  const { useMemo } = preactHooks;

  function columnsOf(exam, list) {
    const painter = (r) => exam.painters[r.p].row;
    const stage = (r) => (r.stage === "drawing" ? "drawing" : `marking, ${exam.ways[r.way].name}`);
    return [
      {
        id: "question",
        name: "Question",
        first: true,
        value: (r) => list.id[r.q],
        cell: (r) => html`<${Listed} list=${list} q=${r.q} d=${r.d} image=${r.image} />`,
      },
      { id: "painter", name: "Painter", value: painter, cell: (r) => html`<${Name}>${painter(r)}<//>` },
      { id: "stage", name: "Stage", value: stage, cell: (r) => html`<${Name}>${stage(r)}<//>` },
      {
        id: "kind",
        name: "Kind",
        value: (r) => r.kind,
        cell: (r) => html`<span class="badge"><${Name}>${L.words(r.kind)}<//></span>`,
      },
      {
        id: "detail",
        name: "Detail",
        value: (r) => r.detail,
        cell: (r) => html`<span class="clip"><${Name}>${r.detail}<//></span>`,
      },
    ];
  }

  function counted(rows) {
    const found = new Map();
    for (const r of rows) found.set(r.kind, (found.get(r.kind) || 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1]);
  }

  function Page({ data: [[exam], questionParts, parts] }) {
    const params = L.useParams();
    const list = useMemo(() => L.joined(questionParts), []);
    const all = useMemo(() => {
      const rows = parts.flatMap((part) => part.rows);
      return rows.map(([stage, q, p, seed, d, way, kind, detail, , image]) => ({
        stage, q, p, seed, d, way, kind, detail, image,
      })); // prettier-ignore
    }, []);
    const rows = useMemo(
      () =>
        all.filter(
          (r) =>
            (!params.stage || r.stage === params.stage) &&
            (!params.kind || r.kind === params.kind) &&
            (!params.painter || exam.painters[r.p].key === params.painter),
        ),
      [params],
    );
    const counts = useMemo(() => counted(all), []);
    const columns = useMemo(() => columnsOf(exam, list), []);
    const filter = (name, at, options, any) =>
      html`<${Filter} name=${name} at=${at} params=${params} options=${options} onChange=${L.change} any=${any} />`;
    const stages = [
      ["drawing", "Drawing"],
      ["marking", "Marking"],
    ];
    return html`<h1>Failures <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">
        What could not be drawn or marked. Failures are left out of every score, never counted as zero; coverage counts
        them.
      </p>
      ${!all.length
        ? html`<p>There are no failures.</p>`
        : html`<ul class="tags">
              ${counts.map(([kind, n]) => html`<li><b>${L.count(n)}</b>${" "}<${Name}>${L.words(kind)}<//></li>`)}
            </ul>
            <form class="bar" onSubmit=${(event) => event.preventDefault()}>
              ${filter("Stage", "stage", stages)}
              ${filter("Kind", "kind", L.toChoose(counts.map(([kind]) => kind)))}
              ${filter("Painter", "painter", L.paintersToChoose(exam), "All painters")}
            </form>
            <${Table} columns=${columns} rows=${rows} caption=${`Failures of ${exam.name}`} />`}`;
  }

  L.show(Page, "exam", "questions", "failures");
})();
