"""Failures by kind, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.plots.rows import failures, named_rows
from limner.plots.source import PlotChoice, StoreSource, load
from limner.plots.style import LINE
from limner.store import Store
from tests.tables import synthetic

Sources = Callable[..., StoreSource]


def test_failures_elsewhere_are_drawings_without_a_score(source: Sources) -> None:
    found = source("genexam")
    grid = failures(found)
    told = {s.painter: s for s in api.scores("genexam", store=found.choice.store)}
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        shares = {kind: cell.value for kind, cell in zip(grid.columns, cells, strict=True)}
        for kind, count in told[name].failures.items():
            assert shares[kind] == pytest.approx(count / told[name].expected)
        assert sum(value or 0 for value in shares.values()) == pytest.approx(1 - told[name].coverage, abs=1e-4)


def test_a_row_is_only_as_high_as_its_own_name_needs(matplotlib: None) -> None:
    rows = named_rows(["short", "a-painter-with-a-name-of-two-lines", "other"], 1.3, 0.125)
    assert [name.count("\n") for name in rows.names] == [0, 1, 0]
    assert rows.tall[0] == rows.tall[2] == 1
    assert 2 * LINE < rows.tall[1] * rows.inches < 2 * LINE + 0.05
    assert rows.edges == pytest.approx([-0.5, 0.5, 0.5 + rows.tall[1], 1.5 + rows.tall[1]])
    assert rows.between == rows.edges[1:-1]
