"""What each table and figure of a paper needs: its rows, and who marks them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..report.paper.schema import AGREEING, JUDGES, Section, specs
from ..report.tables.paper import Layout, find
from ..report.tables.paper.published_cells import judges as published_judges
from ..report.tables.paper.published_cells import published, published_rows
from .schema import PaperItem, PaperList

Want = tuple[str, str]
"""A row by the paper's name, and a judge; an empty one is the preset's. In tables of judges the row is left empty."""


@dataclass(frozen=True)
class ItemWants:
    """One item with what it needs.

    Attributes:
        layout: Its table, where it has one, and `sections` those that it shows.
        wants: Key of a row -> the row and the judge that make it.
        own: Whether painters of the user's own may stand in it too.
    """

    item: PaperItem
    title: str
    layout: Layout | None
    sections: tuple[Section | None, ...]
    wants: dict[Want, Want]
    own: bool


def wants_of(item: PaperItem, kind: str) -> ItemWants:
    """What an item needs, by its own word and by what its layout publishes."""
    layout = find(f"{kind}:{item.layout}") if item.layout else None
    sections = _sections(layout, item.section)
    title = item.title or (layout.title if layout else "")
    if item.section:
        title = f"{title}: {item.section}"
    rows = item.rows
    source = find(f"{kind}:{item.rows_of}") if item.rows_of else layout
    if not rows and source is not None and source.rows in ("painters", "rated"):
        rows = tuple(_models(source, _sections(source, item.section if source is layout else None)))
    if layout is not None and layout.rows == "judges":
        keys = item.judges or tuple(_judges(layout))
        wants = {("", key): (row, key) for key in keys for row in rows[:1]}
    elif layout is not None and any(part.values == JUDGES for part in layout.columns):
        keys = item.judges or tuple(published_judges(published(layout, None)))
        wants = {(row, key): (row, key) for row in rows for key in keys}
    else:
        wants = {(row, key): (row, key) for row in rows for key in item.judges or ("",)}
    own = bool(rows) and not item.judges and (layout is None or layout.rows not in (*AGREEING, "judges", "exam"))
    return ItemWants(item, title, layout, sections, wants, own)


def row_names(listing: PaperList, kind: str) -> list[str]:
    """All rows that the paper's tables and figures need, by the paper's names."""
    wants = [wants_of(item, kind) for item in listing.items]
    return list(dict.fromkeys(row for each in wants for row, _ in each.wants.values() if row))


def _sections(layout: Layout | None, title: str | None) -> tuple[Section | None, ...]:
    if layout is None or not layout.sections:
        return (None,)
    return tuple(section for section in layout.sections if title in (None, section.title))


def _models(layout: Layout, sections: Iterable[Section | None]) -> Iterable[str]:
    found = [row["model"] for section in sections for row in published(layout, section) if row["model"]]
    return dict.fromkeys(found)


def _judges(layout: Layout) -> list[str]:
    """The rows of a table of judges, each with what the judge was shown."""
    columns = specs(layout, None, [])
    found = []
    for _, row in published_rows(layout, None, columns):
        shown = [cell.text for cell, column in zip(row.cells, columns, strict=True) if column.figure.column]
        found.append(" / ".join([row.label, *shown]))
    return found
