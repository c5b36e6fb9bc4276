from __future__ import annotations

from math import sqrt
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from limner.scoring.items import LEAST_PAINTERS, ItemTable, discrimination, group_size, item_total

names = st.lists(st.integers(0, 99), min_size=3, max_size=12, unique=True).map(lambda some: [f"p{n}" for n in some])


@st.composite
def marked(draw: st.DrawFn) -> tuple[dict[str, float], dict[str, float]]:
    """An item of yes and no, and the rest of the exam."""
    who = draw(names)
    item = {name: float(draw(st.booleans())) for name in who}
    return item, {name: draw(st.integers(0, 40)) / 40 for name in who}


@given(marked())
def test_the_correlation_is_the_point_biserial_one(given_: tuple[dict[str, float], dict[str, float]]) -> None:
    item, rest = given_
    found = item_total(item, rest)
    assert found.n == len(item)
    if len(set(item.values())) == 1 or len(set(rest.values())) == 1:
        assert (found.value, bool(found.reason)) == (None, True)
        return
    order = sorted(item)
    oracle = stats.pointbiserialr([bool(item[n]) for n in order], [rest[n] for n in order]).statistic
    assert found.value == pytest.approx(float(oracle), abs=1e-9)
    # By hand: the means of those who meet it and of those who do not, apart, in spreads of all.
    met, missed = ([rest[n] for n in order if item[n] == value] for value in (1.0, 0.0))
    share = len(met) / len(order)
    by_hand = (fmean(met) - fmean(missed)) / pstdev(rest.values()) * sqrt(share * (1 - share))
    assert found.value == pytest.approx(by_hand, abs=1e-9)


def test_groups_are_the_ends_and_ties_share_places() -> None:
    rest = {name: float(n) for n, name in enumerate("abcdefgh")}
    assert group_size(8) == 2
    assert discrimination({name: float(name in "fgh") for name in rest}, rest).value == 1.0
    assert discrimination({name: float(name in "ah") for name in rest}, rest).value == 0.0
    # Three are tied for the two lowest places: each has two thirds of one.
    tied = {**rest, "a": 1.0, "c": 1.0}
    assert discrimination({name: float(name == "a") for name in rest}, tied).value == pytest.approx(-1 / 3)


@pytest.mark.parametrize("count", range(LEAST_PAINTERS))
def test_of_few_painters_nothing_is_said(count: int) -> None:
    item = {f"p{n}": float(n % 2) for n in range(count)}
    rest = {f"p{n}": n / 7 for n in range(count)}
    assert item_total(item, rest).value is None
    assert discrimination(item, rest).value is None
    assert item_total(item, rest).reason == f"fewer than {LEAST_PAINTERS} painters"


def test_the_rest_has_neither_the_item_nor_what_is_undecided_for_somebody() -> None:
    table = ItemTable({"x": {"a": 1, "b": 0}, "y": {"a": 1, "b": 1}, "z": {"a": 0, "b": 1}, "part": {"a": 1}})
    assert table.complete == {"x", "y", "z"}
    assert table.rest(["x"]) == {"a": 0.5, "b": 1.0}
    assert table.rest(["part"]) == table.rest([]) == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3)}
    assert table.rest(["x", "y", "z"]) == {}
