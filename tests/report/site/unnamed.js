// Controls and links that a screen reader could not name.
() => {
  const all = document.querySelectorAll("a[href], button, input, select, summary, [role=region]");
  const name = (one) =>
    one.getAttribute("aria-label") ||
    one.textContent.trim() ||
    [...(one.labels || [])].map((label) => label.innerText).join("") ||
    one.querySelector("img")?.alt ||
    "";
  return [...all].filter((one) => one.checkVisibility() && !name(one).trim()).map((one) => one.outerHTML.slice(0, 120));
};
