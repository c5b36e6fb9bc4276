// A form made of any JSON value, with hints on how its fields are shown. Each part gives {node, read}.
"use strict";

let formNumber = 0;

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

function hintOf(hints, path) {
  return hints[path.map((part) => (typeof part === "number" ? "*" : part)).join(".")] || {};
}

function nameOf(hints, path) {
  const last = path[path.length - 1];
  return hintOf(hints, path).label || (typeof last === "number" ? `${last + 1}` : String(last).replaceAll("_", " "));
}

function labelled(hints, path, input) {
  input.id = `field-${++formNumber}`;
  input.dataset.path = path.join(".");
  return element("div", {}, element("label", { class: "block", for: input.id }, nameOf(hints, path)), input);
}

function part(value, path, hints, beside) {
  const hint = hintOf(hints, path);
  if (hint.kind === "hidden") return { node: element("span", { hidden: true }), read: () => value };
  if (hint.kind === "fixed") {
    const words = element("p", { class: "fixed" }, element("span", { class: "soft" }, `${nameOf(hints, path)}: `), String(value));
    return { node: words, read: () => value };
  }
  if (hint.kind === "choice" || hint.kind === "key") return choice(value, path, hints, hint, beside);
  if (Array.isArray(value)) return value.some((one) => one !== null && typeof one === "object") || value.length === 0
    ? cards(value, path, hints) : lines(value, path, hints);
  if (value !== null && typeof value === "object") return group(value, path, hints);
  if (typeof value === "boolean") {
    const input = element("input", { type: "checkbox", checked: value });
    return { node: labelled(hints, path, input), read: () => input.checked };
  }
  if (typeof value === "number") {
    const input = element("input", { type: "number", step: "any", value });
    return { node: labelled(hints, path, input), read: () => (input.value === "" ? value : Number(input.value)) };
  }
  const long = hint.kind === "long" || (hint.kind !== "line" && String(value || "").length > 60);
  const input = long ? element("textarea", { rows: Math.min(12, 2 + Math.floor(String(value || "").length / 90)) })
    : element("input", { type: "text" });
  input.value = value === null ? "" : value;
  return { node: labelled(hints, path, input), read: () => (value === null && input.value === "" ? null : input.value) };
}

function choice(value, path, hints, hint, beside) {
  const among = hint.kind === "key" ? Object.keys((beside || {})[hint.of] || {}) : hint.choices;
  const input = element("select", {});
  for (const one of among.includes(value) ? among : [value, ...among]) {
    input.append(element("option", { value: one, selected: one === value }, one));
  }
  return { node: labelled(hints, path, input), read: () => input.value };
}

function lines(value, path, hints) {
  const numbers = value.every((one) => typeof one === "number");
  const input = element("textarea", { rows: Math.max(2, value.length) });
  input.value = value.join("\n");
  const read = () => input.value.split("\n").filter((line) => line.trim()).map((line) => (numbers ? Number(line) : line));
  return { node: labelled(hints, path, input), read };
}

function group(value, path, hints) {
  const parts = Object.entries(value).map(([name, one]) => [name, part(one, [...path, name], hints, value)]);
  const flat = Object.values(value).every((one) => typeof one === "string" && one.length < 200);
  const node = element("fieldset", {}, element("legend", {}, nameOf(hints, path)));
  if (flat && path.length) {
    const pairs = element("div", { class: "pairs" });
    for (const [, one] of parts) {
      const [label, input] = one.node.children;
      label.className = "";
      pairs.append(label, input);
    }
    node.append(pairs);
  } else {
    node.append(...parts.map(([, one]) => one.node));
  }
  return { node: path.length ? node : element("div", {}, ...parts.map(([, one]) => one.node)),
    read: () => Object.fromEntries(parts.map(([name, one]) => [name, one.read()])) };
}

function blank(like, others) {
  if (Array.isArray(like)) return [];
  if (like !== null && typeof like === "object") {
    return Object.fromEntries(Object.entries(like).map(([name, one]) => [name, blank(one, others.map((other) => (other || {})[name]))]));
  }
  if (typeof like === "number") return Math.max(0, ...others.filter((one) => typeof one === "number")) + 1;
  return typeof like === "boolean" ? false : "";
}

function cards(value, path, hints) {
  const node = element("fieldset", { class: "list" }, element("legend", {}, nameOf(hints, path)));
  const held = [];
  const add = (one, fresh) => {
    const made = part(one, [...path, held.length], hints, value);
    const card = element("div", { class: fresh ? "card fresh" : "card" }, made.node);
    const entry = { read: made.read };
    const remove = element("button", { type: "button" }, `Remove ${nameOf(hints, [...path, held.length])}`);
    remove.addEventListener("click", () => {
      held.splice(held.indexOf(entry), 1);
      card.remove();
      node.dispatchEvent(new Event("input", { bubbles: true }));
    });
    made.node.append(remove);
    held.push(entry);
    node.insertBefore(card, more);
    return card;
  };
  const more = element("button", { type: "button", class: "add" }, `Add to ${nameOf(hints, path)}`);
  more.addEventListener("click", () => {
    const now = held.map((entry) => entry.read());
    // Tracks and the like are what a generator said; what a reviewer adds has only what every entry has.
    const common = Object.fromEntries(Object.entries(now[now.length - 1] || value[0] || {}).filter(([name]) =>
      now.every((one) => name in one) || ["choice", "key"].includes(hintOf(hints, [...path, 0, name]).kind)));
    const card = add(Object.assign(blank(common, now), chosen(common, path, hints)), true);
    node.dispatchEvent(new Event("input", { bubbles: true }));
    card.querySelector("textarea, input, select")?.focus();
  });
  node.append(more);
  for (const one of value) add(one, false);
  return { node, read: () => held.map((entry) => entry.read()) };
}

// Choices begin as the last entry has them: an empty one would be none.
function chosen(like, path, hints) {
  return Object.fromEntries(Object.entries(like).filter(([name]) =>
    ["choice", "key"].includes(hintOf(hints, [...path, 0, name]).kind)));
}

// Every leaf that differs between two values: [path, before, after].
function differences(before, after, path = []) {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const both = [before, after].every((one) => one !== null && typeof one === "object");
  if (!both || Array.isArray(before) !== Array.isArray(after)) return [[path.join("."), before, after]];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => differences(before[name], after[name], [...path, name]));
}
