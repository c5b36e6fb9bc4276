"""Judges against judges, computed once more by other means."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.plots.maps import judges
from limner.plots.source import PlotChoice
from limner.scoring import compare
from limner.store import Store
from tests.tables import synthetic


@pytest.mark.slow
def test_judges_are_compared_two_by_two(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=4, judges=("one", "two", "three"), images=False)
        kappa, order = judges("genexam", PlotChoice(store=store))
        told = compare.judges("genexam", store=store)
        assert kappa.rows == ("three", "two")
        assert kappa.columns == ("one", "three")
        pair = next(pair for pair in told.pairs if (pair.first, pair.second) == ("one", "two"))
        assert kappa.cells[1][0].value == pair.marks["all"].kappa.value
        assert order.cells[1][0].value == pair.order.spearman.value
        assert kappa.cells[0][1].value is None, "nobody is compared with itself"
        with pytest.raises(UsageError, match="nobody to compare it with; `limner mark genexam --judge NAME`"):
            judges("genexam", PlotChoice(store=store, judges=("one",)))
