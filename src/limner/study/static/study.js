"use strict";
// Every click goes into a queue in local storage, and leaves it once the server has committed it.
(() => {
  let root = document.getElementById("study");
  const base = root.dataset.base;
  const csrf = root.dataset.csrf;
  const ahead = Number(root.dataset.now) - Date.now() / 1000;
  const store = `limner-queue:${csrf.slice(0, 16)}`;
  const pages = new Map();
  const undone = [];
  let sending = null, asked = 0, wait = 0, timer = 0, since = Date.now(), current = null;

  const all = (what, where = root) => [...where.querySelectorAll(what)];
  const one = (what, where = root) => where.querySelector(what);
  const place = () => Number(root.dataset.n);
  const kept = () => { try { return JSON.parse(localStorage.getItem(store)) || []; } catch { return []; } };
  let queue = kept();
  const keep = () => { try { localStorage.setItem(store, JSON.stringify(queue)); } catch { /* it stays in memory */ } };

  function say(words, waits = false) {
    const state = document.getElementById("state");
    if (state.textContent !== words) state.textContent = words;
    state.classList.toggle("waits", waits);
    document.documentElement.dataset.waiting = String(queue.length);
  }

  // Resolves once the queue is sent, or cannot be sent now.
  function send() {
    clearTimeout(timer);
    if (queue.length) sending ??= deliver();
    else say("All answers are saved");
    return sending;
  }
  async function deliver() {
    while (queue.length && await post(queue.slice(0, 100)));
    sending = null;
  }
  async function post(batch) {
    try {
      const answer = await fetch(`${base}/answers`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json", "X-Limner-CSRF": csrf },
        body: JSON.stringify({ answers: batch }),
        signal: AbortSignal.timeout(15000),
      });
      if (answer.status === 409) { say("This study is closed and takes no more answers", true); return false; }
      if (!answer.ok) throw new Error(String(answer.status));
      const said = await answer.json();
      const settled = new Set([...said.saved, ...said.refused].map((each) => each.id));
      queue = queue.filter((each) => !settled.has(each.id));
      keep();
      for (const each of said.saved) {
        mark(each.n, each.done);
        if (pages.delete(each.n)) load(each.n).catch(() => {}); // The page was fetched before this answer was saved.
      }
      wait = 0;
      if (said.refused.length) say(`Not saved: ${said.refused[0].why}`, true);
      else if (!queue.length) say("All answers are saved");
      return true;
    } catch {
      wait = Math.min(15000, wait ? wait * 2 : 500);
      const many = queue.length === 1 ? "1 answer is" : `${queue.length} answers are`;
      say(`No connection: ${many} stored on this device and will be sent later`, true);
      timer = setTimeout(send, wait);
      return false;
    }
  }

  // The places known to be done; their number starts from the server's count.
  const known = new Map();
  let count = Number(root.dataset.done);
  function mark(n, done) {
    if (known.has(n) && known.get(n) !== done) count += done ? 1 : -1;
    known.set(n, done);
    document.getElementById("progress").value = count;
  }

  function put(field, value, more = {}) {
    const at = Date.now();
    const id = `${at.toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
    const seconds = Math.round((at - since) / 100) / 10;
    since = at;
    queue = queue.filter((each) => !(each.n === place() && each.field === field && !sending));
    queue.push({ id, n: place(), field, value, seconds, at: at / 1000 + ahead, ...more });
    keep();
    say("Saving…");
    pages.delete(place());
    send();
  }

  const fields = () => all(".field");
  function read(field) {
    if (field.dataset.kind === "listing") return field.dataset.value ? JSON.parse(field.dataset.value) : null;
    const chosen = one("input:checked", field);
    return chosen ? JSON.parse(chosen.dataset.json) : null;
  }
  function write(field, value) {
    if (field.dataset.kind === "listing") {
      field.dataset.value = value ? JSON.stringify(value) : "";
      list(field);
    } else {
      for (const input of all("input", field)) input.checked = value !== null && JSON.parse(input.dataset.json) === value;
    }
    field.dataset.before = JSON.stringify(value);
    field.classList.toggle("answered", settled(field));
    const rest = document.getElementById("rest"); // The first answer comes before the others are seen.
    if (rest && field === fields()[0]) rest.hidden = !settled(field);
  }
  function settled(field) {
    const value = read(field);
    return value !== null && (field.dataset.kind !== "listing" || value.done);
  }

  const before = (field) => JSON.parse(field.dataset.before ?? "null");
  function remember(changes) {
    undone.push({ n: place(), changes });
    document.getElementById("undo").disabled = false;
  }
  function set(field, value) {
    write(field, value);
    put(field.dataset.field, value);
  }
  function answer(field, value) {
    const changed = [field];
    // Each rank is given once: the drawing that had it loses it.
    if (field.dataset.kind === "rank") changed.push(...fields().filter((other) => other !== field && before(other) === value));
    // What is not there has no parts.
    const parts = value === 0 ? fields().filter((other) => other.dataset.gate === field.dataset.field) : [];
    remember([...changed, ...parts].map((each) => ({ field: each.dataset.field, value: before(each) })));
    for (const other of changed.slice(1)) set(other, null);
    for (const other of parts) set(other, 0);
    set(field, value);
  }

  function turn(field, focus = true) {
    for (const each of fields()) each.classList.toggle("now", each === field);
    current = field;
    if (!field) { if (focus) document.getElementById("next").focus(); return; }
    if (!focus) return;
    const target = one("input:checked", field) || one("input, select, button", field);
    target.focus({ preventScroll: true });
    field.scrollIntoView({ block: "nearest" });
  }
  const following = (field) => {
    const list = fields(), start = list.indexOf(field) + 1;
    return [...list.slice(start), ...list.slice(0, start)].find((each) => !settled(each)) || null;
  };

  function list(field) {
    const value = read(field) || { items: [], done: false };
    const things = one(".things", field);
    things.replaceChildren(...value.items.map((thing, n) => {
      const line = document.createElement("li"), words = document.createElement("span"), drop = document.createElement("button");
      words.textContent = `${thing.sort}: ${thing.item} (${thing.place})`;
      drop.type = "button";
      drop.textContent = "Remove";
      drop.setAttribute("aria-label", `Remove ${thing.item}`);
      drop.addEventListener("click", () => {
        const items = value.items.filter((_, m) => m !== n);
        answer(field, { items, done: value.done });
      });
      line.append(words, drop);
      return line;
    }));
    one("[data-act=done]", field).setAttribute("aria-pressed", String(value.done));
  }

  function listing(field) {
    list(field);
    const part = (name) => one(`[data-part=${name}]`, field);
    const now = () => read(field) || { items: [], done: false };
    const add = () => {
      const thing = { sort: part("sort").value, item: part("item").value.trim(), place: part("place").value.trim() };
      if (!thing.item || !thing.place) { (thing.item ? part("place") : part("item")).focus(); return; }
      answer(field, { items: [...now().items, thing], done: false });
      part("item").value = part("place").value = "";
      part("item").focus();
    };
    one("[data-act=add]", field).addEventListener("click", add);
    for (const name of ["item", "place"]) part(name).addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); add(); }
    });
    one("[data-act=done]", field).addEventListener("click", () => {
      answer(field, { items: now().items, done: !now().done });
      if (settled(field)) turn(following(field));
    });
  }

  const skipped = () => document.getElementById("skip-now").getAttribute("aria-pressed") === "true";
  function skip() {
    const box = document.getElementById("reason"), words = box.value.trim(), was = skipped();
    if (!was && !words) { box.focus(); say("Please say why you cannot answer this", true); return; }
    remember([{ field: "skip", value: was ? words : null }]);
    set_skip(was ? null : words);
    if (!was) document.getElementById("next").focus();
  }
  function set_skip(reason) {
    put("skip", reason === null ? null : 1, { reason });
    shown_skip(reason !== null);
  }
  function shown_skip(now) {
    const button = document.getElementById("skip-now");
    button.setAttribute("aria-pressed", String(now));
    button.textContent = now ? "Skipped: undo" : "Skip this one";
  }

  // One after the other: undoing twice undoes the last two answers, in order.
  let undoing = Promise.resolve();
  const undo = () => { undoing = undoing.then(take_back, take_back); };
  async function take_back() {
    const last = undone.pop();
    document.getElementById("undo").disabled = !undone.length;
    if (!last) return;
    if (last.n !== place() && !(await go(last.n))) { undone.push(last); return; }
    for (const change of last.changes) {
      if (change.field === "skip") { set_skip(change.value); continue; }
      const field = fields().find((each) => each.dataset.field === change.field);
      if (field) { set(field, change.value); turn(field); }
    }
  }

  function enlarge(button) {
    const large = document.getElementById("large"), image = one("img", large);
    image.src = button.dataset.zoom;
    image.dataset.scale = "1";
    scale(0);
    large.showModal();
  }
  function scale(by) {
    const image = one("#large img");
    const next = Math.max(0, Math.min(4, Number(image.dataset.scale) + by));
    image.dataset.scale = String(next);
    image.style.width = `${[Math.min(window.innerWidth, window.innerHeight - 70), 900, 1400, 2000, 2800][next]}px`;
  }

  function load(n) {
    if (!pages.has(n)) {
      pages.set(n, fetch(`${base}/${n}`, { headers: { Accept: "text/html" } }).then(async (got) => {
        if (!got.ok || got.redirected) throw new Error("moved");
        const found = new DOMParser().parseFromString(await got.text(), "text/html");
        for (const image of all("figure img", found)) new Image().src = image.getAttribute("src");
        return found;
      }));
      const page = pages.get(n);
      page.catch(() => { if (pages.get(n) === page) pages.delete(n); });
    }
    return pages.get(n);
  }

  async function go(n) {
    const mine = ++asked; // The last requested page is shown, whichever arrives first.
    if (n < 1) return false;
    if (n > Number(root.dataset.of)) {
      await send();
      if (mine !== asked) return false;
      if (queue.length) { say("Your last answers are still being sent. Please try again in a moment", true); return false; }
      location.href = `${base}/end`;
      return true;
    }
    try {
      let page, found;
      do { page = load(n); found = await page; } while (mine === asked && pages.get(n) !== page); // Not one from before the last answer.
      if (mine !== asked) return false;
      pages.delete(n);
      const fresh = document.importNode(found.getElementById("study"), true);
      root.replaceWith(fresh);
      root = fresh;
      document.getElementById("progress").value = count;
      document.title = found.title;
      history.pushState({ n }, "", `${base}/${n}`);
      window.scrollTo(0, 0);
      begin();
      return true;
    } catch {
      say("No connection: the next page cannot be loaded yet. Your answers are stored on this device", true);
      timer = setTimeout(send, 2000);
      return false;
    }
  }

  function begin() {
    since = Date.now();
    root.inert = false; // Until now nothing would have handled a click.
    const waiting = new Map(queue.filter((each) => each.n === place()).map((each) => [each.field, each]));
    for (const field of fields()) {
      const mine = waiting.get(field.dataset.field);
      write(field, mine ? mine.value : read(field));
      if (field.dataset.kind === "listing") listing(field);
      field.addEventListener("change", (event) => {
        if (!event.target.matches("input[type=radio]")) return;
        answer(field, JSON.parse(event.target.dataset.json));
      });
      field.addEventListener("focusin", () => { if (current !== field) turn(field, false); });
      field.addEventListener("click", (event) => {
        if (event.target.matches("input[type=radio]") && event.detail) turn(following(field), false);
      });
    }
    if (waiting.has("skip")) shown_skip(waiting.get("skip").value !== null);
    const done = fields().every(settled) || skipped();
    if (!known.has(place())) known.set(place(), done);
    document.getElementById("undo").disabled = !undone.length;
    document.getElementById("back").addEventListener("click", () => go(place() - 1));
    document.getElementById("undo").addEventListener("click", undo);
    document.getElementById("next").addEventListener("click", () => go(place() + 1));
    document.getElementById("skip-now").addEventListener("click", () => skip());
    for (const button of all(".zoom")) button.addEventListener("click", () => enlarge(button));
    for (const button of all("#large [data-by]")) button.addEventListener("click", () => scale(Number(button.dataset.by)));
    document.getElementById("shut").addEventListener("click", () => document.getElementById("large").close());
    document.getElementById("large").addEventListener("click", (event) => {
      if (event.target.matches("img")) scale(Number(event.target.dataset.scale) > 2 ? -4 : 1);
    });
    turn(fields().find((each) => !settled(each)) || null, false);
    const next = place() + 1;
    if (next <= Number(root.dataset.of)) load(next).catch(() => {});
    document.documentElement.dataset.ready = String(place());
    send();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const large = document.getElementById("large");
    if (large.open) { if (event.key === "+") scale(1); if (event.key === "-") scale(-1); return; }
    if (event.target.matches("input:not([type=radio]), select, textarea")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const choice = current && all("input[type=radio]", current).find((input) => input.dataset.key === key);
    if (choice) {
      event.preventDefault();
      const field = current;
      answer(field, JSON.parse(choice.dataset.json));
      turn(following(field));
      return;
    }
    const toggles = { i: "inputs", r: "reference", p: "prompt", g: "graph", h: "guidelines", s: "skip" };
    if (toggles[key] && document.getElementById(toggles[key])) {
      event.preventDefault();
      const found = document.getElementById(toggles[key]);
      found.open = !found.open;
      if (key === "s" && found.open) document.getElementById("reason").focus();
    } else if (key === "u") { event.preventDefault(); undo();
    } else if (key === "z") { event.preventDefault(); const first = one("figure .zoom") || one(".zoom"); if (first) enlarge(first);
    } else if (key === "Enter" && !event.target.matches("button, summary, a")) { event.preventDefault(); go(place() + 1); }
  });
  window.addEventListener("online", send);
  window.addEventListener("popstate", () => location.reload());
  window.addEventListener("beforeunload", (event) => { if (queue.length) event.preventDefault(); });
  begin();
})();
