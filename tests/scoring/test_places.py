"""One order and one place for every painter, whoever shows them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limner import api
from limner.core.protocol import Score
from limner.scoring import Numbers
from limner.scoring.places import NumbersOf, lead, ordered, places, printed
from limner.scoring.stats import Interval
from limner.store import Store
from tests.cli.invoke import limner as command
from tests.scoring.compare.desk import Desk

STRICT, RELAXED, LOGIC = (
    Score(name, 100, "", digits=1, main=name != "logic") for name in ("strict", "relaxed", "logic")
)
SCORES = (STRICT, RELAXED, LOGIC)
EXAM = "sample/genexam"


def row(name: str, *values: float | None, control: bool = False, met: float = 0.0) -> NumbersOf:
    known = {s.name: Interval(value) for s, value in zip(SCORES, values, strict=False) if value is not None}
    return NumbersOf(name, Numbers(9 if known or met else 0, known, decided={"met": met}), control)


def listed(rows: list[NumbersOf], by: Score | None = None) -> list[str]:
    return [rows[n].name for n in ordered(rows, SCORES, by)]


def test_equals_share_a_place_and_the_next_score_that_they_have_orders_them() -> None:
    rows = [
        row("a blank sheet", 0.0, 10.0),
        row("b", 50.0),
        row("c", 0.04, 63.4),
        row("d", 50.0, 20.0),
        row("e"),
        row("control/x", 90.0, 90.0, control=True),
    ]
    assert listed(rows) == ["b", "d", "c", "a blank sheet", "e", "control/x"]
    assert places(rows, STRICT) == [3, 1, 3, 1, None, None]
    assert listed(rows, RELAXED) == ["c", "d", "a blank sheet", "b", "e", "control/x"]
    assert places(rows, RELAXED) == [3, None, 1, 2, None, None]


def test_a_score_that_most_do_not_have_places_nobody() -> None:
    rows = [row("a", None, 40.0, met=0.1), row("b", 10.0, 50.0, met=0.2), row("control/x", 1.0, control=True)]
    assert lead(rows, SCORES) is RELAXED
    assert lead(rows[1:2], SCORES) is STRICT
    assert lead([row("a", met=0.5)], SCORES) is None
    assert listed([row("a", met=0.1), row("b", met=0.2)]) == ["b", "a"]
    assert places(rows[1:], STRICT) == [None, None], "one alone has no place"
    assert places(rows, STRICT) == [None, None, None]


def test_a_sheet_that_is_settled_at_nothing_stands_below_those_whose_score_is_open() -> None:
    """Where a judge abstains, only the worst is settled: a blank sheet has no point met."""
    rows = [row("a blank sheet", 0.0, met=0.0), row("b", met=0.63), row("c", met=0.9), row("d", 0.0, met=0.1)]
    assert listed(rows) == ["c", "b", "d", "a blank sheet"]
    assert places(rows, lead(rows, SCORES)) == [None] * 4


value = st.none() | st.sampled_from([0.0, 10.0, 10.04, 50.0])


@given(st.lists(st.tuples(value, value, st.booleans()), max_size=7), st.sampled_from([None, *SCORES]))
def test_places_follow_the_order_and_nobody_is_lost(found: list[Any], by: Score | None) -> None:
    rows = [row(f"p{n}", one, two, control=control) for n, (one, two, control) in enumerate(found)]
    order = ordered(rows, SCORES, by)
    assert sorted(order) == list(range(len(rows)))
    controls = [rows[n].control for n in order]
    assert controls == sorted(controls)
    score = by or lead(rows, SCORES)
    given_places = places(rows, score)
    seen = [place for n in order if (place := given_places[n]) is not None]
    assert seen == sorted(seen)
    if score is not None:
        for n in order:
            assert given_places[n] is None or printed(rows[n], score) is not None


def test_the_terminal_and_json_place_by_the_score_they_are_sorted_by(store: Store) -> None:
    desk = Desk(store, EXAM)
    first, second = desk.exam.questions[:2]
    for question in (first, second):
        names = [criterion.id for criterion in desk.protocol.criteria(question)]
        desk.put("blank", question, desk.marks(question, lambda top: 0))
        desk.put("near", question, desk.marks(question, lambda top: top) | {names[0]: 0})
        right = desk.marks(question, lambda top: top)
        desk.put("whole", question, right if question is first else dict.fromkeys(right, 0))
    rows = api.scores(EXAM, store=store)
    assert [(each.painter, each.place) for each in rows] == [("whole", 1), ("near", 2), ("blank", 2)]
    found = command("scores", EXAM, "--store", store.url, "--sort", "relaxed", "--format", "json").json()
    assert [(each["painter"], each["place"]) for each in found] == [("near", 1), ("whole", 2), ("blank", 3)]
    found = command("scores", EXAM, "--store", store.url, "--sort", "name", "--format", "json").json()
    assert [(each["painter"], each["place"]) for each in found] == [("blank", 2), ("near", 2), ("whole", 1)]
