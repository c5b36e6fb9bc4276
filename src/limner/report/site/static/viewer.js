// A viewer for several pictures that zoom and pan together, by mouse, touch and keys, with overlays.
"use strict";

(() => {
  const { html, Picture } = L;
  const { useState, useLayoutEffect, useRef } = preactHooks;

  // One CSS rule moves all pictures together; no element has its own style.
  const rule = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, rule];
  const MOST = 16; // The largest zoom, relative to the picture that fits.
  const WHOLE = { scale: 1, x: 0.5, y: 0.5 };

  // A view: the zoom relative to the picture that fits, and the point in the middle (as shares of the sides).
  function viewOf({ scale, x, y }) {
    const size = Math.max(1, Math.min(MOST, scale));
    const reach = 0.5 / size; // Half of the visible part: its edge stays within the picture.
    const within = (share) => Math.max(reach, Math.min(1 - reach, share));
    return { scale: size, x: within(x), y: within(y) };
  }
  // Zoom by a factor so that the point under the pointer (u, v from the middle, in shares of the sides) stays there.
  const zoomed = (view, factor, u = 0, v = 0) => {
    const scale = Math.max(1, Math.min(MOST, view.scale * factor));
    const by = 1 / view.scale - 1 / scale;
    return viewOf({ scale, x: view.x + u * by, y: view.y + v * by });
  };
  const moved = (view, u, v) => viewOf({ ...view, x: view.x - u / view.scale, y: view.y - v / view.scale });

  // The view and its changes, shared by all panes.
  function useView(restart) {
    const [kept, setKept] = useState({ of: restart, view: WHOLE });
    const at = useRef(restart); // A change applies to what is shown now, not to what was shown before.
    at.current = restart;
    const viewed = ({ of, view }) => (of === at.current ? view : WHOLE);
    const set = (change) => setKept((before) => ({ of: at.current, view: change(viewed(before)) }));
    const view = viewed(kept);
    useLayoutEffect(() => {
      const to = (share) => `${((0.5 - share) * 100).toFixed(4)}%`;
      rule.replaceSync(`.sheet { transform: scale(${view.scale}) translate(${to(view.x)}, ${to(view.y)}); }`);
    }, [view]);
    return { view, set, zoom: (factor) => set((now) => zoomed(now, factor)), whole: () => set(() => WHOLE) };
  }

  // Keys of every viewer; returns whether one was handled. Arrows pan with Shift; alone they go to the next picture.
  function viewerKey(event, look) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const step = 0.15;
    const pan = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[event.key];
    if (event.key === "+" || event.key === "=") look.zoom(1.5);
    else if (event.key === "-" || event.key === "_") look.zoom(1 / 1.5);
    else if (event.key === "0") look.whole();
    else if (pan && event.shiftKey) look.set((now) => moved(now, ...pan));
    else return false;
    event.preventDefault();
    return true;
  }
  const typing = ({ target }) =>
    ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) && target.type !== "checkbox"; // A tick takes no letters.

  // Mouse and touch on one pane. Shares refer to the fitted picture, so that panes of different pictures move together.
  function useHands(pane, look) {
    const down = useRef(new Map());
    useLayoutEffect(() => {
      const box = pane.current;
      const frame = () => box.querySelector(".frame") || box;
      const sides = () => [frame().offsetWidth || 1, frame().offsetHeight || 1];
      const from = (x, y) => {
        const { left, top, width, height } = box.getBoundingClientRect();
        const [w, h] = sides();
        return [(x - left - width / 2) / w, (y - top - height / 2) / h];
      };
      const wheel = (event) => {
        // The wheel scrolls the page unless a picture is enlarged; with Ctrl (or two fingers on a touchpad) it zooms.
        if (!event.ctrlKey && box.dataset.scale === "1") return;
        event.preventDefault();
        const factor = Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / (event.ctrlKey ? 60 : 180));
        look.set((now) => zoomed(now, factor, ...from(event.clientX, event.clientY)));
      };
      const span = () => {
        const [a, b] = [...down.current.values()];
        return { far: Math.hypot(a.x - b.x, a.y - b.y) || 1, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      };
      const press = (event) => {
        if (event.button > 0) return;
        down.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
        if (box.dataset.scale !== "1" || down.current.size > 1) box.setPointerCapture(event.pointerId);
      };
      const drag = (event) => {
        const before = down.current.get(event.pointerId);
        if (!before) return;
        const now = { x: event.clientX, y: event.clientY };
        if (down.current.size === 2) {
          const was = span();
          down.current.set(event.pointerId, now);
          const is = span();
          const [w, h] = sides();
          look.set((view) =>
            moved(zoomed(view, is.far / was.far, ...from(is.x, is.y)), (is.x - was.x) / w, (is.y - was.y) / h),
          );
        } else {
          down.current.set(event.pointerId, now);
          const [w, h] = sides();
          look.set((view) => (view.scale > 1 ? moved(view, (now.x - before.x) / w, (now.y - before.y) / h) : view));
        }
      };
      const lift = (event) => down.current.delete(event.pointerId);
      const twice = (event) => {
        event.preventDefault();
        const at = from(event.clientX, event.clientY);
        look.set((now) => (now.scale > 1 ? WHOLE : zoomed(now, 3, ...at)));
      };
      const hands = { pointerdown: press, pointermove: drag, pointerup: lift, pointercancel: lift, dblclick: twice };
      box.addEventListener("wheel", wheel, { passive: false });
      for (const [name, act] of Object.entries(hands)) box.addEventListener(name, act);
      return () => {
        box.removeEventListener("wheel", wheel);
        for (const [name, act] of Object.entries(hands)) box.removeEventListener(name, act);
      };
    }, []);
  }

  // One of several pictures, with its name above.
  function Pane({ name, picture, size, boxes = [], alt, look, absent, children, sort = "" }) {
    const pane = useRef(null);
    const { scale } = look.view;
    useHands(pane, look);
    return html`<figure class=${`pane ${sort}`}>
      <figcaption>${name}</figcaption>
      <div class=${`glass${scale > 1 ? " near" : ""}`} ref=${pane} data-scale=${scale.toFixed(3).replace(/\.?0+$/, "")}>
        ${picture
          ? html`<div class="sheet">
              <${Picture} key=${picture.sha} picture=${picture} size=${size} boxes=${boxes} full alt=${alt} />
            </div>`
          : html`<p class="nopic">${absent || "No picture"}</p>`}
      </div>
      ${children}
    </figure>`;
  }

  // Zoom buttons for the mouse.
  function ZoomButtons({ look }) {
    const { scale } = look.view;
    return html`<div class="zoom" role="group" aria-label="Zoom">
      <button type="button" onClick=${() => look.zoom(1 / 1.5)} disabled=${scale <= 1} aria-label="Smaller">−</button>
      <output aria-label="Enlarged">${Math.round(scale * 100)}%</output>
      <button type="button" onClick=${() => look.zoom(1.5)} disabled=${scale >= MOST} aria-label="Larger">+</button>
      <button type="button" onClick=${look.whole} disabled=${scale <= 1}>Whole</button>
    </div>`;
  }

  // The line that lists the keys and what they do.
  const Keys = ({ keys }) => html`<p class="keys">
    ${keys.map(([names, what]) => html`<span>${names.map((key) => html`<kbd>${key}</kbd> `)}${what}</span>`)}
  </p>`;
  const ZOOM_KEYS = [
    [["+", "−"], "zoom"],
    [["0"], "whole"],
    [["Shift", "arrows"], "pan"],
  ];

  // The visible layers of lines and regions, with their boxes, loaded on first use.
  function useLayers(question, sorts) {
    const [layers, setLayers] = useState(() => new Set());
    const file = L.useFile(layers.size > 0 && sorts.length > 0 && `boxes/${question}`);
    const found = file.parts || [];
    const set = (sort, on) =>
      setLayers((before) => {
        const after = new Set(before);
        if (on ?? !before.has(sort)) after.add(sort);
        else after.delete(sort);
        return after;
      });
    return {
      layers,
      boxes: found,
      set,
      toggle: (sort) => set(sort),
      over: (image) => found.filter((box) => image && box.image === image.sha && layers.has(box.sort)),
    };
  }

  Object.assign(L, { useView, viewerKey, typing, Pane, ZoomButtons, Keys, ZOOM_KEYS, useLayers });
})();
