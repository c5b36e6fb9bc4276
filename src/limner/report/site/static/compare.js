// Two painters, strategies, seeds or judges side by side: how much they differ, where, and on which drawings.
"use strict";

(() => {
  const { html, Name, Warning, TrustOf, Mark, Choice, Check, Pane, ZoomButtons, Keys, useFile } = L;
  const { MET, WHAT, NEAR } = L.two;
  const { useState, useLayoutEffect, useMemo } = preactHooks;
  const PART = 30;

  const signed = (value, digits) =>
    value == null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "±") + Math.abs(value).toFixed(digits);

  function Bar({ exam, choice, seeds, scores, score }) {
    const names = L.paintersToChoose(exam);
    const ways = L.waysToChoose(exam);
    const pick = (name, at, value, options) =>
      html`<${Choice} name=${name} value=${String(value)} options=${options} onChange=${(v) => L.change({ [at]: v, q: "" })} />`;
    const what = choice.can.map((one) => [one, WHAT[one]]);
    const change = (v) => L.change((now) => ({ what: v, way: now.way }));
    const numbers = seeds.map((seed) => [String(seed), `seed ${seed}`]);
    const several = exam.painters.filter((painter) => painter.seeds > 1).map((painter) => [painter.key, painter.row]);
    return html`<form class="bar" onSubmit=${(event) => event.preventDefault()}>
      ${what.length > 1 && html`<${Choice} name="Compare" value=${choice.what} options=${what} onChange=${change} />`}
      ${choice.what === "painters" && [pick("First", "a", choice.a.key, names), pick("Second", "b", choice.b.key, names)]}
      ${choice.what === "seeds" && [
        pick("Painter", "p", choice.painter.key, several),
        pick("First", "a", choice.seeds[0] ?? seeds[0], numbers),
        pick("Second", "b", choice.seeds[1] ?? seeds[1], numbers),
      ]}
      ${choice.what === "judges" && [
        pick("Painter", "p", choice.painter.key, names),
        pick("First", "a", choice.ways[0], ways),
        pick("Second", "b", choice.ways[1], ways),
      ]}
      ${choice.what !== "judges" && ways.length > 1 && pick("Judge", "way", choice.way, ways)}
      ${scores.length > 1 && pick("Score", "score", score.name, scores.map((one) => [one.name, L.words(one.name)]))}
    </form>`;
  }

  // The difference with its interval, on an axis with zero in the middle.
  function Axis({ gap: [value, low, high], sides }) {
    const reach = Math.max(Math.abs(value), Math.abs(low ?? 0), Math.abs(high ?? 0)) * 1.15 || 1;
    const x = (number) => 200 + (190 * number) / reach;
    return html`<svg class="gap" viewBox="0 0 400 46" aria-hidden="true">
      <line class="track" x1="10" x2="390" y1="16" y2="16" />
      <line class="zero" x1="200" x2="200" y1="4" y2="28" />
      ${low != null && html`<line class="range" x1=${x(low)} x2=${x(high)} y1="16" y2="16" />`}
      <circle class=${value > 0 ? "first" : value < 0 ? "second" : ""} cx=${x(value)} cy="16" r="6" />
      <text x="200" y="42" text-anchor="middle">equal</text>
      <text x="10" y="42">← ${sides[1]} better</text>
      <text x="390" y="42" text-anchor="end">${sides[0]} better →</text>
    </svg>`;
  }

  function Answer({ sides, numbers, score, exam, choice, tally, tested }) {
    const { gap, more, values } = numbers;
    const [value, low, high, n] = gap;
    const worth = (at) => (values[at] == null ? "–" : L.number(values[at], score.digits));
    const side = (at) => html`<div class=${`side ${at ? "second" : "first"}`}>
      <p><span class="letter" aria-hidden="true">${"AB"[at]}</span> <b><${Name}>${sides[at].label}<//></b></p>
      <p class="worth">${worth(at)}</p>
      <p class="soft">${L.words(score.name)}</p>
    </div>`;
    const [p, differing, verdict, corrected] = more;
    const between = low == null ? "" : `, 95% interval ${signed(low, score.digits)} to ${signed(high, score.digits)}`;
    return html`<section class="answer" aria-labelledby="answer">
        <h2 id="answer" class="hidden">The difference</h2>
        ${side(0)}
        <div class="middle">
          <p class="soft">A minus B</p>
          <p class="worth" role="status">
            ${signed(value, score.digits)}<span class="hidden">${between}</span>
          </p>
          <p class="ends" aria-hidden="true">
            ${low == null ? (n ? `no interval (n=${n})` : "") : `[${signed(low, score.digits)}, ${signed(high, score.digits)}]`}
          </p>
          <${Axis} gap=${gap} sides=${["A", "B"]} />
        </div>
        ${side(1)}
      </section>
      <p class="verdict">
        ${verdict && html`Verdict: <b><${Name}>${verdict}<//></b>${p != null && html` (p ${p < 0.0001 ? "< 0.0001" : `= ${p.toPrecision(2)}`}, ${corrected ? "corrected for all pairs of painters" : "uncorrected: a pair with a control"})`}. `}
        On ${L.many(tally.n, "question")}: A better on <b>${tally.wins}</b>, B better on <b>${tally.losses}</b>, equal on${" "}
        <b>${tally.ties}</b>.
      </p>
      ${choice.what === "painters" &&
      !tested &&
      html`<p class="soft">
        This pair was not tested here. <code>limner compare ${exam.name} --score ${score.name}</code> tests all pairs.
      </p>`}`;
  }

  function Share({ row }) {
    const at = (count) => (row.n ? (100 * count) / row.n : 0);
    return html`<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="even" x="0" width="100" height="10" />
      <rect class="first" x="0" width=${at(row.wins)} height="10" />
      <rect class="second" x=${100 - at(row.losses)} width=${at(row.losses)} height="10" />
    </svg>`;
  }

  function Wins({ exam, list, questions, tag, params, score }) {
    const values = exam.tags[tag] || [];
    const counted = list.filter((one) => one.counted);
    const column = questions.tags[tag] || [];
    const rows = values
      .map((value, at) => ({ value, ...L.two.tallied(counted.filter((one) => column[one.q] === at)) }))
      .filter((row) => row.n > 0);
    const line = (row) => {
      const chosen = params[`t.${tag}`] === row.value;
      const pick = () => L.change({ [`t.${tag}`]: chosen ? "" : row.value, q: "" });
      return html`<tr>
        <th scope="row" class="first">
          <button type="button" class="plain" aria-pressed=${chosen} onClick=${pick}><${Name}>${L.words(row.value)}<//></button>
        </th>
        <td class="wide"><${Share} row=${row} /></td>
        <td class="number">${row.wins}</td>
        <td class="number">${row.ties}</td>
        <td class="number">${row.losses}</td>
        <td class="number">${row.n}</td>
        <td class="number">${signed(row.mean, score.digits)}</td>
      </tr>`;
    };
    const tags = Object.keys(exam.tags);
    return html`<h2>Wins and losses</h2>
      ${tags.length > 1 &&
      html`<form class="bar" onSubmit=${(event) => event.preventDefault()}>
        <${Choice} name="By" value=${tag} options=${L.toChoose(tags)} onChange=${(v) => L.change({ by: v })} />
      </form>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Wins and losses by category">
        <table class="wins">
          <caption>
            Questions on which A or B scores higher. Choose a category to see only its drawings.
          </caption>
          <thead>
            <tr>
              <th scope="col" class="first">${L.words(tag)}</th>
              <th scope="col"><span class="hidden">Bar</span></th>
              <th scope="col" class="number">A better</th>
              <th scope="col" class="number">equal</th>
              <th scope="col" class="number">B better</th>
              <th scope="col" class="number">n</th>
              <th scope="col" class="number">mean A − B</th>
            </tr>
          </thead>
          <tbody>
            ${rows.map(line)}
          </tbody>
        </table>
      </div>`;
  }

  // The drawing of a side: the one with its seed, or the first one.
  function drawingOf(found, side) {
    const mine = found.drawings.filter((one) => one.p === side.p && (side.seed == null || one.seed === side.seed));
    const marked = mine.find((one) => one.markings.some((marking) => marking.way === side.way && marking.marks));
    return marked || mine.find((one) => one.image) || mine[0];
  }
  const markingOf = (drawing, side) => drawing && drawing.markings.find((one) => one.way === side.way && one.marks);

  function Criteria({ found, drawings, sides, all, setAll }) {
    const markings = drawings.map((drawing, at) => markingOf(drawing, sides[at]));
    if (!markings[0] || !markings[1]) return html`<p class="soft">One of the two has no marks for this question.</p>`;
    if (drawings.some((drawing) => drawing.version)) {
      return html`<p class="soft">One of the two was drawn for an earlier version of this question.</p>`;
    }
    const rows = found.question.criteria.map((criterion, n) => ({
      criterion,
      marks: markings.map((marking) => marking.by.get(n)),
    }));
    const differ = rows.filter(({ marks: [one, other] }) => one?.value !== other?.value);
    const shown = all ? rows : differ;
    const said = (mark, criterion) => html`<td>
      <${Mark} value=${mark?.value} top=${criterion.top} verdict=${mark?.verdict} />
      ${mark?.reason && html`<p class="soft said"><${Name}>${mark.reason}<//></p>`}
    </td>`;
    return html`<div class="viewbar">
        <h3>Criteria: ${differ.length} of ${rows.length} marked differently</h3>
        <${Check} name="Show all" on=${all} onChange=${setAll} />
      </div>
      ${shown.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Criteria">
        <table class="both">
          <thead>
            <tr>
              <th scope="col">Criterion</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
            </tr>
          </thead>
          <tbody>
            ${shown.map(
              ({ criterion, marks }) => html`<tr>
                <th scope="row"><${Name}>${criterion.text}<//></th>
                ${said(marks[0], criterion)}${said(marks[1], criterion)}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>`}`;
  }

  function Stage({ one, questions, exam, sides, score, at, count, step, swap }) {
    const key = questions.key[one.q];
    const file = useFile(`q/${key}`);
    const found = useMemo(() => file.parts && L.gathered(file.parts), [file.parts]);
    const look = L.useView(key);
    const [beside, setBeside] = useState(true);
    const [all, setAll] = useState(false);
    const sorts = found ? found.sorts : [];
    const layered = L.useLayers(key, sorts);
    useLayoutEffect(() => {
      const keys = (event) => {
        if (L.typing(event) || L.viewerKey(event, look) || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.shiftKey && event.key.startsWith("Arrow")) return;
        if (event.key === "ArrowRight") step(1);
        else if (event.key === "ArrowLeft") step(-1);
        else if (event.key === "s") swap();
        else if (event.key === "r") setBeside((on) => !on);
        else if (event.key === "t" && (!found || sorts.includes("ocr"))) layered.toggle("ocr");
        else return;
        event.preventDefault();
      };
      addEventListener("keydown", keys);
      return () => removeEventListener("keydown", keys);
    });
    const [reference, called] = found ? L.comparedWith(found.question) : [null, "Reference"];
    const listed = [
      [["←", "→"], "previous, next question"],
      [["S"], "swap A and B"],
      ...L.ZOOM_KEYS,
      [["R"], called.toLowerCase()],
      sorts.includes("ocr") && [["T"], "text read by OCR"],
    ].filter(Boolean);
    const drawings = found ? sides.map((side) => drawingOf(found, side)) : [];
    const value = [one.a, one.b];
    const same = drawings[0] && drawings[0] === drawings[1];
    const pane = (n) => {
      const drawing = drawings[n];
      const seed = drawing && exam.painters[drawing.p].seeds > 1 && sides[n].seed == null ? `, seed ${drawing.seed}` : "";
      return html`<${Pane}
        name=${html`<span class=${`letter ${n ? "second" : "first"}`}>${"AB"[n]}</span> <${Name}>${sides[n].label}<//>${seed}${" "}
          <span class="soft">${L.number(value[n], score.digits)}</span>`}
        picture=${drawing && drawing.image}
        size=${drawing && drawing.size}
        boxes=${drawing ? layered.over(drawing.image) : []}
        alt=${`Drawing by ${sides[n].label}`}
        look=${look}
        absent=${drawing ? drawing.fault || "Imported without its picture" : "Not drawn"}
      />`;
    };
    return html`<div class="stage">
      <div class="viewbar">
        <button type="button" disabled=${at <= 0} onClick=${() => step(-1)}>← Previous</button>
        <span role="status">${L.count(at + 1)} of ${L.count(count)}</span>
        <button type="button" disabled=${at >= count - 1} onClick=${() => step(1)}>Next →</button>
        <button type="button" onClick=${swap}>Swap A and B</button>
        <${ZoomButtons} look=${look} />
        <div class="checks">
          <${Check} name=${called} on=${beside} onChange=${setBeside} />
          ${sorts.map(
            (sort) => html`<${Check}
              name=${L.layerName(sort)}
              on=${layered.layers.has(sort)}
              onChange=${(on) => layered.set(sort, on)}
            />`,
          )}
        </div>
      </div>
      <h3>
        <a href=${L.questionLink(key)}><${Name}>${questions.id[one.q]}<//></a>${" "}
        <span class="soft">A − B: ${signed(one.gap, score.digits)}</span>
        ${!one.counted && html`${" "}<span class="badge">not counted: a painter lacks it</span>`}
      </h3>
      ${file.wrong && html`<p class="wrong">${file.wrong}</p>`}
      ${!found && !file.wrong && html`<p class="wait" role="status">Loading …</p>`}
      ${found &&
      html`<div class="prompt"><${L.Long} limit=${400}>${found.question.prompt}<//></div>
        <div class=${`panes ${same ? "" : "three"}`}>
          ${pane(0)}
          ${beside &&
          html`<${Pane}
            name=${called}
            picture=${reference && !reference.wrong ? reference : null}
            size=${reference && found.sizes.get(reference.sha)}
            boxes=${layered.over(reference)}
            alt=${called === "Before" ? "The picture before" : "The reference image"}
            look=${look}
            absent="This question has no reference."
            sort="reference-pane"
          />`}
          ${same ? null : pane(1)}
        </div>
        ${same && html`<p class="soft">Both judges marked this one drawing: A ${L.number(one.a, score.digits)}, B ${L.number(one.b, score.digits)}.</p>`}
        <${Keys} keys=${listed} />
        <${Criteria} found=${found} drawings=${drawings} sides=${sides} all=${all} setAll=${setAll} />`}
    </div>`;
  }

  function List({ list, at, questions, score, onPick }) {
    const first = Math.max(0, Math.floor(at / PART) * PART);
    const some = list.slice(first, first + PART);
    return html`<details class="box">
      <summary>List: ${L.count(first + 1)} to ${L.count(first + some.length)} of ${L.count(list.length)}</summary>
      <ol class="pairlist" start=${first + 1}>
        ${some.map(
          (one, n) => html`<li>
            <button type="button" class="plain" aria-current=${first + n === at ? "true" : undefined} onClick=${() => onPick(one)}>
              <${Name}>${questions.id[one.q]}<//>
            </button>
            <span class="soft">
              ${L.number(one.a, score.digits)} / ${L.number(one.b, score.digits)} (${signed(one.gap, score.digits)})
            </span>
          </li>`,
        )}
      </ol>
    </details>`;
  }

  // Everything the page shows, once its files are loaded.
  function numbersOf({ exam, choice, pairs, judges, files, seeds, score }) {
    const place = (painter) => exam.painters.indexOf(painter);
    const column = (file, way, seed) => {
      const part = (file || []).find((one) => one.way === way);
      return (name) => part && part.scores[name] && part.scores[name][seed == null ? "all" : String(seed)];
    };
    if (choice.what === "painters") {
      const [a, b] = [place(choice.a), place(choice.b)];
      const values = [a, b].map((p) => (pairs.values[score.name] || {})[p]);
      const known = L.two.found(pairs.pairs[score.name] || [], a, b);
      const plain = values.some((value) => value == null) ? null : { gap: [values[0] - values[1], null, null, 0], more: [] };
      return {
        sides: [a, b].map((p) => ({ p, way: choice.way, seed: null, label: exam.painters[p].row })),
        numbers: known || plain ? { ...(known || plain), values } : null,
        columns: files.map((file) => column(file, choice.way, null)),
        common: pairs.common,
        name: score.name,
        tested: Boolean(known && known.more.length),
      };
    }
    const p = place(choice.painter);
    const two = choice.what === "seeds" ? seeds : choice.ways;
    const source = choice.what === "seeds" ? pairs.seeds : judges.pairs;
    const mine = (source[score.name] || []).filter((row) => row[0] === p).map((row) => row.slice(1));
    const known = L.two.found(mine, two[0], two[1]);
    const values = known && (known.turned ? known.more.slice().reverse() : known.more);
    const sides = two.map((one) =>
      choice.what === "seeds"
        ? { p, way: choice.way, seed: one, label: `seed ${one}` }
        : { p, way: one, seed: null, label: exam.ways[one].name },
    );
    return {
      sides,
      numbers: known && { gap: known.gap, more: [], values },
      columns: sides.map((side) => column(files[0], side.way, side.seed)),
      common: null,
      name: score.name === MET.name ? "own" : score.name,
      tested: true,
    };
  }

  function Compared({ exam, questions, choice, params, pairs, judges, files, seeds, scores, score }) {
    const told = useMemo(
      () => numbersOf({ exam, choice, pairs, judges, files, seeds, score }),
      [choice.what, choice.way, params.a, params.b, params.p, pairs, files[0], files[1], score.name, seeds.join()],
    );
    const list = useMemo(() => {
      const others = scores.map((one) => [...told.columns.map((column) => column(one.name)), one.top]);
      return L.two.questionsOf(told.columns.map((column) => column(told.name)), others, told.common);
    }, [told]);
    const tags = Object.keys(exam.tags);
    const tag = tags.includes(params.by) ? params.by : tags[0];
    const shown = useMemo(() => {
      const fits = L.fitting(exam, questions, null, params);
      const wanted = { a: (one) => one.gap > NEAR, b: (one) => one.gap < -NEAR, equal: (one) => Math.abs(one.gap) <= NEAR };
      const some = list.filter((one) => fits[one.q] && (wanted[params.show] || (() => true))(one));
      return some.sort(params.order === "a" ? L.two.bySide : L.two.byDisagreement);
    }, [list, JSON.stringify(params)]);
    const at = Math.max(0, shown.findIndex((one) => questions.key[one.q] === params.q));
    const step = (by) => shown[at + by] && L.change({ q: questions.key[shown[at + by].q] });
    const swap = () => {
      if (choice.what === "painters") L.change({ a: choice.b.key, b: choice.a.key });
      else if (choice.what === "seeds") L.change({ a: seeds[1], b: seeds[0] });
      else L.change({ a: choice.ways[1], b: choice.ways[0] });
    };
    const tally = L.two.tallied(list.filter((one) => one.counted));
    const notes = (exam.ways[choice.way].notes.common || []).map((note) => html`<li><${Name}>${note}<//></li>`);
    const missing = "No question has a score for both, so there is nothing to compare.";
    const some = [
      ["", "All questions"],
      ["a", "A better"],
      ["b", "B better"],
      ["equal", "Equal"],
    ];
    const orders = [
      ["", "Largest difference first"],
      ["a", "A's best first, B's best last"],
    ];
    return html`
      ${choice.what === "painters" && notes.length > 0 && html`<ul class="compared">${notes}</ul>`}
      ${told.numbers
        ? html`<${Answer}
            sides=${told.sides}
            numbers=${told.numbers}
            score=${score}
            exam=${exam}
            choice=${choice}
            tally=${tally}
            tested=${told.tested}
          />`
        : html`<p class="wrong">${list.length ? "No difference can be shown: one of the two has no such score on the common questions." : missing}</p>`}
      ${tag && list.length > 0 && html`<${Wins} exam=${exam} list=${list} questions=${questions} tag=${tag} params=${params} score=${score} />`}
      ${list.length > 0 &&
      html`<h2>Drawings beside the reference</h2>
        <form class="bar" onSubmit=${(event) => event.preventDefault()}>
          <${Choice} name="Show" value=${params.show || ""} options=${some} onChange=${(v) => L.change({ show: v, q: "" })} />
          <${Choice} name="Order" value=${params.order || ""} options=${orders} onChange=${(v) => L.change({ order: v, q: "" })} />
          ${tags.map(
            (name) => html`<${L.Filter}
              name=${L.words(name)}
              at=${`t.${name}`}
              params=${params}
              options=${L.toChoose(exam.tags[name])}
              onChange=${(change) => L.change({ ...change, q: "" })}
            />`,
          )}
        </form>`}
      ${shown.length > 0
        ? html`<${Stage}
              one=${shown[at]}
              questions=${questions}
              exam=${exam}
              sides=${told.sides}
              score=${score}
              at=${at}
              count=${shown.length}
              step=${step}
              swap=${swap}
            />
            <${List}
              list=${shown}
              at=${at}
              questions=${questions}
              score=${score}
              onPick=${(one) => L.change({ q: questions.key[one.q] })}
            />`
        : list.length > 0 && html`<p class="soft">No question matches.</p>`}`;
  }

  function Page({ data: [[exam], parts] }) {
    const params = L.useParams();
    const questions = useMemo(() => L.joined(parts), [parts]);
    const choice = L.two.asked(exam, params);
    const keys = choice.what === "painters" ? [choice.a.key, choice.b.key] : [choice.painter?.key];
    const pairs = useFile(choice.what && `pairs/${choice.way}`);
    const judges = useFile(choice.what === "judges" && "judges");
    const files = [useFile(keys[0] && `rows/${keys[0]}`), useFile(keys[1] && `rows/${keys[1]}`)];
    L.useTitle(`Compare · ${exam.name}`);
    const head = html`<h1>Compare <span class="of"><${Name}>${exam.name}<//></span></h1>`;
    if (!choice.what || !exam.ways.length) {
      return html`${head}
        <p>There is nothing to compare yet: that needs marks for two painters, strategies, seeds or judges.</p>`;
    }
    const wanted = [pairs, choice.what === "judges" && judges, files[0], keys[1] && files[1]].filter(Boolean);
    const wrong = wanted.find((file) => file.wrong);
    const ready = wanted.every((file) => file.parts);
    const body = ready && pairs.parts[0];
    const part = ready && files[0].parts.find((one) => one.way === choice.way);
    const found = part ? Object.values(part.scores)[0] || {} : {};
    const there = Object.keys(found).filter((seed) => seed !== "all").map(Number).sort((x, y) => x - y);
    const seed = (wish, not) => (there.includes(wish) && wish !== not ? wish : there.find((one) => one !== not));
    const first = choice.what === "seeds" ? seed(choice.seeds[0]) : null;
    const seeds = choice.what === "seeds" && ready ? [first, seed(choice.seeds[1], first)] : [];
    const source = !ready ? {} : { painters: body.pairs, seeds: body.seeds, judges: judges.parts && judges.parts[0].pairs }[choice.what];
    const names = Object.keys(source || {});
    const scores = names.map((name) => exam.scores.find((one) => one.name === name) || { ...MET, name });
    const score = scores.find((one) => one.name === params.score) || scores.find((one) => ready && one.name === body.score) || scores[0];
    return html`${head}
      <p class="lead">
        ${choice.what === "judges"
          ? html`The same drawings marked by two judges, reading <b>${exam.reading}</b>.`
          : html`Judge <b><${Name}>${exam.ways[choice.way].name}<//></b>,${" "}
              <${TrustOf} exam=${exam} way=${exam.ways[choice.way]} />, reading <b>${exam.reading}</b>.`}
        ${score && html` By <b>${L.words(score.name)}</b>: ${score.about}.`}
      </p>
      ${choice.what === "judges"
        ? choice.ways.map((n) => html`<${Warning} judge=${exam.ways[n]} name=${exam.ways[n].name} />`)
        : html`<${Warning} judge=${exam.ways[choice.way]} />`}
      <${Bar} exam=${exam} choice=${choice} seeds=${there} scores=${scores} score=${score || MET} />
      ${wrong && html`<p class="wrong">${wrong.wrong}</p>`}
      ${!ready && !wrong && html`<p class="wait" role="status">Loading …</p>`}
      ${ready && !score && html`<p class="soft">The two have no score in common.</p>`}
      ${ready &&
      score &&
      html`<${Compared}
        exam=${exam}
        questions=${questions}
        choice=${choice}
        params=${params}
        pairs=${body}
        judges=${judges.parts && judges.parts[0]}
        files=${files.map((file) => file.parts)}
        seeds=${seeds}
        scores=${scores}
        score=${score}
      />`}`;
  }

  L.show(Page, "exam", "questions");
})();
