"""A layout's columns, spelt out: every value with every figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Column
from .schema import JUDGES, Figure, Layout, Part, Section, Value


@dataclass(frozen=True)
class ColumnSpec:
    """One column before it is filled: what to look for, and its heads."""

    figure: Figure
    value: Value
    part: Part
    column: Column

    @property
    def digits(self) -> int:
        """Decimals of what is computed."""
        return self.part.digits if self.figure.digits is None else self.figure.digits

    @property
    def scale(self) -> float:
        """What is computed is multiplied by this."""
        return self.part.scale if self.figure.scale is None else self.figure.scale

    @property
    def category(self) -> str | None:
        """The published category."""
        return self.figure.category or self.value.category

    @property
    def tagged(self) -> str | None:
        """The tag's value in the exam."""
        return self.value.value if self.value.value is not None else self.value.category


def specs(layout: Layout, section: Section | None, judges: Sequence[str]) -> list[ColumnSpec]:
    """The columns in order; `judges` stand where the layout wants one for each judge."""
    found = []
    block = 0
    for part in layout.columns:
        for value in _values(part, section, judges):
            for number, figure in enumerate(part.figures):
                found.append(ColumnSpec(figure, value, part, _column(figure, value, block, number)))
            block += 1
    return found


def _values(part: Part, section: Section | None, judges: Sequence[str]) -> Sequence[Value]:
    if part.values == JUDGES:
        return [Value(head=judge, judge=judge) for judge in judges]
    assert not isinstance(part.values, str), "named lists are put in when a layout is read"
    if section is None:
        return part.values
    return [
        value.model_copy(update={"category": section.fill(value.category), "value": section.fill(value.value)})
        for value in part.values
    ]


def _column(figure: Figure, value: Value, block: int, number: int) -> Column:
    better = "none" if figure.plain and figure.better is None else figure.better or "high"
    arrow = " ↓" if better == "low" else ""
    title = value.title if value.head or not figure.head else ""
    head, over = (figure.head, title or figure.over) if figure.head else (title, figure.over)
    path = " · ".join(word for word in (title, figure.over, figure.head) if word)
    return Column(
        head=head + arrow,
        over=over,
        path=path,
        words=figure.plain,
        better=better,
        block=block,
        figure=number,
        value_head=title,
        figure_head=figure.head + arrow,
        figure_over=figure.over,
    )
