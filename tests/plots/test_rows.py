"""Failures by kind, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.plots.rows import failures
from limner.plots.source import PlotChoice, StoreSource, load
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


def test_no_failure_at_all_is_said(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=2, images=False, faults=False)
        with pytest.raises(UsageError, match="every drawing has a score"):
            failures(load("genexam", PlotChoice(store=store)))
