"""All tables go through TeX: without an error, none wider than the text, and whatever the names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from limner.report.paper import build
from limner.report.tables import latex
from limner.report.tables.model import Cell, Column, RowBlock, Sheet, Table, TableRow
from limner.store import Store
from tests.needs import need
from tests.report.tables import synthetic
from tests.report.tables.samples import nasty
from tests.report.tables.shipped import LAYOUTS

pytestmark = pytest.mark.slow

NAMES = (
    r"\input{x} \\ \end{tabular} {{ }} % & # _ ~ ^ $ $$ \catcode`\%=12",
    "*starts with a star",
    "[2cm] starts with a bracket",
    "--- ,, <<>> ?` !` '' ``",
    "学术插图模型 画家 きれいな絵 그림",
    "α β γ λ ς ω Α Ω → ≤ ∞ ½ µ ° ± ‰ №",
    "naïve café Łódź Ångström ĳ ŉ ŧ",
    "e\u0301 a\u0323\u0302 \u0301 starts with an accent",
    "🎨 👩🏽\u200d🎨 🇨🇭 ❤\ufe0f",
    "רישום עברי رسم عربي \u202eevil\u202c",
    "\x00\x07\x1b[31m\r\n\t\x7f\x85\u2028\u2029",
    "\ud800 \ufffe \uffff \ufeff \U0010ffff \ue000",
    "a_very_long_name_without_any_space_" * 6,
    "学" * 80,
    "W" * 90,
    "",
    " ",
)


def hostile() -> Table:
    """A table with such names as labels, heads, titles and words."""
    columns = tuple(Column(name, f"over {name}", f"p{n}", words=n % 2 == 0) for n, name in enumerate(NAMES))
    lines = tuple(TableRow(name, tuple(Cell(other) for other in NAMES), notes=(1,), coverage=0.5) for name in NAMES)
    groups = (*(RowBlock(name, lines[:3]) for name in NAMES[:6]), RowBlock("", lines))
    sheet = Sheet(NAMES[4], NAMES[0], columns, groups)
    breaking = tuple(name for name in NAMES if name != "W" * 90)
    return Table("x:y", "title", (sheet,), (sheet,), breaking, breaking, breaking)


def compiled(engine: str, tables: Mapping[str, str], folder: Path, preamble: str = "", options: str = "") -> str:
    """The log of one document with all these tables; fails where TeX does."""
    need("tex", shutil.which(engine) is not None, f"TeX is not installed: there is no {engine}")
    inputs = []
    for number, (name, text) in enumerate(tables.items()):
        (folder / f"t{number}.tex").write_text(text, encoding="utf-8")
        inputs.append(rf"\typeout{{table {name}}}\input{{t{number}}}\clearpage")
    lines = [
        rf"\documentclass[{options}]{{article}}",
        r"\usepackage{booktabs,xcolor,rotating}",
        preamble,
        r"\begin{document}",
    ]
    document = "\n".join([*lines, *inputs, r"\end{document}"])
    (folder / "all.tex").write_text(document, encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, timeout=240)
    log = (folder / "all.log").read_text(encoding="utf-8", errors="replace")
    assert run.returncode == 0, "\n".join(line for line in log.split("\n") if line.startswith(("!", "l.", "table ")))[
        -2000:
    ]
    pages = re.search(r"Output written on all\.pdf \((\d+) pages?", log)
    assert pages is not None
    assert int(pages[1]) >= len(tables)
    return log


def check_fits(log: str) -> None:
    """No table is wider than the text, or higher than a page."""
    told = [line for line in log.split("\n") if line.startswith(("table ", "Overfull", "LaTeX Warning: Float too"))]
    for place, line in enumerate(told):
        assert line.startswith("table "), (told[place - 1], line)


def test_every_table_compiles_and_fits(filled: dict[str, Store], tmp_path: Path) -> None:
    published = {key: latex.render(build(layout)) for key, layout in LAYOUTS.items()}
    tables = {f"{key} store": latex.render(build(layout, filled[layout.exam])) for key, layout in LAYOUTS.items()}
    check_fits(compiled("lualatex", {**published, **tables}, tmp_path))
    # In a paper of two columns narrow tables stand in one of them.
    check_fits(compiled("pdflatex", {**published, **tables}, tmp_path, options="twocolumn"))


def test_a_wide_table_of_five_painters_takes_one_page(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        synthetic.fill(store, "genexam", painters=5, questions=60, images=False)
        text = latex.render(build(LAYOUTS["genexam:table2"], store))
    log = compiled("pdflatex", {"genexam:table2": text}, tmp_path)
    check_fits(log)
    assert "Output written on all.pdf (1 page" in log
    assert text.index("Overall") < text.index("Math")


def test_any_name_compiles(tmp_path: Path) -> None:
    log = compiled("lualatex", {"hostile": latex.render(hostile()), "nasty": latex.render(nasty())}, tmp_path)
    check_fits(log)


def test_stated_pdflatex_requirements_are_sufficient(tmp_path: Path) -> None:
    text = latex.render(hostile())
    declared = "".join(rf"\DeclareUnicodeCharacter{{{code}}}{{?}}" for code in re.findall(r"U\+([0-9A-F]{4,6})", text))
    assert r"\usepackage[T1]{fontenc}" in text
    compiled("pdflatex", {"hostile": text}, tmp_path, r"\usepackage[T1]{fontenc}" + declared)
