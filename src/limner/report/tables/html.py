"""Tables as HTML, in fragments or complete pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as _escape
from pathlib import Path
from typing import Any

from ...core.evaluator import row_name
from .model import PUBLISHED, Cell, Column, RowBlock, Sheet, Table, TableRow, clean, html_notes, interval, raised, spans


def escape(text: str) -> str:
    """Return text escaped for HTML."""
    return _escape(clean(text), quote=True)


def _style(file: str) -> str:
    return f"<style>\n{(Path(__file__).parent / file).read_text(encoding='utf-8')}</style>"


def page(table: Table) -> str:
    """Return the table as a complete page."""
    title = escape(table.caption[0] if table.caption else table.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n{fragment(table)}</body>\n</html>\n"
    )


def fragment(table: Table) -> str:
    """Return the table as a ``<div>`` with its own style, which affects nothing outside it."""
    return fragments([table])


def fragments(tables: Iterable[Table]) -> str:
    """Return several tables, one below the other, with a single copy of their style."""
    return "".join(f"{line}\n" for n, table in enumerate(tables) for line in _fragment(table, styled=not n))


def _fragment(table: Table, *, styled: bool = True) -> Iterator[str]:
    yield f'<div class="limner-table" id="{escape(table.key.replace(":", "-"))}">'
    if styled:
        yield _style("table.css")
    first, *rest = table.caption or (table.title,)
    yield f'<p class="caption"><strong>{escape(first)}</strong> {escape(" ".join(rest))}</p>'
    for sheet in table.sheets:
        yield from _sheet(sheet)
    if remarks := html_notes(table, escape):
        yield '<ul class="notes">'
        yield from (f"<li>{note}</li>" for note in remarks)
        yield "</ul>"
    yield "</div>"


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield "<table>"
    if sheet.title:
        yield f"<caption>{escape(sheet.title)}</caption>"
    yield "<thead>"
    if overs := spans(sheet.columns):
        heads = "".join(
            f'<th class="over" colspan="{count}" scope="colgroup">{escape(over)}</th>' if over else "<th></th>"
            for over, count in overs
        )
        yield f"<tr><th></th>{heads}</tr>"
    yield f'<tr><th scope="col">{escape(sheet.stub)}</th>{"".join(map(_head, sheet.columns))}</tr>'
    yield "</thead>"
    for group in sheet.blocks:
        yield from _group(group, sheet)
    yield "</table>"


def _head(column: Column) -> str:
    names = [PUBLISHED] * column.published + ["words"] * column.words
    return f'<th scope="col"{_classes(names)}>{escape(column.head)}{_after(column)}</th>'


def _group(group: RowBlock, sheet: Sheet) -> Iterator[str]:
    yield "<tbody>"
    if group.title:
        names = [PUBLISHED] * group.published
        head = f'<th colspan="{len(sheet.columns) + 1}" scope="rowgroup"{_classes(names)}>{escape(group.title)}'
        yield f'<tr class="group">{head}{raised(group.notes)}</th></tr>'
    for line in group.rows:
        label = escape(line.label) + _after(line)
        cells = "".join(_cell(cell, column.words) for cell, column in zip(line.cells, sheet.columns, strict=True))
        yield f'<tr{_classes([PUBLISHED] * line.published)}><th scope="row">{label}</th>{cells}</tr>'
    yield "</tbody>"


def _cell(cell: Cell, words: bool) -> str:
    names = [PUBLISHED] * cell.published + ["words"] * words
    names += {1: ["best"], 2: ["second"]}.get(cell.rank, [])
    ends = f'<span class="interval">{escape(interval(cell))}</span>' if interval(cell) else ""
    return f"<td{_classes(names)}><span>{escape(cell.text)}</span>{ends}</td>"


def _after(part: TableRow | Column) -> str:
    """Return what follows a label: its footnotes, and its coverage."""
    covered = f' <span class="covered">({escape(part.covered)})</span>' if part.covered else ""
    return raised(part.notes) + covered


def _classes(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def question_html(body: Mapping[str, Any], pictures: Mapping[str, str], tables: Sequence[Table]) -> str:
    """Return a question as a ``<div>`` with its own style, which affects nothing outside it.

    Args:
        body: The description of the question, from `limner.report.tables.question.describe_question`.
        pictures: Data URLs by the images' hashes.
        tables: The tables of its marks.
    """
    return "\n".join(_lines(body, pictures, tables)) + "\n"


def _lines(body: Mapping[str, Any], pictures: Mapping[str, str], tables: Sequence[Table]) -> Iterator[str]:
    yield f'<div class="limner-question">\n{_style("question.css")}'
    yield f"<p><strong>{escape(body['id'])}</strong> · {escape(body['exam'])}</p>"
    prompt = "\n".join(escape(line) for line in body["prompt"].splitlines())
    yield f'<p class="prompt">{prompt}</p>'
    yield f'<p class="tags">{escape(" · ".join(f"{key}: {value}" for key, value in body["tags"].items()))}</p>'
    yield '<div class="pictures">'
    for sha256 in body["inputs"]:
        yield _figure("before", pictures.get(sha256 or ""), "its image is not in the store")
    if body["reference"]:
        yield _figure("reference", pictures.get(body["reference"]), "its image is not in the store")
    for drawing in body["drawings"]:
        name = row_name(drawing["painter"], drawing["strategy"])
        seed = f", seed {drawing['seed']}" if drawing["seed"] else ""
        missing = f"{drawing['fault']}: {drawing['detail']}" if drawing["fault"] else "its image is not in the store"
        yield _figure(name + seed, pictures.get(drawing["image"] or ""), missing)
    yield "</div>"
    for marking in body["markings"]:
        if marking["status"] != "done":
            name = row_name(marking["painter"], marking["strategy"])
            status = f"{name} marked by {marking['evaluator']}: {marking['status']} {marking['detail'] or ''}"
            yield f"<p>{escape(status)}</p>"
    if tables:
        yield fragments(tables).rstrip("\n")
    yield "</div>"


def _figure(caption: str, url: str | None, missing: str) -> str:
    escaped = escape(caption)
    inside = f'<img src="{escape(url)}" alt="{escaped}">' if url else f'<div class="absent">{escape(missing)}</div>'
    return f"<figure>{inside}<figcaption>{escaped}</figcaption></figure>"
