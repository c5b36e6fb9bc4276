// Loading data, addresses, formatting numbers. Everything that scripts share is in `L`.
"use strict";

// Data files call this: one call for each part of a file, which is JSON.
function limner(name, text) {
  L.received(name, JSON.parse(text));
}

const L = (() => {
  const html = htm.bind(preact.h);
  const root = document.documentElement.dataset.root;
  const built = document.documentElement.dataset.built;
  const parts = new Map();
  const loading = new Map();
  const files = new Map();
  const NOTHING = {};

  function received(name, part) {
    if (!parts.has(name)) parts.set(name, []);
    parts.get(name).push(part);
  }

  // The parts of a data file. Names may come from the address bar, so only plain ones are accepted.
  function load(name) {
    if (!/^[a-z]+(\/[A-Za-z0-9_-]{1,60})?$/.test(name)) return Promise.reject(new Error("There is nothing at this address."));
    if (!loading.has(name)) {
      loading.set(
        name,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = `data/${name}.js?v=${built}`;
          script.onload = () => resolve(parts.get(name) || []);
          script.onerror = () => reject(new Error(`There is no file data/${name}.js. Was the whole folder copied?`));
          document.head.append(script);
        }),
      );
    }
    return loading.get(name);
  }

  // A data file for a component: {parts} once it is loaded, {wrong} if it cannot be loaded, {} until then. A loaded file
  // is returned at once, and a late file is never taken for another one.
  function useFile(name) {
    const [, redraw] = preactHooks.useState(0);
    const there = files.has(name);
    preactHooks.useEffect(() => {
      if (!name || there) return;
      const came = (file) => {
        files.set(name, file);
        redraw((times) => times + 1);
      };
      load(name).then((found) => came({ parts: found }), (error) => came({ wrong: error.message })); // prettier-ignore
    }, [name]);
    return files.get(name) || NOTHING;
  }

  // Join columns that came in several parts: {start, a: [...], b: {x: [...]}, c: [[...], ...]}.
  function joined(found) {
    const whole = {};
    for (const part of found) {
      for (const [name, value] of Object.entries(part)) {
        if (name === "start") continue;
        if (name === "tags") {
          whole.tags = whole.tags || Object.create(null); // A tag may have any name.
          for (const tag of Object.keys(value)) whole.tags[tag] = (whole.tags[tag] || []).concat(value[tag]);
        } else if (name === "met") {
          whole.met = value.map((column, way) => (whole.met ? whole.met[way] : []).concat(column));
        } else {
          whole[name] = (whole[name] || []).concat(value);
        }
      }
    }
    return whole;
  }

  // The address after the #, as a plain object. It is stored and changed only here: a change applies to the current
  // state, never to what the page showed when its button was rendered, and the page is rendered again before the next
  // key or click. The address bar follows; it is read only if something else has changed it.
  const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  function kept(found) {
    const some = Object.entries(found).filter(([, value]) => value !== "" && value != null && value !== false);
    return Object.fromEntries(some.map(([name, value]) => [name, String(value)]));
  }
  const address = (found) => "#" + new URLSearchParams(kept(found)).toString();
  const listeners = new Set();
  let now = read();
  let written = location.hash;
  let later = 0;
  function params() {
    if (location.hash !== written) {
      written = location.hash; // Changed by a link, the history, or by hand.
      clearTimeout(later);
      now = read();
    }
    return now;
  }
  const tell = () => listeners.forEach((set) => set(params()));
  addEventListener("hashchange", tell);
  function write(push) {
    clearTimeout(later);
    try {
      history[push ? "pushState" : "replaceState"](null, "", address(now));
    } catch {
      // Browsers limit the rate of changes, and throw or ignore the rest: try again later.
    }
    written = location.hash;
    if ((written || "#") !== address(now)) later = setTimeout(write, 1000, false);
  }
  // Change parts of it, or with a function all of it: it gets the current state and returns the new one. A pushed change
  // can be undone with the browser's back button.
  function change(what, push = false) {
    const before = params();
    now = kept(typeof what === "function" ? what(before) : { ...before, ...what });
    write(push);
    tell();
  }
  function useParams() {
    const [found, set] = preactHooks.useState(params);
    preactHooks.useLayoutEffect(() => {
      listeners.add(set);
      set(params());
      return () => listeners.delete(set);
    }, []);
    return found;
  }

  const number = (value, digits) => (value == null ? "–" : value.toFixed(digits));
  // The answer key is right by construction; every other judge without a certificate was not examined.
  const unexamined = (judge) => (judge === "key" ? "the answer key" : "not examined");
  const percent = (value) => (value == null ? "–" : `${Math.round(value * 100)}%`);
  const count = (value) => value.toLocaleString("en");
  const many = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
  const money = (value) => (value == null ? "not known" : `$${value.toFixed(value >= 100 ? 0 : value >= 1 ? 2 : 4)}`);
  // The price of one drawing: unknown, free, or dollars.
  const price = (value) => {
    if (value == null) return "unknown";
    if (value === 0) return "free";
    return `$${value >= 0.1 ? value.toFixed(2) : value >= 0.01 ? value.toFixed(3) : value.toPrecision(2)}`;
  };
  const day = (time) =>
    time == null ? "–" : new Date(time * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
  const words = (name) => String(name).replaceAll("_", " ");
  const ordinal = (n) => n + (n % 100 > 10 && n % 100 < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th");

  const small = (sha) => `${root}thumbs/${sha.slice(0, 2)}/${sha}.jpg`;
  const large = (picture) =>
    picture.large ? `${root}images/${picture.sha.slice(0, 2)}/${picture.sha}.${picture.large}` : small(picture.sha);

  // Show a page: wait for its data, then render its component; show an error if something is missing.
  function show(Page, ...names) {
    const main = document.getElementById("main");
    const skip = document.querySelector(".skip");
    skip.addEventListener("click", (event) => {
      event.preventDefault(); // The page itself uses the part after the #.
      main.focus();
    });
    return Promise.all(names.map((name) => (typeof name === "string" ? load(name) : name)))
      .then((found) => {
        main.replaceChildren();
        preact.render(html`<${Page} data=${found} />`, main);
        performance.mark("limner-ready");
        document.documentElement.dataset.ready = "yes";
      })
      .catch((error) => {
        main.replaceChildren(
          Object.assign(document.createElement("p"), { className: "wrong", textContent: error.message }),
        );
        document.documentElement.dataset.ready = "no";
      });
  }

  return {
    html,
    root,
    received,
    load,
    useFile,
    joined,
    address,
    change,
    useParams,
    show,
    number,
    percent,
    unexamined,
    count,
    many,
    money,
    price,
    day,
    words,
    ordinal,
    small,
    large,
  };
})();
