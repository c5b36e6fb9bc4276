"""Tables as LaTeX: booktabs, the best bold, the second underlined, published rows grey."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..model import Cell, Column, RowBlock, Sheet, Table
from .parts import aside, clean, interval, spans

NEEDS = "% needs \\usepackage{booktabs,xcolor,graphicx}"
LONG = 60
"""A sheet with more rows than this becomes one table per group."""
_LETTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    '"': "''", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    # A square bracket after the end of a row would be read as its option.
    "[": "{[}", "]": "{]}",
    "–": "--", "…": r"\ldots{}", "×": r"$\times$", "·": r"$\cdot$", "↓": r"$\downarrow$", "↑": r"$\uparrow$",
    "τ": r"$\tau$", "ρ": r"$\rho$",
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(_LETTERS)) + "]|-(?=-)")


def escape(text: str) -> str:
    r"""Text as LaTeX prints it.

    >>> escape("50% [a_b]")
    '50\\% {[}a\\_b{]}'
    """
    # Two hyphens in a row would become a dash.
    return _SPECIAL.sub(lambda found: _LETTERS.get(found[0], "-{}"), clean(text))


def render(table: Table) -> str:
    """One or more table environments."""
    found = [NEEDS]
    sheets = [part for sheet in table.sheets for part in _parts(sheet)]
    for number, sheet in enumerate(sheets):
        last = number == len(sheets) - 1
        found.append("\n".join(_table(table, sheet, last)))
    return "\n\n".join(found) + "\n"


def _parts(sheet: Sheet) -> list[Sheet]:
    if sum(len(group.rows) for group in sheet.blocks) <= LONG or len(sheet.blocks) < 2:
        return [sheet]
    return [replace(sheet, title=group.title, blocks=(replace(group, title=""),)) for group in sheet.blocks]


def _table(table: Table, sheet: Sheet, last: bool) -> Iterator[str]:
    environment = "table*" if len(sheet.columns) > 8 else "table"
    caption = " ".join(escape(said) for said in table.caption)
    title = f" {escape(sheet.title)}." if sheet.title else ""
    yield rf"\begin{{{environment}}}[t]"
    yield r"\centering"
    yield rf"\caption{{{caption}{title}}}"
    # Shrunk only where it is too wide.
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{l{''.join('l' if column.words else 'r' for column in sheet.columns)}}}"
    yield r"\toprule"
    yield from _heads(sheet)
    for place, group in enumerate(sheet.blocks):
        yield r"\midrule"
        yield from _group(group, sheet, place)
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    if last:
        for number, note in enumerate(table.footnotes, 1):
            yield rf"\par\footnotesize\raggedright {_raised((number,))} {escape(note)}"
        for note in table.notes:
            yield rf"\par\footnotesize\raggedright {escape(note)}"
    yield rf"\end{{{environment}}}"


def _heads(sheet: Sheet) -> Iterator[str]:
    overs = spans(sheet.columns)
    if overs:
        cells, rules, place = [""], [], 2
        for over, count in overs:
            cells.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(over)}}}" if over else "")
            if over:
                rules.append(rf"\cmidrule(lr){{{place}-{place + count - 1}}}")
            place += count
        yield _row(cells)
        yield "".join(rules)
    yield _row([escape(sheet.stub), *map(_head, sheet.columns)])


def _head(column: Column) -> str:
    return _grey(_with(escape(column.head) + _raised(column.notes), aside(column)), column.published)


def _group(group: RowBlock, sheet: Sheet, place: int) -> Iterator[str]:
    if group.title:
        title = _grey(rf"\textit{{{escape(group.title)}}}{_raised(group.notes)}", group.published)
        yield _row([rf"\multicolumn{{{len(sheet.columns) + 1}}}{{l}}{{{title}}}"])
    for line in group.rows:
        label = _with(escape(line.label) + _raised(line.notes), aside(line))
        yield _row([_grey(label, line.published), *map(_cell, line.cells)])


def _with(label: str, said: str) -> str:
    return rf"{label} {{\scriptsize ({escape(said)})}}" if said else label


def _raised(notes: Sequence[int]) -> str:
    return "".join(rf"\textsuperscript{{{note}}}" for note in notes)


def _grey(text: str, published: bool) -> str:
    return rf"\textcolor{{gray}}{{{text}}}" if published and text else text


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = rf"\textbf{{{text}}}" if cell.rank == 1 else rf"\underline{{{text}}}" if cell.rank == 2 else text
    if interval(cell):
        text += rf" {{\scriptsize {escape(interval(cell))}}}"
    return _grey(text, cell.published)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
