// One question: prompt, reference, all drawings side by side, every mark with its reason.
"use strict";

(() => {
  const { html, Name, TrustOf, Choice, Check, Long, Graph, Picture, Card, Matrix, Closer } = L;
  const { useState, useMemo } = preactHooks;

  // The previous and the next question that are drawn; this one counts, drawn or not.
  function Neighbours({ id }) {
    const { parts } = L.useFile("questions");
    const keys = useMemo(() => {
      const list = parts && L.joined(parts);
      return list && list.key.filter((key, n) => list.drawn[n] || key === id);
    }, [parts, id]);
    if (!keys) return null;
    const at = keys.indexOf(id);
    const to = (n, words) => keys[n] && html`<a href=${L.questionLink(keys[n])}>${words}</a>`;
    return html`<nav class="neighbours" aria-label="Questions">
      ${to(at - 1, "← Previous question")}
      <span class="soft">${at + 1} of ${keys.length} drawn</span>
      ${to(at + 1, "Next question →")}
    </nav>`;
  }

  function Tags({ question, exam }) {
    const where = (tag, value) => L.address(exam.tags[tag] ? { [`t.${tag}`]: value } : { s: value });
    return html`<ul class="tags">
      ${Object.entries(question.tags).map(
        ([tag, value]) => html`<li>
          <span class="soft">${L.words(tag)}</span>${" "}
          <a href=${`gallery.html${where(tag, value)}`}><${Name}>${L.words(value)}<//></a>
        </li>`,
      )}
    </ul>`;
  }

  function Asked({ question }) {
    const { graph } = question;
    const entities = question.criteria.filter((criterion) => criterion.kind === "entity").length;
    return html`<section class="ask" aria-labelledby="prompt">
      <h2 id="prompt" class="hidden">Prompt</h2>
      <${Long}>${question.prompt}<//>
      ${graph &&
      html`<details class="box" open>
        <summary>What must be shown</summary>
        <${Graph} graph=${graph} entities=${entities} />
      </details>`}
      <details class="box">
        <summary>The rubric as stored</summary>
        <pre>${JSON.stringify(question.rubric, null, 1)}</pre>
      </details>
    </section>`;
  }

  // The reference, as large as a drawing; it stays in view beside the drawings.
  function Reference({ question, boxes, size }) {
    const { reference } = question;
    const absent = question.reference_name ? "The data names a reference, but the file is missing." : "This question has no reference.";
    return html`<section class="card drawing reference" aria-labelledby="reference">
      <h3 id="reference">Reference</h3>
      ${reference && !reference.wrong
        ? html`<a class="still" href=${L.large(reference)}>
            <${Picture} picture=${reference} size=${size} boxes=${boxes} full alt="The reference image" />
          </a>`
        : html`<p class="soft">${reference ? html`Cannot be shown: <${Name}>${reference.wrong}<//>` : absent}</p>`}
    </section>`;
  }

  // The pictures that painters were given, above the reference.
  function Inputs({ question, over, sizes }) {
    const { inputs } = question;
    return inputs.map((picture, n) => {
      const name = inputs.length > 1 ? `Before ${n + 1}` : "Before";
      return html`<section class="card drawing" aria-label=${name}>
        <h3>${name}</h3>
        ${picture && !picture.wrong
          ? html`<a class="still" href=${L.large(picture)}>
              <${Picture} picture=${picture} size=${sizes.get(picture.sha)} boxes=${over(picture)} full alt=${name} />
            </a>`
          : html`<p class="soft">Cannot be shown: <${Name}>${picture ? picture.wrong : "the file is missing"}<//></p>`}
      </section>`;
    });
  }

  function Question({ found, exam, params }) {
    const { question, drawings } = found;
    const marked = [...new Set(found.markings.map((one) => one.way))].sort((a, b) => a - b);
    const way = params.way !== undefined && marked.includes(Number(params.way)) ? Number(params.way) : marked[0];
    const [order, setOrder] = useState("met");
    const { sorts } = found;
    const layered = L.useLayers(params.q, sorts);
    const { layers, over } = layered;
    const shown = useMemo(() => {
      const met = (drawing) => {
        const marking = drawing.markings.find((one) => one.way === way);
        const count = L.tally(marking, drawing.criteria);
        return count && count.decided ? count.met / count.decided : -1;
      };
      const ordered = order === "met" ? drawings.slice().sort((a, b) => met(b) - met(a)) : drawings;
      ordered.forEach((drawing, n) => (drawing.n = n + 1));
      return ordered;
    }, [found, order, way]);
    const open = drawings.find((drawing) => drawing.d === params.d);
    const { reference } = question;
    const judges = marked.map((n) => [String(n), exam.ways[n].name]);
    const orders = [
      ["met", "Most criteria met first"],
      ["painter", "By painter"],
    ];
    return html`<${Neighbours} id=${params.q} />
      <h1><${Name}>${question.id}<//></h1>
      <${Tags} question=${question} exam=${exam} />
      <${Asked} question=${question} />
      <h2>Drawings</h2>
      <form class="bar" onSubmit=${(event) => event.preventDefault()}>
        ${marked.length > 1 &&
        html`<${Choice} name="Judge" value=${String(way)} options=${judges} onChange=${(v) => L.change({ way: v })} />`}
        <${Choice} name="Order" value=${order} options=${orders} onChange=${setOrder} />
        ${sorts.length > 0 &&
        html`<div class="checks">
          ${sorts.map(
            (sort) =>
              html`<${Check} name=${L.layerName(sort)} on=${layers.has(sort)} onChange=${(on) => layered.set(sort, on)} />`,
          )}
        </div>`}
      </form>
      ${way === undefined
        ? html`<p class="soft">Nothing is marked yet.</p>`
        : html`<p class="soft">Marks by judge <b><${Name}>${exam.ways[way].name}<//></b>,${" "}
            <${TrustOf} exam=${exam} way=${exam.ways[way]} />, reading ${exam.reading}.
          </p>`}
      <div class="beside">
        <div class="given">
          ${question.inputs && html`<${Inputs} question=${question} over=${over} sizes=${found.sizes} />`}
          ${!(question.inputs && !question.reference_name) &&
          html`<${Reference}
            question=${question}
            boxes=${over(reference)}
            size=${reference && found.sizes.get(reference.sha)}
          />`}
        </div>
        <div class="drawings">
          ${shown.map(
            (drawing) => html`<${Card}
              key=${drawing.d}
              drawing=${drawing}
              exam=${exam}
              way=${way}
              boxes=${over(drawing.image)}
              onOpen=${(one) => L.change({ d: one.d }, true)}
            />`,
          )}
        </div>
      </div>
      ${way !== undefined &&
      html`<h2>Criteria</h2>
        <p class="soft">Choose a criterion to read the reasons. The numbers refer to the drawings above.</p>
        <${Matrix} question=${question} drawings=${shown} exam=${exam} way=${way} />`}
      ${open &&
      html`<${Closer}
        drawing=${open}
        all=${shown}
        exam=${exam}
        question=${question}
        sizes=${found.sizes}
        sorts=${sorts}
        layered=${layered}
        way=${way}
        onClose=${() => L.change({ d: "" })}
        onMove=${(one) => L.change({ d: one.d })}
      />`}`;
  }

  function Page({ data: [[exam]] }) {
    const params = L.useParams();
    const { parts, wrong } = L.useFile(params.q && `q/${params.q}`);
    const found = useMemo(() => parts && L.gathered(parts), [parts]);
    L.useTitle(found ? `${found.question.id} · ${exam.name}` : exam.name);
    if (!params.q) {
      return html`<h1>Question</h1>
        <p>Choose one from the <a href="questions.html">list of questions</a>.</p>`;
    }
    if (wrong) return html`<p class="wrong">${wrong}</p>
        <p>All questions are in the <a href="questions.html">list of questions</a>.</p>`;
    if (!found) return html`<p class="wait" role="status">Loading …</p>`;
    return html`<${Question} key=${params.q} found=${found} exam=${exam} params=${params} />`;
  }

  L.show(Page, "exam");
})();
