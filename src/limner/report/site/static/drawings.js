// Parts of the question page: a question's data, its drawings, and the matrix of criteria and drawings.
"use strict";

(() => {
  const { html, Name, Mark, Overlay } = L;
  const { useState } = preactHooks;

  // The parts of a question's file by type; every drawing with its markings and criteria.
  function gathered(parts) {
    const found = { drawings: [], markings: [], versions: new Map(), boxes: [] };
    for (const part of parts) {
      if (part.question) found.question = part.question;
      else if (part.drawing) found.drawings.push(part.drawing);
      else if (part.marking) found.markings.push(part.marking);
      else if (part.version) found.versions.set(part.version.hash, part.version);
      else if (part.boxes) found.boxes.push(part.boxes);
    }
    for (const marking of found.markings) {
      const marks = marking.marks || [];
      marking.by = new Map(marks.map(([criterion, value, reason, verdict]) => [criterion, { value, reason, verdict }]));
    }
    found.drawings.sort((a, b) => a.p - b.p || a.seed - b.seed);
    found.drawings.forEach((drawing) => {
      drawing.markings = found.markings
        .filter((marking) => marking.d === drawing.d)
        .sort((a, b) => a.way - b.way || (a.repeat || 0) - (b.repeat || 0));
      const old = drawing.markings.find((marking) => marking.version);
      drawing.version = old && found.versions.get(old.version);
      drawing.criteria = (drawing.version || found.question).criteria;
    });
    found.sorts = [...new Set(found.boxes.map((box) => box.sort))].sort();
    // The sizes of pictures in their own pixels, the unit of boxes.
    const drawn = found.drawings.filter((drawing) => drawing.image && drawing.size && drawing.size[0]);
    found.sizes = new Map(drawn.map((one) => [one.image.sha, one.size]));
    return found;
  }

  // The number of criteria decided, met and undecided.
  function tally(marking, criteria) {
    if (!marking || !marking.marks) return null;
    const values = criteria.map((criterion, n) => marking.by.get(n)?.value);
    const decided = values.filter((value) => value != null).length;
    const met = values.filter((value, n) => value === criteria[n].top).length;
    return { decided, met, open: criteria.length - decided, all: criteria.length };
  }

  // Whether two markings of a drawing decided a criterion differently.
  const differs = (drawing, n) =>
    new Set(drawing.markings.map((one) => one.by.get(n)?.value).filter((value) => value != null)).size > 1;

  // What a drawing is compared with: the reference, or else the first picture it was to be made from.
  const comparedWith = ({ reference, inputs }) =>
    inputs && !(reference && !reference.wrong) ? [inputs[0], "Before"] : [reference, "Reference"];

  // A picture with its overlays, small or full.
  function Picture({ picture, size, boxes, full, alt }) {
    const [turned, setTurned] = useState(false);
    const [own, setOwn] = useState(null);
    const [gone, setGone] = useState(false);
    if (!picture) return html`<span class="nopic">No picture</span>`;
    if (picture.wrong || gone) {
      const why = picture.wrong || "the file is missing";
      return html`<span class="nopic">This image cannot be shown: <${Name}>${why}<//></span>`;
    }
    const loaded = (event) => {
      const { naturalWidth: width, naturalHeight: height } = event.target;
      if (full && picture.large) setOwn([width, height]);
      // The browser may have rotated the picture as its file says.
      setTurned(Boolean(size) && width !== height && width > height !== size[0] > size[1]);
    };
    const known = size && size[0] ? size : own;
    const over = known && known[0] && boxes.length > 0;
    return html`<span class="frame">
      <img
        src=${full ? L.large(picture) : L.small(picture.sha)}
        alt=${alt}
        loading="lazy"
        decoding="async"
        onLoad=${loaded}
        onError=${() => setGone(true)}
      />
      ${over && html`<${Overlay} size=${known} boxes=${boxes} turned=${turned && known === size} />`}
    </span>`;
  }

  function Scores({ marking, exam }) {
    const found = exam.scores.filter((score) => score.main && marking.scores[score.name] != null);
    return html`<dl class="scores">
      ${found.map(
        (score) => html`<div title=${score.about}>
          <dt>${L.words(score.name)}</dt>
          <dd>${L.number(marking.scores[score.name], score.digits)}</dd>
        </div>`,
      )}
    </dl>`;
  }

  function Result({ marking, drawing, exam }) {
    const count = tally(marking, drawing.criteria);
    if (count) {
      return html`<p class="tally">
          <span class="mark met">✓ ${count.met}</span>
          <span class="mark unmet">✗ ${count.decided - count.met}</span>
          ${count.open > 0 && html`<span class="mark open">? ${count.open}</span>`}
          <span class="soft">of ${count.all}</span>
        </p>
        <${Scores} marking=${marking} exam=${exam} />`;
    }
    if (marking) return html`<p class="soft"><b>${marking.status}</b>${" "}<${Name}>${marking.detail}<//></p>`;
    return drawing.status === "done" && html`<p class="soft">not marked by this judge</p>`;
  }

  const MANY = 12; // With more criteria, those that are met are folded.

  // Every mark with its reason: what is wrong first, then what is undecided, then what is met.
  function Marks({ marking, criteria }) {
    if (!marking || !marking.marks) return null;
    const all = criteria.map((criterion, n) => ({ criterion, mark: marking.by.get(n) }));
    const met = all.filter(({ criterion, mark }) => mark?.value === criterion.top);
    const open = all.filter(({ mark }) => mark?.value == null);
    const wrong = all.filter((one) => !met.includes(one) && !open.includes(one));
    const line = ({ criterion, mark }) => html`<li>
      <${Mark} value=${mark?.value} top=${criterion.top} verdict=${mark?.verdict} bare />
      <span>
        <${Name}>${criterion.text}<//>
        ${mark?.reason && html`${" "}<span class="why"><${Name}>${mark.reason}<//></span>`}
      </span>
    </li>`;
    const folded = (title, some) =>
      some.length > 0 &&
      html`<details open=${criteria.length <= MANY}>
        <summary>${some.length} ${title}</summary>
        <ul class="verdicts">
          ${some.map(line)}
        </ul>
      </details>`;
    return html`<ul class="verdicts">
        ${wrong.map(line)}
      </ul>
      ${folded("undecided", open)}${folded("met", met)}`;
  }

  // A drawing beside the reference, with its marks.
  function Card({ drawing, exam, way, boxes, onOpen }) {
    const painter = exam.painters[drawing.p];
    const failed = drawing.status !== "done";
    const fault = drawing.status === "not_applicable" ? "not applicable" : drawing.fault;
    const look = `Open drawing ${drawing.n} by ${painter.row}`;
    const marking = drawing.markings.find((one) => one.way === way);
    return html`<article class="card drawing pair" id=${`d-${drawing.d}`}>
      <h3>
        <span class="nr">${drawing.n}</span>${" "}
        <a href=${L.painterLink(painter)}><${Name}>${painter.row}<//></a>
        ${(painter.seeds > 1 || drawing.seed !== 0) && html`${" "}<span class="soft">seed ${drawing.seed}</span>`}
      </h3>
      ${failed
        ? html`<p class="nopic"><b>${fault}</b> <${Name}>${drawing.detail}<//></p>`
        : drawing.image
          ? html`<button type="button" class="look" onClick=${() => onOpen(drawing)} aria-label=${look}>
              <${Picture} picture=${drawing.image} size=${drawing.size} boxes=${boxes} full alt=${`Drawing ${drawing.n}`} />
            </button>`
          : html`<p class="nopic">Imported without its picture</p>`}
      <div>
        <${Result} marking=${marking} drawing=${drawing} exam=${exam} />
        <${Marks} marking=${marking} criteria=${drawing.criteria} />
        ${!failed && html`<button type="button" onClick=${() => onOpen(drawing)}>Look closer</button>`}
      </div>
    </article>`;
  }

  // Criteria as rows, drawings as columns; a criterion expands to show every reason.
  function Matrix({ question, drawings, exam, way }) {
    const [open, setOpen] = useState(() => new Set());
    const marking = (drawing) => drawing.markings.find((one) => one.way === way && one.marks);
    const shown = drawings.filter((drawing) => !drawing.version && marking(drawing));
    if (!shown.length) return null;
    const toggle = (n) =>
      setOpen((before) => {
        const after = new Set(before);
        if (!after.delete(n)) after.add(n);
        return after;
      });
    const seek = (event, drawing) => {
      event.preventDefault();
      document.getElementById(`d-${drawing.d}`).scrollIntoView({ block: "center" });
    };
    const head = (drawing) => {
      const painter = exam.painters[drawing.p].row;
      return html`<th scope="col" class="number" title=${painter}>
        <a href=${`#d-${drawing.d}`} onClick=${(event) => seek(event, drawing)}>
          ${drawing.n}<span class="hidden"> ${painter}</span>
        </a>
      </th>`;
    };
    const cell = (drawing, n, criterion, bare) => {
      const mark = marking(drawing).by.get(n);
      return html`<${Mark} value=${mark?.value} top=${criterion.top} verdict=${mark?.verdict} bare=${bare} />`;
    };
    const reasons = (criterion, n) => html`<tr class="reasons">
      <td colspan=${shown.length + 1}>
        <ul>
          ${shown.map(
            (drawing) => html`<li>
              <span class="nr">${drawing.n}</span>${" "}${cell(drawing, n, criterion)}${" "}
              <b><${Name}>${exam.painters[drawing.p].row}<//></b>${" "}
              <${Name}>${marking(drawing).by.get(n)?.reason || ""}<//>
            </li>`,
          )}
        </ul>
      </td>
    </tr>`;
    const row = (criterion, n) => html`<tr>
        <th scope="row" class="first">
          <button type="button" class="plain" aria-expanded=${open.has(n)} onClick=${() => toggle(n)}>
            <span class="turn" aria-hidden="true">${open.has(n) ? "▾" : "▸"}</span>${" "}
            <${Name}>${criterion.text}<//>
            ${criterion.weight != null && html`<span class="soft"> (${criterion.weight})</span>`}
          </button>
        </th>
        ${shown.map((drawing) => html`<td class="cell">${cell(drawing, n, criterion, true)}</td>`)}
      </tr>
      ${open.has(n) && reasons(criterion, n)}`;
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Criteria and drawings">
      <table class="matrix">
        <caption class="hidden">
          Every criterion with its mark for every drawing
        </caption>
        <thead>
          <tr>
            <th scope="col" class="first">Criterion</th>
            ${shown.map(head)}
          </tr>
        </thead>
        <tbody>
          ${question.criteria.map(row)}
        </tbody>
      </table>
    </div>`;
  }

  Object.assign(L, { gathered, comparedWith, tally, differs, Picture, Scores, Card, Matrix });
})();
