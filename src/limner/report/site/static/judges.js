// The judges: how they were asked, whether they were examined, and how far they agree.
"use strict";

(() => {
  const { html, Name, Warning, Trust, Table, Agreement } = L;
  const { useMemo } = preactHooks;

  const board = (way) => `index.html${L.address({ way: way.number || "" })}`;
  const asked = (way) => {
    const { variant, args, prompts, templates } = way.setup;
    const given = Object.entries(args || {}).map(([name, value]) => `${name}=${value}`);
    return [variant && `variant ${variant}`, ...given, prompts && `prompts ${prompts}`, templates && `wording ${templates}`]
      .filter(Boolean)
      .join(", ");
  };
  const days = ([first, last]) => {
    const [from, to] = [first, last].map((time) => L.day(time).slice(0, 10));
    return from === to ? from : `${from} to ${to}`;
  };

  const COLUMNS = [
    {
      id: "name",
      name: "Judge",
      first: true,
      value: (way) => way.name,
      cell: (way) =>
        html`<a href=${board(way)}><${Name}>${way.name}<//></a>
          ${way.judge !== way.name && html`<br /><span class="soft"><${Name}>${way.judge}<//></span>`}`,
    },
    {
      id: "examined",
      name: "Certificate",
      help: "What the judge detects and misses on faults of known effect",
      value: (way) => way.examined || "",
      cell: (way) => html`<${Trust} judge=${way} />`,
    },
    { id: "markings", name: "Markings", number: true, value: (way) => way.markings, cell: (way) => L.count(way.markings) },
    {
      id: "cost",
      name: "$ per drawing",
      number: true,
      help: "Dollars for marking one drawing once, failed attempts included",
      value: (way) => way.cost ?? undefined,
      cell: (way) => L.price(way.cost),
    },
    { id: "asked", name: "How it was asked", value: asked, cell: (way) => html`<${Name}>${asked(way) || "–"}<//>` },
    { id: "days", name: "When", value: (way) => way.times[0] ?? undefined, cell: (way) => days(way.times) },
  ];

  const WORDS = { accuracy: "same marks", kappa: "Cohen's kappa", spearman: "order of drawings, Spearman" };
  const told = ([name, { score, value, low, high, n }]) => {
    const shown = (x) => (name === "accuracy" ? L.percent(x) : x.toFixed(2));
    return html`<br /><span class="soft">
        ${WORDS[name]}${score !== "all" && html` (<${Name}>${score}<//>)`} ${shown(value)}
        ${low != null && ` [${shown(low)}, ${shown(high)}]`}, n ${n}
      </span>`;
  };
  // Only with a study; the same numbers as in `limner agree`.
  const withPeople = (people) => {
    const of = (way) => people.filter((one) => one.way === way.number);
    const lead = ({ measures: { kappa, spearman, accuracy } }) => (kappa || spearman || accuracy).value;
    return {
      id: "people",
      name: "With people",
      help: "Agreement with the people of a study on the same drawings, with 95% intervals",
      value: (way) => of(way).map(lead)[0],
      cell: (way) =>
        of(way).length
          ? of(way).map((one) => html`<div><${Name}>${one.people}<//>${Object.entries(one.measures).map(told)}</div>`)
          : "–",
    };
  };

  function Page({ data: [[exam], [differences]] }) {
    const columns = useMemo(
      () => (exam.people ? [...COLUMNS.slice(0, 2), withPeople(exam.people), ...COLUMNS.slice(2)] : COLUMNS),
      [],
    );
    const head = html`<h1>Judges <span class="of"><${Name}>${exam.name}<//></span></h1>`;
    if (!exam.ways.length) return html`${head}<p>Nothing is marked yet.</p>`;
    const { agreement } = differences;
    return html`${head}
      <p class="lead">
        The judges that marked the drawings, and how they were asked. A certificate shows what a judge detects and
        misses on faults of known effect; <code>limner examine-judge</code> creates one.
      </p>
      ${exam.ways.map((way) => html`<${Warning} judge=${way} name=${way.name} />`)}
      <${Table} columns=${columns} rows=${exam.ways} caption=${`Judges of ${exam.name}`} />
      ${agreement.length > 0 &&
      html`<h2>Agreement between judges</h2>
        <${Agreement} pairs=${agreement} exam=${exam} />
        <p><a href="differences.html">Where they differ</a></p>`}`;
  }

  L.show(Page, "exam", "differences");
})();
