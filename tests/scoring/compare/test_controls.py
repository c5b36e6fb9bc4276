"""Painters compared with controls: every output names the same winner, p is uncorrected, a control has no place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.exam import Question
from limner.scoring.compare.pairs import side_pairs
from limner.store import Store
from limner.tables.results import Comparisons
from tests.cli.invoke import limner
from tests.scoring.compare.desk import Desk

EXAM = "sample/genexam"
REFERENCE, BLANK = "control/reference", "control/blank"
RIGHT = {"alpha": 13, "beta": 3, REFERENCE: 13, BLANK: 0}
"""How many of the 13 questions each has right."""
BETTER = f"{REFERENCE} is better"


def put(desk: Desk, painter: str, question: Question[Any], right: bool) -> None:
    desk.put(painter, question, desk.marks(question, lambda top: top if right else 0))


def fill(store: Store, right: dict[str, int]) -> Desk:
    desk = Desk(store, EXAM)
    for painter, count in right.items():
        for n, question in enumerate(desk.exam.questions):
            put(desk, painter, question, n < count)
    return desk


@pytest.fixture
def examined(store: Store) -> Store:
    """Two painters, one of them below a control, and a control below both."""
    fill(store, RIGHT)
    return store


def store_folder(store: Store) -> Path:
    assert store.file is not None
    return store.file.parent


def compared(store: Store, **how: Any) -> Comparisons:
    return api.compare(EXAM, store=store, **how)


def test_a_painter_below_a_control_loses(examined: Store) -> None:
    (found,) = compared(examined)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert [*pairs] == [("alpha", "beta"), ("alpha", REFERENCE), ("alpha", BLANK), (REFERENCE, "beta"),
                        (REFERENCE, BLANK), ("beta", BLANK)]  # fmt: skip
    lost = pairs[REFERENCE, "beta"]
    assert lost.difference.value == lost.gap == pytest.approx(1000 / 13)
    assert (lost.winner, lost.verdict) == (REFERENCE, BETTER)
    assert pairs["alpha", REFERENCE].winner is None
    assert side_pairs(found.compared, found.score) == found.pairs


def test_controls_cost_no_power_and_have_no_place(examined: Store) -> None:
    (found,) = compared(examined)
    (alone,) = compared(examined, painters=["alpha", "beta"])
    assert found.tests == alone.tests == 1
    assert found.pairs[0] == alone.pairs[0]
    assert found.pairs[0].p_holm == found.pairs[0].p.value
    assert [(place.painter, place.rank and place.rank.words) for place in found.places] == [
        ("alpha", "1st"), ("beta", "2nd"), (REFERENCE, None), (BLANK, None),
    ]  # fmt: skip
    for pair in found.pairs[1:]:
        assert (pair.corrected, pair.p_holm) == (False, None)
        assert (pair.winner is not None) == ((pair.p.value or 0) < 0.05)


def test_each_on_its_own_questions_a_pair_goes_by_its_own_difference(store: Store) -> None:
    """The one with the higher score has easy questions besides; on the questions both have, the other is better."""
    desk = fill(store, {"narrow": 0, REFERENCE: 13})
    easy, hard = desk.exam.questions[:6], desk.exam.questions[6:]
    for question in desk.exam.questions:
        put(desk, "wide", question, question in easy)
        desk.put("narrow", question, None)
    for question in hard:
        put(desk, "narrow", question, question in hard[:3])
    (found,) = compared(store, on="all")
    values = {place.painter: place.score.value or 0 for place in found.places}
    assert values["wide"] > values["narrow"]
    (pair,) = [pair for pair in found.pairs if pair.corrected]
    assert (pair.first, pair.second) == ("narrow", "wide")
    assert pair.difference.value == pytest.approx(300 / 7)


def test_only_controls(store: Store) -> None:
    fill(store, {REFERENCE: 13, BLANK: 0})
    (found,) = compared(store)
    (pair,) = found.pairs
    assert (found.tests, found.reason, pair.p_holm, pair.winner) == (0, None, None, REFERENCE)
    assert [place.rank for place in found.places] == [None, None]
    out = str(compared(store))
    assert "pairs with a control, the better one first · p uncorrected" in out
    assert "Holm" not in out
    assert "0 test" not in out


def test_in_the_terminal(examined: Store) -> None:
    out = limner("compare", EXAM, "--store", store_folder(examined)).out
    lines = out.splitlines()
    assert any("every two painters, the better one first · 1 test" in line for line in lines)
    assert any("pairs with a control, the better one first · p uncorrected" in line for line in lines)
    (line,) = [line for line in lines if REFERENCE in line and "beta" in line]
    assert line.index(REFERENCE) < line.index("beta")
    assert "76.9" in line
    assert BETTER in line
    assert "-76.9" not in out


def test_as_json(examined: Store) -> None:
    (found,) = limner("compare", EXAM, "--store", store_folder(examined), "--format", "json").json()
    (pair,) = [pair for pair in found["pairs"] if {pair["first"], pair["second"]} == {"beta", REFERENCE}]
    assert (pair["first"], pair["winner"], pair["verdict"]) == (REFERENCE, REFERENCE, BETTER)
    assert (pair["p_holm"], pair["corrected"]) == (None, False)
    assert pair["difference"]["value"] == pair["gap"] > 0
    assert found["tests"] == 1
