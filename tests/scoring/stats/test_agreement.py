"""Agreement on single marks, against textbook examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.stats import cohen_kappa, krippendorff_alpha, mark_agreement, wilson

MARKS = st.lists(
    st.tuples(st.sampled_from("qrst"), st.sampled_from([0, 1, None]), st.sampled_from([0, 1, None])), max_size=20
)
TABLE = [
    [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
    [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
    [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
]
"""Krippendorff's own example: three coders, fifteen units, many gaps."""


def spread(table: dict[tuple[int, int], int]) -> tuple[list[float | None], list[float | None]]:
    first: list[float | None] = [float(a) for (a, _), count in table.items() for _ in range(count)]
    return first, [float(b) for (_, b), count in table.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}, 0.4),
        ({(1, 1): 45, (1, 0): 15, (0, 1): 25, (0, 0): 15}, 0.1304),
        ({(1, 1): 25, (1, 0): 35, (0, 1): 5, (0, 0): 35}, 0.2593),
        # Cohen's paper: three categories.
        ({(1, 1): 88, (1, 2): 14, (1, 3): 18, (2, 1): 10, (2, 2): 40, (2, 3): 10, (3, 1): 2, (3, 2): 6, (3, 3): 12},
         0.492),
    ],
)  # fmt: skip
def test_kappa_of_the_textbooks(table: dict[tuple[int, int], int], kappa: float) -> None:
    assert cohen_kappa(*spread(table)).value == pytest.approx(kappa, abs=1e-3)


def test_alpha_of_the_textbook() -> None:
    units = [list(unit) for unit in zip(*TABLE, strict=True)]
    assert krippendorff_alpha(units).value == pytest.approx(0.691, abs=1e-3)
    assert krippendorff_alpha(units, "interval").value == pytest.approx(0.811, abs=1e-3)
    assert krippendorff_alpha(units).n == 12
    assert krippendorff_alpha(units[::-1]) == krippendorff_alpha(units)
    assert krippendorff_alpha([unit[::-1] for unit in units]) == krippendorff_alpha(units)


@given(MARKS, st.randoms(use_true_random=False))
def test_neither_order_nor_who_is_first_matters(marks: list[tuple[str, Any, Any]], random: Any) -> None:
    found = mark_agreement(marks)
    assert mark_agreement(random.sample(marks, len(marks))) == found
    back = mark_agreement([(question, b, a) for question, a, b in marks])
    assert (back.n, back.same, back.first, back.second) == (found.n, found.same, found.second, found.first)
    assert back.kappa.value == pytest.approx(found.kappa.value)
    assert (found.kappa.value is None) == (found.reason is not None)


def test_where_there_is_nothing_to_tell() -> None:
    assert mark_agreement([("q", 1, None)]).reason == "no mark that both decided"
    alike = mark_agreement([("q", 1, 1), ("r", 1, 1)])
    assert (alike.same.value, alike.kappa.value) == (1.0, None)
    assert "nothing to tell agreement from chance by" in (alike.reason or "")
    assert mark_agreement([("q", 0, 1)]).kappa.value == 0.0
    assert krippendorff_alpha([[1, None], [None, 2]]).reason == "no mark that both decided"
    assert krippendorff_alpha([]).value is None
    assert krippendorff_alpha([[1, 1], [1, 1]]).value is None
    assert krippendorff_alpha([[1, float("nan")], [0, 0], [1, 0]]).n == 2


def test_intervals_come_from_whole_questions() -> None:
    """Many marks of six questions are worth six questions: the interval reaches from end to end."""
    found = mark_agreement([(f"q{n}", 1, n % 2) for n in range(6)] * 20)
    assert (found.same.value, found.same.low, found.same.high) == (0.5, 0.0, 1.0)
    assert found.same.n == 6
