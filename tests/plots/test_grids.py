"""Scores by category, dimension and level, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

import pytest

from limner import api
from limner.report.plots.source import StoreSource, categories, heatmap
from limner.scoring import Entry
from limner.scoring.stats import LEAST

Sources = Callable[..., StoreSource]


def inside(source: StoreSource, painter: str) -> tuple[Entry, ...]:
    return source.field.inside[source.names.index(painter)]


def test_categories_are_plain_means_with_intervals_around_them(source: Sources) -> None:
    found = source("genexam", score="relaxed")
    grid = categories(found)
    assert grid.rows == found.names
    assert "Computer Science" in grid.columns
    assert (grid.label, grid.top) == ("relaxed (of 100)", 100)
    for row, name in enumerate(grid.rows):
        for column, subject in enumerate(grid.columns):
            cell = grid.cells[row][column]
            own = [e for e in inside(found, name) if e.question.tags["subject"].replace("_", " ") == subject]
            values = [entry.scores["relaxed"] for entry in own]
            if None not in values:
                assert cell.value == pytest.approx(mean(value for value in values if value is not None))
                assert cell.n == len(own)
                if cell.n < LEAST:
                    assert (cell.low, cell.high) == (None, None)
                else:
                    assert cell.low <= cell.value <= cell.high  # type: ignore[operator]
            else:
                assert cell.value is None
                assert cell.least is not None
                assert cell.most is not None
                settled = [value for value in values if value is not None]
                assert sum(settled) / len(own) - 1e-9 <= cell.most
                assert cell.least <= (sum(settled) + 100 * (len(own) - len(settled))) / len(own) + 1e-9
    assert any(cell.value is None for row in grid.cells for cell in row), "one painter's judge abstains"


@pytest.mark.slow
def test_the_map_begins_with_all_categories_as_scores_shows_them(source: Sources) -> None:
    grid = heatmap(source("worldgenbench"))
    assert grid.columns[0] == "all"
    common = {s.painter: s.common for s in api.scores("worldgenbench", store=source("worldgenbench").choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        told = common[name]
        assert told is not None
        assert cells[0].value == told.value("checklist")
        assert cells[0].low == told.scores["checklist"].low
        if cells[0].value is None:
            assert (cells[0].least, cells[0].most) == told.bounds["checklist"]
