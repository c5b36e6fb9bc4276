// One item: what it is about, the form of its version, what can be done, and what others did.
"use strict";

const root = document.getElementById("review");
const { base, item, csrf, next } = root.dataset;
const at = (id) => document.getElementById(id);
const address = (what) => `${base}/${what}/${item.split("/").map(encodeURIComponent).join("/")}`;
const draft = `limner-review ${location.pathname}`;
let now = null;
let made = null;
let sending = false;

function say(words, done = false) {
  const notice = at("notice");
  notice.textContent = words;
  notice.classList.toggle("done", done);
  notice.hidden = !words;
  if (words) notice.scrollIntoView({ block: "nearest" });
}

function changed() {
  return JSON.stringify(made.read()) !== JSON.stringify(now.state);
}

function kept() {
  try {
    const found = JSON.parse(localStorage.getItem(draft));
    return found && found.base === now.base ? found.state : null;
  } catch { return null; }
}

function keep() {
  try {
    if (changed()) localStorage.setItem(draft, JSON.stringify({ base: now.base, state: made.read() }));
    else localStorage.removeItem(draft);
  } catch { /* A browser that keeps nothing. */ }
}

function forget() {
  try { localStorage.removeItem(draft); } catch { /* As above. */ }
}

function button(words, run, kind) {
  const node = element("button", { type: "button", class: kind }, words);
  node.addEventListener("click", run);
  return node;
}

async function send(action, more = {}) {
  const comment = at("comment").value;
  const sent = JSON.stringify(made.read());
  sending = true;
  held();
  let found;
  try {
    const answer = await fetch(address("act"), {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", "x-limner-csrf": csrf },
      body: JSON.stringify({ action, base: now.base, seen: now.seen, comment, ...more }),
    });
    found = { status: answer.status, ...(await answer.json()) };
  } catch {
    found = { status: 0, error: "The server cannot be reached. Your text is still here; try again." };
  }
  sending = false;
  held();
  if (found.status === 200) {
    // Text written since, or not part of a comment, is put back into the form and waits to be saved.
    const open = action === "comment" ? changed() : JSON.stringify(made.read()) !== sent;
    const text = open ? made.read() : null;
    forget();
    if (at("comment").value === comment) at("comment").value = "";
    show({ ...found.now, fields: now.fields }, text);
    if (text) keep();
    say(action === "comment" ? "Your comment is saved." : "Saved. Thank you.", true);
  } else if (found.status === 409) {
    conflict(found);
  } else {
    say(found.error);
    buttons();
  }
}

// While something is on its way, no button sends more.
function held() {
  for (const one of root.querySelectorAll("button")) one.disabled = sending;
}

function conflict(found) {
  const fields = now.fields;
  say(found.error);
  const box = at("buttons");
  box.replaceChildren(
    button("Show the item as it is now", () => { show({ ...found.now, fields }); say(""); }, "main"),
    button("Keep my text as a separate version", () => { show({ ...found.now, fields }, made.read()); say("Your text is in the form again. Check the rest, then save it."); }),
  );
}

function buttons() {
  const edited = changed();
  const box = at("buttons");
  const accept = button("Accept as it is", () => send("accept"), edited ? "" : "main");
  accept.disabled = edited;
  const save = button("Save my changes", () => send("save", { state: made.read() }), edited ? "main" : "");
  save.disabled = !edited;
  box.replaceChildren(accept, save, button("Reject", () => send("reject")), button("Only comment", () => send("comment")));
  if (now.settles) box.append(button("Decide for this version", () => send("settle", edited ? { state: made.read() } : {})));
  if (edited) box.append(button("Undo my changes", () => { forget(); show(now); }));
  if (next) box.append(element("a", { class: "button", href: `${base}/item/${next.split("/").map(encodeURIComponent).join("/")}` }, "Next item"));
  if (sending) held();
}

function beside() {
  const box = at("beside");
  box.replaceChildren();
  if (now.warnings.length) box.append(element("h2", {}, "To look at"), element("ul", {}, ...now.warnings.map((one) => element("li", {}, one))));
  for (const sha of now.pictures) {
    box.append(element("h2", {}, "Picture"), element("img", { src: `${base}/picture/${sha}/${encodeURI(item)}`, alt: "The picture this item is about" }));
  }
  for (const name of now.drawings) {
    box.append(element("h2", {}, name.replaceAll("_", " ").replace(" svg", "")), element("img", { src: `${base}/drawing/${name}/${encodeURI(item)}`, alt: name }));
  }
  for (const [name, words] of now.texts) {
    const open = words.length < 600;
    box.append(element("details", { open }, element("summary", {}, name.replaceAll("_", " ")), element("pre", {}, words)));
  }
}

function others() {
  const box = at("others");
  box.replaceChildren();
  if (now.others.length) box.append(element("h2", {}, "Other versions"));
  for (const other of now.others) {
    const by = other.by.length ? other.by.join(", ") : "nobody now";
    const version = element("div", { class: "version" }, element("strong", {}, other.state ? `Chosen by ${by}` : `Rejected by ${by}`));
    if (other.state) {
      const list = element("ul");
      for (const [path, from, to] of differences(now.state, other.state)) {
        const words = (one) => (one === undefined ? "nothing" : typeof one === "string" ? one : JSON.stringify(one));
        list.append(element("li", {}, `${path}: `, element("del", {}, words(from)), " ", element("ins", {}, words(to))));
      }
      version.append(list, button("Choose this version", () => send("accept", { base: other.base })));
    }
    if (now.settles) version.append(button(other.state ? "Decide for this version" : "Decide: reject", () => send("settle", { base: other.base })));
    box.append(version);
  }
}

function history() {
  const list = at("history");
  list.replaceChildren(...now.history.map((one) => element("li", {},
    `${new Date(one.when * 1000).toLocaleString()}: ${one.who}: ${one.action}${one.fields.length ? ` (${one.fields.join(", ")})` : ""}${one.comment ? `: ${one.comment}` : ""}`)));
  if (!now.history.length) list.append(element("li", { class: "soft" }, "You will see the others' work after you have judged."));
}

function show(found, text = null) {
  now = found;
  const mine = now.mine === null ? "You have not judged it." : now.mine === "rejected" ? "You have rejected it." : "You chose the version below.";
  const verdicts = { open: "It is waiting", disputed: "Reviewers disagree", accepted: "It is accepted", rejected: "It is rejected" };
  at("standing").textContent = `${verdicts[now.verdict]}: ${now.judged} of ${now.needed} have judged. ${mine}`;
  const form = at("form");
  const draw = (value) => {
    made = part(value, [], now.fields);
    form.replaceChildren(made.node);
  };
  draw(text || kept() || now.state);
  beside();
  others();
  history();
  buttons();
}

at("form").addEventListener("input", () => { keep(); buttons(); });
at("form").addEventListener("submit", (event) => event.preventDefault());
fetch(address("data"), { headers: { accept: "application/json" } })
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(String(answer.status)))))
  .then((found) => show(found))
  .catch(() => say("The item cannot be loaded. Load the page again."));
