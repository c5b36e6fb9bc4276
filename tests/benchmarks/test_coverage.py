"""Intervals of corrected scores contain the true value as often as they claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.coverage import CASES, MARKED, PREVALENCE, Case, covered

LEAST = 0.93
EXAMS = 200
PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_at_least_93_percent_of_intervals_contain_true_value(case: Case) -> None:
    """Over the four studies of a sort together: 800 intervals, of which chance may take one point."""
    shares = [covered(case, n, share, EXAMS)[0] for n in MARKED for share in PREVALENCE]
    assert sum(shares) / len(shares) >= LEAST + 0.01
    assert min(shares) >= LEAST - 0.045


def test_coverage_check_fails_for_too_narrow_interval() -> None:
    """The check can fail: an interval half as wide does."""
    import numpy as np

    from limner.scoring.powered import HumanInterval

    def narrow(rng: np.random.Generator, n: int, share: float) -> tuple[HumanInterval, float]:
        interval, truth = CASES[0].run(rng, n, share)
        assert interval.value is not None
        assert interval.low is not None
        assert interval.high is not None
        ends = {"low": (interval.low + interval.value) / 2, "high": (interval.high + interval.value) / 2}
        return HumanInterval(**{**vars(interval), **ends}), truth

    assert covered(Case("narrow", narrow), 50, 0.5, 100)[0] < 0.85


def test_page_has_table_with_no_coverage_below_93() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| PPI++,")]
    assert [line.split("|")[1].strip() for line in lines] == [case.name for case in CASES]
    for line in lines:
        shares = [float(cell.split("(")[0]) for cell in line.split("|")[2:-1]]
        assert len(shares) == len(MARKED) * len(PREVALENCE)
        assert min(shares) >= 93
