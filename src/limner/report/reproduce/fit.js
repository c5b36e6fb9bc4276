// Tables that are wider than a printed page are made smaller on paper; 1032 px is the page, 0.81 the type's size there.
for (const table of document.querySelectorAll(".limner-table table")) {
  const width = 0.81 * table.offsetWidth;
  if (width > 1032) table.style.setProperty("--fit", 1032 / width);
}
