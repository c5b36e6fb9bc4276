// Every drawing of an exam as a small picture, with search and filters; more load while scrolling.
"use strict";

(() => {
  const { html, Name, Pic, Filter, Search, More } = L;
  const { useState, useEffect, useMemo, useRef } = preactHooks;

  const STEP = 60;
  const MET = { none: [0, 0], some: [0.0001, 0.9999], all: [1, 1] };

  // The numbers of the drawings that match, in the chosen order.
  function chosen(exam, drawings, fits, met, params) {
    const painter = exam.painters.findIndex((one) => one.key === params.painter);
    const [low, high] = MET[params.met] || [null, null];
    const fit = (n) =>
      fits[drawings.q[n]] &&
      (!params.painter || drawings.p[n] === painter) &&
      (!params.strategy || exam.painters[drawings.p[n]].strategy === params.strategy) &&
      (params.status !== "failed" || drawings.status[n]) &&
      (params.status !== "drawn" || !drawings.status[n]) &&
      (low == null || (met[n] != null && met[n] >= low && met[n] <= high));
    const list = [];
    for (let n = 0; n < drawings.q.length; n++) if (fit(n)) list.push(n);
    const unknown = (n) => (met[n] == null ? 1 : 0);
    const orders = {
      best: (a, b) => unknown(a) - unknown(b) || met[b] - met[a],
      worst: (a, b) => unknown(a) - unknown(b) || met[a] - met[b],
      painter: (a, b) => drawings.p[a] - drawings.p[b] || a - b,
    };
    return orders[params.order] ? list.sort(orders[params.order]) : list;
  }

  function Tile({ exam, questions, drawings, n, met, eager }) {
    const painter = exam.painters[drawings.p[n]].row;
    const id = questions.id[drawings.q[n]];
    const none = drawings.status[n] ? L.words(drawings.status[n]) : "No picture";
    return html`<a class="tile" href=${L.questionLink(questions.key[drawings.q[n]], drawings.d[n])}>
      <${Pic} sha=${drawings.image[n]} alt=${`Drawing of ${id} by ${painter}`} eager=${eager}>${none}<//>
      <span class="tiletext">
        <${Name}>${id}<//>
        <span class="soft"><${Name}>${painter}<//></span>
        ${met != null &&
        html`<span class="meter">
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="100" height="6" rx="3" />
            <rect class="fill" width=${100 * met} height="6" rx="3" />
          </svg>
          <span>${L.percent(met)} met</span>
        </span>`}
      </span>
    </a>`;
  }

  function Bar({ exam, way, params, change }) {
    const strategies = [...new Set(exam.painters.map((painter) => painter.strategy))];
    const filter = (name, at, options, any) =>
      html`<${Filter} name=${name} at=${at} params=${params} options=${options} onChange=${change} any=${any} />`;
    const states = [
      ["drawn", "Drawn"],
      ["failed", "Failed"],
    ];
    const shares = [
      ["all", "All decided"],
      ["some", "Some"],
      ["none", "None"],
    ];
    const orders = [["painter", "By painter"]];
    if (way) orders.push(["best", "Most met first"], ["worst", "Least met first"]);
    return html`<form class="bar" onSubmit=${(event) => event.preventDefault()}>
      <${Search}
        name="Search"
        hint="words of a prompt, an id, a tag"
        value=${params.s || ""}
        onInput=${(s) => change({ s })}
      />
      <${More} on=${Object.keys(params).some((name) => name !== "s")}>
        ${filter("Painter", "painter", L.paintersToChoose(exam), "All painters")}
        ${strategies.length > 1 && filter("Strategy", "strategy", L.toChoose(strategies))}
        ${Object.entries(exam.tags).map(([tag, values]) => filter(L.words(tag), `t.${tag}`, L.toChoose(values)))}
        ${exam.ways.length > 1 && filter("Judge", "way", L.waysToChoose(exam).slice(1), L.waysToChoose(exam)[0][1])}
        ${way && filter("Criteria met", "met", shares, "Any")} ${filter("State", "status", states, "Any")}
        ${filter("Order", "order", orders, "By question")}
      <//>
    </form>`;
  }

  function Page({ data: [[exam], questionParts, [first]] }) {
    const params = L.useParams();
    const questions = useMemo(() => L.joined(questionParts), []);
    const [drawings, setDrawings] = useState(() => L.joined([first]));
    const words = L.useFile(params.s && "words");
    const texts = useMemo(() => words.parts && L.joined(words.parts).words, [words]);
    const [limit, setLimit] = useState(STEP);
    const end = useRef(null);
    const total = exam.counts.drawings;
    const way = exam.ways[Number(params.way) || 0] || exam.ways[0];
    const met = way ? drawings.met[way.number] : [];
    const change = (what) => {
      setLimit(STEP);
      L.change(what);
    };
    useEffect(() => {
      // The rest loads while the first pictures are shown.
      const names = [];
      for (let n = 1; n * first.q.length < total; n++) names.push(`drawings/${n}`);
      const join = (rest) => setDrawings(L.joined([first, ...rest.map((parts) => parts[0])]));
      if (names.length) Promise.all(names.map(L.load)).then(join);
    }, []);
    const found = useMemo(
      () => chosen(exam, drawings, L.fitting(exam, questions, texts, params), met, params),
      [drawings, texts, params],
    );
    useEffect(() => {
      const more = (seen) => seen.some((one) => one.isIntersecting) && setLimit((before) => before + STEP);
      const watcher = new IntersectionObserver(more, { rootMargin: "600px" });
      if (end.current) watcher.observe(end.current);
      return () => watcher.disconnect();
    }, [found, limit]);
    const partly = drawings.q.length < total && ` of the first ${L.count(drawings.q.length)}; loading the rest`;
    const tile = (n, place) => html`<li key=${drawings.d[n]}>
      <${Tile} exam=${exam} questions=${questions} drawings=${drawings} n=${n} met=${met[n]} eager=${place < 12} />
    </li>`;
    return html`<h1>Gallery <span class="of"><${Name}>${exam.name}<//></span></h1>
      <${Bar} exam=${exam} way=${way} params=${params} change=${change} />
      <p role="status" class="soft">${L.many(found.length, "drawing")}${partly}</p>
      <ul class="tiles gallery">
        ${found.slice(0, limit).map(tile)}
      </ul>
      ${!found.length && html`<p class="none">No drawing matches.</p>`}
      ${limit < found.length &&
      html`<p ref=${end} class="more">
        <button type="button" onClick=${() => setLimit((before) => before + STEP)}>Show more</button>
      </p>`}`;
  }

  L.show(Page, "exam", "questions", "drawings/0");
})();
