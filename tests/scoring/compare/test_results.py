"""Verdicts: the winner of a pair is the one with the larger number, whoever is named first and whoever is a control."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.compare.results import Pair, judged, pair_of
from limner.scoring.stats import as_parts, paired

PAIRED_SCORES = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=20)


def make_pair(one: list[int], other: list[int], corrected: bool = True) -> Pair:
    return pair_of("one", "other", paired(as_parts(one), as_parts(other)), None, 1.0, corrected=corrected)


@given(PAIRED_SCORES, st.booleans(), st.booleans())
def test_the_winner_has_the_larger_mean(scores: list[tuple[int, int]], corrected: bool, shifted: bool) -> None:
    one, other = ([pair[at] + (60 if shifted and at else 0) for pair in scores] for at in (0, 1))
    (pair,) = judged([make_pair(one, other, corrected)])
    sums = {"one": sum(one), "other": sum(other)}
    assert pair.difference.value == pytest.approx(abs(sums["one"] - sums["other"]) / len(scores), abs=1e-9)
    assert sums[pair.first] >= sums[pair.second]
    if pair.winner is not None:
        assert sums[pair.winner] == max(sums.values()) > min(sums.values())
        assert (pair.winner, pair.verdict) == (pair.first, f"{pair.winner} is better")
    else:
        assert "is better" not in pair.verdict


def test_naming_the_two_in_the_other_order_changes_nothing_but_the_names() -> None:
    first, second = [3, 9, 4, 8, 7, 9, 6, 8], [1, 2, 5, 3, 1, 2, 4, 3]
    better, worse = judged([make_pair(first, second)])[0], judged([make_pair(second, first)])[0]
    assert (better.first, worse.first, better.winner, worse.winner) == ("one", "other", "one", "other")
    for name in ("p", "p_holm", "effect", "differing", "gap", "needed"):
        assert getattr(better, name) == getattr(worse, name)
    assert worse.difference.value == better.difference.value == 4.125
    ends = (better.difference.low, better.difference.high)
    assert (worse.difference.low, worse.difference.high) == pytest.approx(ends)


def test_a_pair_with_a_control_is_no_test() -> None:
    clear = ([9] * 6, [1] * 6)
    painters, *with_control = judged([make_pair(*clear), *(make_pair(*clear, corrected=False) for _ in range(5))])
    assert painters.p.value == painters.p_holm == 2 / 2**6
    for pair in with_control:
        assert (pair.p.value, pair.p_holm, pair.winner) == (2 / 2**6, None, "one")
    few, *_ = judged([make_pair([9] * 5, [1] * 5, corrected=False), make_pair(*clear), make_pair(*clear)])
    assert few.verdict == "not distinguishable: 5 questions differ, too few to tell"
    many, *_ = judged([make_pair([9] * 5, [1] * 5), make_pair(*clear), make_pair(*clear, corrected=False)])
    assert many.verdict == "not distinguishable: 5 questions differ, too few to tell among 2 pairs"
