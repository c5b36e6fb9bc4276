"""A source as an exam's own plots see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import plot_data
from ...core.plot_data import Cell, Grid
from ...scoring.stats import interval
from ..source import Source
from .cells import cells
from .grids import dimensions


def given(source: Source) -> Given:
    """What an exam's own plot is made from."""
    rows = tuple(tuple(entry.row for entry in entries) for entries in source.field.inside)
    told = (source.exam, source.score, source.names, source.controls, source.caption, source.field.protocol, rows)
    return Given(*told, source)


@dataclass(frozen=True)
class Given(plot_data.Source):
    """See `limner.core.plot_data.Source`."""

    source: Source

    def cells(self, score: str) -> list[Cell]:
        """Every painter's number."""
        return cells(self.source.field, self.source.field.score(score))

    def mean(self, scores: Sequence[str]) -> list[Cell]:
        """The mean of several scores, where a painter has all of them."""
        found, field = [], self.source.field
        for entries, values, drawn in zip(field.inside, field.values, field.drawn, strict=True):
            if not values.keys() >= set(scores):
                found.append(Cell())
                continue
            n = len({entry.question.id for entry in entries})
            middle = sum(values[name] for name in scores) / len(scores)
            spread = interval(middle, np.mean([drawn[name] for name in scores], axis=0), n)
            found.append(Cell(spread.value, spread.low, spread.high, n))
        return found

    def shares(self, scores: Sequence[str]) -> Grid:
        """A column for each of the scores, as a share of its best value."""
        return dimensions(self.source, scores)

    def measured(self, evidence: str) -> list[tuple[float, ...]]:
        """For each painter the numbers that were measured on its drawings, each drawing's once."""
        found = []
        for entries in self.source.field.inside:
            once = {entry.drawing.id: entry.evidence.get(evidence, {}).get("value") for entry in entries}
            found.append(tuple(float(value) for value in once.values() if value is not None))
        return found
