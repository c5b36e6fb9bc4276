// One drawing in detail: the picture with overlays, marks with reasons, graph, steps, provenance.
"use strict";

(() => {
  const { html, Name, Mark, Pic, Choice, Check, Long, Graph, Scores, differs, Pane, ZoomButtons, Keys } = L;
  const { useState, useLayoutEffect, useRef } = preactHooks;

  const layerName = (sort) => (sort === "ocr" ? "Text read by OCR" : L.words(sort));

  function Marks({ drawing, exam }) {
    const [which, setWhich] = useState("all");
    const markings = drawing.markings.filter((one) => one.marks);
    if (!markings.length) return html`<p class="soft">No marks.</p>`;
    const lost = (criterion, n) =>
      markings.some((one) => one.by.get(n)?.value != null && one.by.get(n).value < criterion.top);
    const wanted = { all: () => true, unmet: lost, differ: (criterion, n) => differs(drawing, n) }[which];
    const some = drawing.criteria.map((criterion, n) => ({ criterion, n })).filter((c) => wanted(c.criterion, c.n));
    const options = [
      ["all", "All criteria"],
      ["unmet", "Not fully met"],
    ];
    if (markings.length > 1) options.push(["differ", "Where marks differ"]);
    const who = (one) => {
      const again = drawing.markings.filter((other) => other.way === one.way).length > 1;
      return exam.ways[one.way].name + (again ? `, repeat ${one.repeat + 1}` : "");
    };
    const named = (one) => markings.length > 1 && html`<b><${Name}>${who(one)}<//></b>`;
    const said = (one, criterion, n) => {
      const mark = one.by.get(n);
      return html`<p class="said">
        <${Mark} value=${mark?.value} top=${criterion.top} verdict=${mark?.verdict} />
        ${named(one)}${" "}<${Name}>${mark?.reason || ""}<//>
      </p>`;
    };
    const beyond = markings.flatMap((one) =>
      [...one.by].filter(([id]) => typeof id === "string").map(([id, mark]) => ({ id, mark, one })),
    );
    return html`<div class="bar">
        <${Choice} name="Show" value=${which} onChange=${setWhich} options=${options} />
        <span class="soft" role="status">${some.length} of ${drawing.criteria.length}</span>
      </div>
      <ol class="criteria">
        ${some.map(
          ({ criterion, n }) => html`<li key=${criterion.id}>
            <p>
              <${Name}>${criterion.text}<//>
              ${criterion.weight != null && html`<span class="soft"> weight ${criterion.weight}</span>`}
              ${differs(drawing, n) && html`${" "}<span class="badge">differs</span>`}
            </p>
            ${markings.map((one) => said(one, criterion, n))}
          </li>`,
        )}
      </ol>
      ${beyond.length > 0 &&
      html`<h4>Findings beyond the criteria</h4>
        <ul class="criteria">
          ${beyond.map(
            ({ id, mark, one }) => html`<li>
              <p><code>${id}</code> ${named(one)}${" "}<${Name}>${mark.reason}<//></p>
            </li>`,
          )}
        </ul>`}`;
  }

  function Step({ step }) {
    const alt = `Picture of the step ${step.step}`;
    return html`<li>
      <h4>
        ${L.words(step.step || "step")}${step.round ? ` ${step.round}` : ""}
        ${step.fault && html`${" "}<span class="badge">${step.fault}</span>`}
      </h4>
      ${step.images.length > 0 &&
      html`<div class="tiles">
        ${step.images.map((picture) =>
          picture.wrong
            ? html`<span class="tile"><span class="nopic"><${Name}>${picture.wrong}<//></span></span>`
            : html`<a class="tile" href=${L.large(picture)}><${Pic} sha=${picture.sha} alt=${alt} /></a>`,
        )}
      </div>`}
      ${step.text && html`<${Long} limit=${600}>${step.text}<//>`}
      ${step.call && html`<p class="soft">call <code>${step.call.slice(0, 12)}</code></p>`}
    </li>`;
  }

  function Origin({ drawing, exam }) {
    const painter = exam.painters[drawing.p];
    const evidence = Object.entries(Object.assign({}, ...drawing.markings.map((one) => one.evidence || {})));
    const calls = (keys) => keys.map((call) => html`<code>${call}</code> `);
    const facts = [
      ["strategy", painter.strategy],
      ["seed", drawing.seed],
      ["size", drawing.size && drawing.size[0] ? `${drawing.size[0]} × ${drawing.size[1]}` : null],
      ["made", L.day(drawing.time) + (drawing.origin === "run" ? "" : `, ${drawing.origin}`)],
      ["cost", L.money(drawing.cost)],
      ["drawing", html`<code>${drawing.d}</code>`],
      ["image", drawing.image && html`<code>${drawing.image.sha.slice(0, 12)}</code>`],
      ["calls", drawing.calls.length ? calls(drawing.calls) : null],
      ...evidence.map(([name, found]) => [
        L.words(name),
        html`${found.value} <span class="soft"><${Name}>${found.backend}<//></span>`,
      ]),
      ...drawing.markings.map((one) => [
        "marked",
        html`<${Name}>${exam.ways[one.way].name}<//>, ${L.day(one.time)}, ${L.money(one.cost)}, setup${" "}
          <code>${exam.ways[one.way].id}</code>${(one.calls || []).length ? html`, calls ${calls(one.calls)}` : ""}`,
      ]),
    ];
    const shown = facts.filter(([, value]) => value != null);
    return html`<dl class="facts-list">
        ${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
      </dl>
      ${drawing.sent &&
      html`<details class="box">
        <summary>The prompt that was sent</summary>
        <p class="prose"><${Name}>${drawing.sent}<//></p>
      </details>`}
      ${Object.keys(drawing.notes).length > 0 &&
      html`<details class="box">
        <summary>Notes</summary>
        <pre>${JSON.stringify(drawing.notes, null, 1)}</pre>
      </details>`}`;
  }

  function Layers({ sorts, mine, layers, setLayers }) {
    const count = (sort) => mine.find((one) => one.sort === sort)?.count;
    const name = (sort) => layerName(sort) + (count(sort) == null ? "" : ` (${count(sort)})`);
    return html`<div class="checks">
      ${sorts.map(
        (sort) => html`<${Check} name=${name(sort)} on=${layers.has(sort)} onChange=${(on) => setLayers(sort, on)} />`,
      )}
    </div>`;
  }

  function Lines({ mine, layers }) {
    const read = mine.filter((found) => layers.has(found.sort) && found.sort === "ocr");
    return html`${read.map(
        (found) => html`<details class="box">
          <summary>The ${L.many(found.count, "line")} as text</summary>
          <ol>
            ${found.boxes.map(
              ([, words, sure]) => html`<li>
                <${Name}>${words}<//>${sure != null && html`${" "}<span class="soft">${L.percent(sure)}</span>`}
              </li>`,
            )}
          </ol>
        </details>`,
      )}`;
  }

  function Known({ question, drawing, exam, marking }) {
    if (!question.graph || drawing.version) return null;
    const { graph } = question;
    const entities = drawing.criteria.filter((criterion) => criterion.kind === "entity").length;
    const judge = marking && html`${" "}<span class="soft">judge <${Name}>${exam.ways[marking.way].name}<//></span>`;
    return html`<h3>Knowledge graph${judge}</h3>
      <${Graph} graph=${graph} entities=${entities} marks=${marking && marking.by} />
      ${graph.lost.length > 0 &&
      html`<p class="soft">Not shown: ${graph.lost.length} dependencies that do not name an entity of the graph.</p>`}`;
  }

  function Judged({ drawing, exam }) {
    const open = drawing.markings.filter((one) => one.marks && !Object.keys(one.scores).length);
    const names = [...new Set(open.map((one) => exam.ways[one.way].name))];
    return html`${names.length > 0 &&
      html`<p>Marked by <b><${Name}>${names.join(", ")}<//></b>; a single drawing has no score.</p>`}
      ${drawing.markings
        .filter((one) => !open.includes(one))
        .map(
          (one) => html`<p>
              Judge <b><${Name}>${exam.ways[one.way].name}<//></b>
              ${one.repeat ? `, repeat ${one.repeat + 1}` : ""}
              ${one.status !== "done" && html`: <b>${one.status}</b> <${Name}>${one.detail}<//>`}
            </p>
            ${one.scores && html`<${Scores} marking=${one} exam=${exam} />`}`,
        )}`;
  }

  function Closer({ drawing, all, exam, question, sizes, layered, sorts, onClose, onMove, way }) {
    const dialog = useRef(null);
    const [beside, setBeside] = useState(true);
    const look = L.useView(drawing.d);
    useLayoutEffect(() => {
      if (!dialog.current.open) dialog.current.showModal();
    }, [drawing.d]);
    const closed = () => dialog.current.open || onClose(); // The event comes late: the dialog may be open again.
    const name = exam.painters[drawing.p].row;
    const { boxes, layers } = layered;
    const mine = boxes.filter((found) => drawing.image && found.image === drawing.image.sha);
    const marked = drawing.markings.filter((one) => one.marks);
    const marking = marked.find((one) => one.way === way) || marked[0];
    const at = all.indexOf(drawing);
    const move = (step) => all[at + step] && onMove(all[at + step]);
    const [reference, called] = L.comparedWith(question);
    const shown = reference && !reference.wrong;
    const keys = (event) => {
      if (L.typing(event) || L.viewerKey(event, look) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowRight") move(1);
      if (event.key === "ArrowLeft") move(-1);
      if (event.key === "r") setBeside((on) => !on);
      if (event.key === "t" && sorts.includes("ocr")) layered.toggle("ocr");
    };
    const listed = [
      [["←", "→"], "previous, next drawing"],
      ...L.ZOOM_KEYS,
      shown && [["R"], called.toLowerCase()],
      sorts.includes("ocr") && [["T"], "text"],
      [["Esc"], "close"],
    ].filter(Boolean);
    const alt = `Drawing ${drawing.n} by ${name}`;
    const absent = html`${drawing.fault || "No picture"} <${Name}>${drawing.detail}<//>`;
    const whole = (picture) => picture && picture.large && html` <a class="soft" href=${L.large(picture)}>Full size</a>`;
    return html`<dialog ref=${dialog} class="closer" aria-labelledby="closer-title" onClose=${closed} onKeyDown=${keys}>
      <header class="closer-head">
        <h2 id="closer-title"><span class="nr">${drawing.n}</span>${" "}<${Name}>${name}<//></h2>
        <div class="buttons">
          <button type="button" disabled=${at <= 0} onClick=${() => move(-1)} aria-label="Previous drawing">←</button>
          <button type="button" disabled=${at >= all.length - 1} onClick=${() => move(1)} aria-label="Next drawing">
            →
          </button>
          <button type="button" onClick=${() => dialog.current.close()}>Close</button>
        </div>
      </header>
      <div class="closer-body">
        <div class="closer-picture">
          <div class="viewbar">
            <${ZoomButtons} look=${look} />
            ${shown && html`<${Check} name=${`Show ${called.toLowerCase()}`} on=${beside} onChange=${setBeside} />`}
            <${Layers} sorts=${sorts} mine=${mine} layers=${layers} setLayers=${layered.set} />
          </div>
          <div class=${`panes${shown && beside ? "" : " alone"}`}>
            <${Pane}
              name=${html`Drawing${whole(drawing.image)}`}
              picture=${drawing.image}
              size=${drawing.size}
              boxes=${layered.over(drawing.image)}
              alt=${alt}
              look=${look}
              absent=${absent}
              sort="drawn"
            />
            ${shown &&
            beside &&
            html`<${Pane}
              name=${html`${called}${whole(reference)}`}
              picture=${reference}
              size=${sizes.get(reference.sha)}
              boxes=${layered.over(reference)}
              alt=${called === "Before" ? "The picture before" : "The reference image"}
              look=${look}
              sort="reference-pane"
            />`}
          </div>
          <${Keys} keys=${listed} />
          <${Lines} mine=${mine} layers=${layers} />
          <${Known} question=${question} drawing=${drawing} exam=${exam} marking=${marking} />
        </div>
        <div class="closer-marks">
          ${drawing.version &&
          html`<p class="box">
            Drawn for an earlier version of this question: <${Name}>${drawing.version.prompt}<//>
          </p>`}
          <${Judged} drawing=${drawing} exam=${exam} />
          <h3>Marks</h3>
          <${Marks} key=${drawing.d} drawing=${drawing} exam=${exam} />
          ${drawing.steps.length > 0 &&
          html`<h3>How it was drawn, step by step</h3>
            <ol class="steps">
              ${drawing.steps.map((step) => html`<${Step} step=${step} />`)}
            </ol>`}
          <h3>Provenance</h3>
          <${Origin} drawing=${drawing} exam=${exam} />
        </div>
      </div>
    </dialog>`;
  }

  Object.assign(L, { Closer, layerName });
})();
