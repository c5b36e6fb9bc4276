// The drawings for which judges, or repeats of one judge, gave different marks.
"use strict";

(() => {
  const { html, Name, Listed, Filter, Table, Agreement } = L;
  const { useMemo } = preactHooks;

  function columnsOf(exam, list) {
    const painter = (r) => exam.painters[r.p].row;
    const told = (r) => r.words.map((words, n) => html`<li title=${r.names[n]}><${Name}>${words}<//></li>`);
    const more = (r) => r.differ - r.words.length;
    return [
      {
        id: "question",
        name: "Question",
        first: true,
        value: (r) => list.id[r.q],
        cell: (r) => html`<${Listed} list=${list} q=${r.q} d=${r.d} image=${r.image} />`,
      },
      { id: "painter", name: "Painter", value: painter, cell: (r) => html`<${Name}>${painter(r)}<//>` },
      { id: "differ", name: "Differ", number: true, help: "Criteria with different marks", value: (r) => r.differ },
      {
        id: "both",
        name: "Decided twice",
        number: true,
        help: "Criteria that two or more markings decided",
        value: (r) => r.both,
      },
      {
        id: "share",
        name: "Share",
        number: true,
        value: (r) => r.differ / r.both,
        cell: (r) => L.percent(r.differ / r.both),
      },
      { id: "between", name: "Between", value: (r) => r.between.join(", ") },
      {
        id: "names",
        name: "Criteria",
        cell: (r) =>
          html`<ul class="plain told">${told(r)}${more(r) > 0 && html`<li class="soft">and ${more(r)} more</li>`}</ul>`,
      },
    ];
  }

  function Page({ data: [[exam], questionParts, parts] }) {
    const params = L.useParams();
    const list = useMemo(() => L.joined(questionParts), []);
    const all = useMemo(() => {
      const rows = parts.flatMap((part) => part.rows);
      return rows.map(([q, p, , d, both, differ, between, names, words, image]) => ({
        q, p, d, both, differ, between, names, words, image,
      })); // prettier-ignore
    }, []);
    const rows = useMemo(
      () =>
        all.filter(
          (r) =>
            (!params.between || r.between.includes(params.between)) &&
            (!params.painter || exam.painters[r.p].key === params.painter),
        ),
      [params],
    );
    const columns = useMemo(() => columnsOf(exam, list), []);
    const { agreement } = parts[0];
    const between = [
      ["judges", "Judges"],
      ["repeats", "Repeats of one judge"],
    ];
    const painters = L.paintersToChoose(exam);
    const head = html`<h1>Differences <span class="of"><${Name}>${exam.name}<//></span></h1>
      <p class="lead">
        Drawings for which judges, or repeats of one judge, gave different marks. Open a question to see all marks with
        their reasons.
      </p>`;
    if (!agreement.length) {
      return html`${head}
        <p>
          No criterion was decided twice, so there is nothing to compare. Mark with another <code>--judge</code>, or with
          ${" "}<code>--repeats 2</code>.
        </p>`;
    }
    return html`${head}
      <${Agreement} pairs=${agreement} exam=${exam} />
      <form class="bar" onSubmit=${(event) => event.preventDefault()}>
        <${Filter} name="Between" at="between" params=${params} options=${between} onChange=${L.change} />
        <${Filter}
          name="Painter"
          at="painter"
          params=${params}
          options=${painters}
          onChange=${L.change}
          any="All painters"
        />
      </form>
      <${Table}
        columns=${columns}
        rows=${rows}
        caption=${`Differences in ${exam.name}`}
        sort=${{ id: "differ", desc: true }}
        empty="No marks differ."
      />`;
  }

  L.show(Page, "exam", "questions", "differences");
})();
