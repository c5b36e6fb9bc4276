// Small components that several pages share.
"use strict";

(() => {
  const { html } = L;
  const { useState, useEffect, useRef } = preactHooks;

  // Text of any origin: isolated, whatever its direction of writing.
  const Name = ({ children }) => html`<bdi>${children}</bdi>`;

  // The warning that accompanies a judge's scores; with its name if there are several judges.
  function Warning({ judge, name }) {
    const wrong = judge.passes_wrong_drawings;
    if (!wrong) return null;
    return html`<p class="loud"><span>${name && html`<b><${Name}>${name}<//></b>: `}${wrong.words}</span></p>`;
  }

  // Whether a judge was examined, and how far it agrees with people; `home` leads to its exam's pages.
  function Trust({ judge, people, home = "" }) {
    const agreed = (people || []).map(({ people: who, measures: { accuracy, kappa, spearman } }) => {
      if (!accuracy) return spearman && html`, orders drawings as <${Name}>${who}<//> do (Spearman ${L.number(spearman.value, 2)})`;
      const beyond = kappa && ` (kappa ${L.number(kappa.value, 2)})`;
      return html`, agrees with <${Name}>${who}<//> on ${L.percent(accuracy.value)} of marks${beyond}`;
    });
    const { certificate, examined } = judge;
    return html`${certificate ? html`<a href=${home + certificate}>examined ${examined}</a>` : L.unexamined(judge.judge)}${agreed}`;
  }
  const TrustOf = ({ exam, way }) =>
    html`<${Trust} judge=${way} people=${(exam.people || []).filter((one) => one.way === way.number)} />`;

  // A mark: a sign and a word, so that colour is never the only cue.
  function state(value, top, verdict) {
    if (value == null) {
      return verdict === "unread" ? ["unread", "!", "unreadable reply"] : ["open", "?", "not decided"];
    }
    if (value === top) return ["met", "✓", top > 1 ? `${value} of ${top}` : "met"];
    if (value > 0) return ["part", "◐", `${value} of ${top}`];
    return ["unmet", "✗", top > 1 ? `0 of ${top}` : "not met"];
  }

  function Mark({ value, top, verdict, bare }) {
    const [sort, sign, said] = state(value, top, verdict);
    return html`<span class=${`mark ${sort}`}>
      <span aria-hidden="true">${sign}</span>
      <span class=${bare ? "hidden" : ""}>${said}</span>
    </span>`;
  }

  // A number with its interval, or its lowest and highest possible value.
  function Score({ view, score, whisker }) {
    const found = view && view.scores[score.name];
    const ends = view && view.bounds[score.name];
    const shown = (number) => L.number(number, score.digits);
    if (found) {
      const [value, low, high] = found;
      return html`<span class="score">
        <b>${shown(value)}</b>
        ${low != null && html`<span class="ends">[${shown(low)}, ${shown(high)}]</span>`}
        ${whisker && low != null && html`<${Whisker} value=${value} low=${low} high=${high} top=${score.top} />`}
      </span>`;
    }
    if (ends) {
      return html`<span class="score">
        <span class="ends">${shown(ends[0])} … ${shown(ends[1])}</span>
        ${whisker && html`<${Whisker} low=${ends[0]} high=${ends[1]} top=${score.top} open />`}
      </span>`;
    }
    return html`<span class="none">–</span>`;
  }

  function Whisker({ value, low, high, top, open }) {
    const at = (number) => 2 + (96 * Math.max(0, Math.min(top, number))) / top;
    const sort = `whisker${open ? " open" : ""}`;
    return html`<svg class=${sort} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <line class="track" x1="2" x2="98" y1="5" y2="5" />
      <line class="range" x1=${at(low)} x2=${Math.max(at(high), at(low) + 0.5)} y1="5" y2="5" />
      ${value != null && html`<line class="point" x1=${at(value)} x2=${at(value)} y1="1" y2="9" />`}
    </svg>`;
  }

  // A small picture, or a note if there is none.
  function Pic({ sha, alt, children, eager }) {
    const [gone, setGone] = useState(false);
    if (!sha || gone) {
      return html`<span class="nopic">${children || (gone ? "The picture is missing" : "No picture")}</span>`;
    }
    return html`<img
      src=${L.small(sha)}
      alt=${alt}
      loading=${eager ? "eager" : "lazy"}
      decoding="async"
      onError=${() => setGone(true)}
    />`;
  }

  // Lines and regions over a picture, in its own pixels; rotated if the browser has rotated it.
  function Overlay({ size, boxes, turned }) {
    const [width, height] = turned ? [size[1], size[0]] : size;
    const shapes = boxes.flatMap((found) =>
      found.boxes.map(
        ([corners, words]) => html`<polygon class=${found.sort === "ocr" ? "line" : "region"} points=${corners.join(" ")}>
          <title>${words || found.sort}</title>
        </polygon>`,
      ),
    );
    const box = `0 0 ${width} ${height}`;
    return html`<svg class="overlay" viewBox=${box} preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>`;
  }

  // A reference graph: what is shown, missing or undecided; without marks, what must be shown.
  function Graph({ graph, entities, marks }) {
    const id = useRef(`g${Math.random().toString(36).slice(2)}`).current;
    const SIGNS = { met: "✓ ", unmet: "✗ ", open: "? ", plain: "" };
    const TOLD = { met: ": shown", unmet: ": missing", open: ": not decided", plain: "" };
    const sort = (...places) => {
      if (!marks) return "plain";
      const values = places.map((place) => marks.get(place)?.value).filter((value) => value != null);
      return values.length ? (Math.max(...values) > 0 ? "met" : "unmet") : "open";
    };
    const edges = graph.edges.map((edge) => {
      const name = sort(entities + edge.dependency);
      const arrow = `url(#${id}${name})`;
      return html`<path
        class=${`edge ${name}`}
        d=${edge.path}
        marker-end=${arrow}
        marker-start=${edge.both ? arrow : undefined}
      >
        <title>${edge.name}${TOLD[name]}</title>
      </path>`;
    });
    const nodes = graph.nodes.map((node) => {
      const name = sort(...node.entities);
      const y = (n) => node.y + (n - (node.lines.length - 1) / 2) * 17 + 4.5;
      const line = (words, n) => (n === 0 ? SIGNS[name] : "") + words;
      return html`<g class=${`node ${name}`}>
        <title>${node.name}${TOLD[name]}</title>
        <rect x=${node.x - node.w / 2} y=${node.y - node.h / 2} width=${node.w} height=${node.h} rx="7" />
        ${node.lines.map((words, n) => html`<text x=${node.x} y=${y(n)} text-anchor="middle">${line(words, n)}</text>`)}
      </g>`;
    });
    const arrows = ["plain", "met", "unmet", "open"].map(
      (name) => html`<marker
        id=${id + name}
        class=${name}
        viewBox="0 0 10 10"
        refX="9"
        refY="5"
        markerWidth="8"
        markerHeight="8"
        orient="auto-start-reverse"
      >
        <path d="M0 0L10 5L0 10z" />
      </marker>`,
    );
    const counted = `${graph.nodes.length} entities and ${graph.edges.length} dependencies`;
    return html`<div class="scroll graphbox" tabindex="0" role="region" aria-label="Knowledge graph">
        <svg
          class="graph"
          width=${graph.width}
          height=${graph.height}
          viewBox=${`0 0 ${graph.width} ${graph.height}`}
          role="img"
          aria-label=${`Graph of ${counted}; the list of criteria has the same content as text`}
        >
          <defs>${arrows}</defs>
          ${edges}${nodes}
        </svg>
      </div>
      ${marks &&
      html`<p class="legend">
          <span class="mark met">✓ shown</span>
          <span class="mark unmet">✗ missing, dashed</span>
          <span class="mark open">? not decided, dotted</span>
        </p>
        <p class="soft">A dependency counts only if both of its entities are shown.</p>`}`;
  }

  // A long text: the beginning, and a button for the rest.
  function Long({ children, limit = 900 }) {
    const [all, setAll] = useState(false);
    const words = String(children ?? "");
    if (words.length <= limit * 1.3) return html`<p class="prose"><${Name}>${words}<//></p>`;
    return html`<p class="prose"><${Name}>${all ? words : words.slice(0, limit) + " …"}<//></p>
      <button type="button" onClick=${() => setAll((before) => !before)} aria-expanded=${all}>
        ${all ? "Show less" : "Show all"}
      </button>`;
  }

  // Choices with their names. An option is a pair of value and words, or a group of such pairs with a name.
  function Choice({ name, value, options, onChange }) {
    const pick = ([key, shown]) => html`<option value=${key}>${shown}</option>`;
    const one = (option) =>
      option.options ? html`<optgroup label=${option.name}>${option.options.map(pick)}</optgroup>` : pick(option);
    return html`<label class="field">
      <span>${name}</span>
      <select value=${value} onChange=${(event) => onChange(event.target.value)}>
        ${options.map(one)}
      </select>
    </label>`;
  }

  // A filter that is stored in the address after the #, under `at`.
  function Filter({ name, at, params, options, onChange, any = "All" }) {
    const change = (value) => onChange({ [at]: value });
    const all = [["", any], ...options];
    return html`<${Choice} name=${name} value=${params[at] || ""} options=${all} onChange=${change} />`;
  }

  const Check = ({ name, on, onChange }) =>
    html`<label class="check">
      <input type="checkbox" checked=${on} onChange=${(event) => onChange(event.target.checked)} />${" "}
      <span>${name}</span>
    </label>`;

  const Search = ({ name, value, onInput, hint }) =>
    html`<label class="field grow">
      <span>${name}</span>
      <input
        type="search"
        value=${value}
        placeholder=${hint || ""}
        onInput=${(event) => onInput(event.target.value)}
      />
    </label>`;

  // Further filters: open if there is room, folded on a phone.
  function More({ children, on }) {
    const wide = useRef(matchMedia("(min-width: 700px)").matches).current;
    return html`<details class="filters" open=${wide || on}>
      <summary>Filters</summary>
      <div class="bar">${children}</div>
    </details>`;
  }

  // Which questions match the chosen tags and words.
  function fitting(exam, questions, texts, params) {
    const tags = Object.keys(params)
      .filter((name) => name.startsWith("t.") && exam.tags[name.slice(2)])
      .map((name) => [questions.tags[name.slice(2)], exam.tags[name.slice(2)].indexOf(params[name])]);
    const words = (params.s || "").toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const text = (q) => (texts ? texts[q] : `${questions.id[q]} ${questions.prompt[q]}`.toLocaleLowerCase());
    return questions.id.map(
      (id, q) => tags.every(([column, value]) => column[q] === value) && words.every((word) => text(q).includes(word)),
    );
  }

  // A question in a list: a small picture, its id and the beginning of its prompt.
  const Listed = ({ list, q, d, image }) => html`<a class="listed" href=${questionLink(list.key[q], d)}>
    <${Pic} sha=${image || list.reference[q]} alt="" />
    <span>
      <${Name}>${list.id[q]}<//>
      <span class="soft clip"><${Name}>${list.prompt[q]}<//></span>
    </span>
  </a>`;

  const questionLink = (key, drawing) => `question.html${L.address({ q: key, d: drawing })}`;
  const painterLink = (painter) => `painter.html${L.address({ p: painter.key })}`;
  const paintersToChoose = (exam) => exam.painters.map((painter) => [painter.key, painter.row]);
  const toChoose = (values) => values.map((value) => [value, L.words(value)]);

  const waysToChoose = (exam) => exam.ways.map((way) => [String(way.number), way.name]);

  // The numbers by which a painter is compared, and a score's value for sorting.
  const compared = (exam, row) => {
    const { common, all } = row.views;
    return exam.on === "common" && common && common.n ? common : all;
  };
  function sortable(view, score) {
    const found = view && view.scores[score.name];
    const ends = view && view.bounds[score.name];
    if (found) return Number(found[0].toFixed(score.digits)); // Equal as printed is equal.
    return ends ? ends[0] + ends[1] / 1e6 : undefined;
  }

  function useTitle(words) {
    useEffect(() => {
      document.title = words;
    }, [words]);
  }

  Object.assign(L, {
    Name, Warning, Trust, TrustOf, Mark, Score, Pic, Listed, Overlay, Graph, Long, Choice, Filter, Check, Search, More,
    fitting, questionLink, painterLink, paintersToChoose, toChoose, waysToChoose, compared, sortable,
    useTitle,
  }); // prettier-ignore
})();
