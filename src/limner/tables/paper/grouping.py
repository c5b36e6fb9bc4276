"""Puts published rows and a store's under the layout's titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model import Group, Line
from .captions import STORE
from .lines import OwnLine
from .schema import Layout, RowGroup
from .store_rows import Own

CONTROLS, OTHERS = "Controls", "Others"


def grouped(layout: Layout, published: Sequence[tuple[RowGroup | None, Line]], own: Sequence[OwnLine]) -> list[Group]:
    """The groups in the layout's order, in each the published rows first; what fits nowhere comes last."""
    homes = [(_home(layout, one), one, line) for one, line in own]
    found = [Group("", tuple(line for group, line in published if group is None))]
    for row_group in layout.groups:
        inside = [line for group, line in published if group is row_group]
        inside += [line for home, _, line in homes if home is row_group]
        found.append(Group(row_group.title, tuple(inside), row_group.ranked))
    rest: dict[str, list[Line]] = {}
    for home, one, line in homes:
        if home is None:
            rest.setdefault(_title(layout, one), []).append(line)
    if "" in rest:
        found[0] = replace(found[0], lines=(*found[0].lines, *rest.pop("")))
    return found + [Group(title, tuple(inside), title != CONTROLS) for title, inside in rest.items()]


def _home(layout: Layout, own: Own | None) -> RowGroup | None:
    """The layout's group a painter belongs to, by what is known of it."""
    if own is None:
        return None
    for group in layout.groups:
        if group.only is not None:
            if group.only == own.spec:
                return group
        elif group.access == own.facts.access is not None and (not group.kinds or own.facts.kind in group.kinds):
            return group
    return None


def _title(layout: Layout, own: Own | None) -> str:
    """The title over a row that belongs to none of the layout's groups."""
    if own is None:
        return STORE if layout.groups else ""
    if own.group.control and layout.only is None:
        return CONTROLS
    if layout.by_painter:
        return own.group.painter
    return OTHERS if layout.groups else ""
