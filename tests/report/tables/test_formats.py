"""Markdown, CSV, LaTeX and HTML: well formed for every table, and nothing in a name is taken for markup."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.data_rows import safe_cell
from limner.report.paper import build, find
from limner.report.tables import html, latex
from limner.report.tables.model import Column, RowBlock, Table, clean
from limner.report.tables.render import FORMATS, csv_text, escape_markdown, rendered
from limner.store import Store
from tests.report.tables.samples import nasty
from tests.report.tables.shipped import LAYOUTS

PUBLISHED = [build(layout) for layout in LAYOUTS.values()]
each = pytest.mark.parametrize("table", [*PUBLISHED, nasty()], ids=[*LAYOUTS, "nasty"])


class Reader(HTMLParser):
    """Checks that tags nest, and keeps the text of cells."""

    VOID = ("meta", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.spans: list[int] = []
        self.classes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "tr":
            self.rows.append([])
            self.spans.append(0)
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.spans[-1] += int(given.get("colspan") or 1)
            self.classes.append(given.get("class") or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.rows and {"td", "th"} & set(self.open) and "style" not in self.open:
            self.rows[-1][-1] += data


def read_html(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.slow
@each
def test_html_is_well_formed_with_rows_of_equal_width(table: Table) -> None:
    for text in (html.fragment(table), html.page(table)):
        reader = read_html(text)
        widths = {len(sheet.columns) + 1 for sheet in table.sheets}
        assert set(reader.spans) <= widths
    cells = [cell for row in reader.rows for cell in row]
    for sheet in table.sheets:
        for line in sheet.rows():
            assert any(cell.startswith(clean(line.label)) for cell in cells)


def test_html_page_is_self_contained_and_fragment_embeddable() -> None:
    page, fragment = html.page(nasty()), html.fragment(nasty())
    assert page.startswith("<!DOCTYPE html>")
    assert fragment in page
    assert "http" not in re.sub(r"arXiv[^<]*", "", page)
    assert "<html" not in fragment
    rules = re.search(r"<style>(.*?)</style>", fragment, re.DOTALL)
    assert rules is not None
    selectors = re.findall(r"([^{}]+)\{", rules[1])
    assert all(part.strip().startswith(".limner-table") for selector in selectors for part in selector.split(","))


def latex_tabulars(text: str) -> list[tuple[str, list[list[str]]]]:
    """All tabulars: the letters of their columns, and their rows, each as its cells."""
    found = []
    for columns, body in re.findall(r"\\begin\{tabular\}\{(.*?)\}\n\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
        rows = []
        for line in body.split("\n"):
            if line.endswith(r" \\"):
                rows.append(re.split(r"(?<!\\)&", line.removesuffix(r" \\")))
            else:
                assert re.fullmatch(r"(\\midrule|(\\cmidrule\(lr\)\{\d+-\d+\})+)?", line), line
        found.append((columns, rows))
    return found


@each
def test_latex_is_balanced_with_rows_of_equal_width(table: Table) -> None:
    text = latex.render(table)
    depth = 0
    for found in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        assert depth >= 0
    assert depth == 0
    open_environments: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{([^}]*)\}", text):
        if what == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert not open_environments
    tabulars = latex_tabulars(text)
    assert len(tabulars) == text.count(r"\begin{tabular}")
    for columns, rows in tabulars:
        for row in rows:
            spans = [re.match(r"\s*\\multicolumn\{(\d+)\}", cell) for cell in row]
            assert sum(int(span[1]) if span else 1 for span in spans) == len(columns)
            assert not row[0].lstrip().startswith(("[", "*"))
    # Cut as they may be, the tabulars have every cell once.
    numbers = [cell.text for sheet in table.sheets for line in sheet.rows() for cell in line.cells if cell.value]
    cells = [cell for _, rows in tabulars for row in rows for cell in row[1:]]
    written = [re.sub(r"\\(textcolor\{gray\}|textbf|underline)|[{}]", "", cell).split()[:1] for cell in cells]
    written = [[word.replace(r"\textless", "<") for word in words] for words in written]
    assert not Counter(numbers) - Counter(word for words in written for word in words)


def test_latex_marks_best_second_notes_and_coverage() -> None:
    # Where a table is too wide for a page, and too high for a turned one, intervals are below.
    (sheet,) = nasty().sheets
    text = latex.render(replace(nasty(), sheets=(replace(sheet, blocks=sheet.blocks * 8),)))
    assert r"\textcolor{gray}{\textbf{10.0}} &" in text
    assert r"\textcolor{gray}{{\scriptsize {[}5.0, 15.0{]}}} &" in text
    assert r"\underline{1.0 \ldots{} 2.0}" in text
    assert r"\textsuperscript{1}\textsuperscript{2}" in text
    assert r"{\scriptsize (25\% covered)}" in text
    assert r"\multicolumn{2}{c}{over \& out}" in text
    assert r"\cmidrule(lr){2-3}" in text
    (sheet,) = nasty().sheets
    lines = tuple(replace(line, label="short", cells=line.cells[:2]) for line in sheet.rows())
    narrow = replace(sheet, columns=(Column("x"), Column("y")), blocks=(RowBlock("", lines),))
    text = latex.render(replace(nasty(), sheets=(narrow,)))
    assert r"\textcolor{gray}{\textbf{10.0} {\scriptsize {[}5.0, 15.0{]}}}" in text


@given(st.text(max_size=40))
def test_html_escapes_everything(text: str) -> None:
    reader = read_html(f"<table><tr><td>{html.escape(text)}</td></tr></table>")
    assert reader.rows == [[clean(text)]]


@given(st.text("ab|\\`*_<>[]&\n\x00", max_size=20))
def test_markdown_escapes_everything(text: str) -> None:
    found = escape_markdown(text)
    assert "\n" not in found
    assert re.sub(r"\\(.)", r"\1", found) == clean(text)
    assert not re.search(r"(?<!\\)(\\\\)*[|`*_<>\[\]&]", found)


@each
def test_csv_has_one_line_per_row(table: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(table))))
    lines = [line for sheet in table.flat for line in sheet.rows()]
    assert [row["row"] for row in rows] == [safe_cell(clean(line.label)) for line in lines]
    assert [row["source"] == "published" for row in rows] == [line.published for line in lines]
    for row, line in zip(rows, lines, strict=True):
        assert None not in row
        shown = [cell.text for cell in line.cells if cell.least is None and cell.text != "–"]
        assert {safe_cell(clean(text)) for text in shown} <= set(row.values())


@pytest.mark.slow
def test_store_table_renders_in_every_format(filled: dict[str, Store]) -> None:
    table = build(find("worldgenbench:table2"), filled["worldgenbench"])
    for form in FORMATS:
        text = rendered(table, form)
        for word in ("GPT-4o", "28.86", "openai/gpt-image-1"):
            assert word in text.replace("{-}", "-"), form
    assert rendered(table, "html", page=True).startswith("<!DOCTYPE")
