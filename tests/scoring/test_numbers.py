"""Numbers of rows: parts, costs, places, and what is worked out when it is looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import api
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.core.protocol import Row, Score
from limner.exams.genexam.data import ScoringPoint, ScoringPointsRubric
from limner.exams.genexam.protocol import GenExam
from limner.scoring import Entry, Numbers
from limner.scoring.comparable import NumbersOf, lead, ordered, places, printed
from limner.scoring.numbers import LazyMapping, RowParts, gather_parts, row_parts
from limner.scoring.standings import Costs, costs
from limner.scoring.stats import Interval
from limner.store import Store
from limner.store.markings import Marking
from limner.store.records import Drawing
from tests.cli.invoke import limner as command
from tests.scoring.compare.desk import Desk
from tests.scoring.test_comparable import QUESTIONS

QUESTION: Question[Any] = QUESTIONS[0]


def entry(id: str, spec: str = "lab/one", cost: float | None = 0.2, **how: Any) -> Entry:
    status, paid = how.get("status", "done"), how.get("paid", 0.01)
    drawing = Drawing(id, "x", QUESTION.id, QUESTION.hash, "one", spec, "direct", 0, status, cost=cost)
    return Entry(QUESTION, drawing, Marking(f"m{id}", id, QUESTION.hash, None, "s", 0, status, cost=paid))


def numbers(some: list[Entry]) -> list[float | None]:
    found = costs(some)
    return [found.drawing, found.marking]


def test_cost_includes_failures_and_counts_repeats_once() -> None:
    some = [entry("a"), entry("b", cost=0.4, status="failed", paid=0.03)]
    assert numbers(some) == pytest.approx([0.6, 0.04])
    again = replace(some[0], marking=replace(some[0].marking, id="again", repeat=1))  # type: ignore[type-var]
    assert numbers([some[0], again]) == pytest.approx([0.2, 0.01])


@pytest.mark.parametrize("spec", ["folder/./images", "python/mine.py:draw"])
def test_drawings_made_elsewhere_have_unknown_cost(spec: str) -> None:
    assert costs([entry("a", spec, 0.0)]).drawing is None


def test_unknown_price_makes_mean_unknown() -> None:
    assert costs([entry("a"), entry("b", cost=None, paid=None)]) == Costs(None, None)
    assert costs([]) == Costs(None, None)
    assert costs([entry("a", "control/blank", 0.0, paid=0.0)]) == Costs(0.0, 0.0), "nothing was paid, and that is known"


def test_lazy_mapping_is_built_once_on_first_access() -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"a": 1}

    found = LazyMapping(make)
    assert made == []
    assert found["a"] == 1
    assert (dict(found), len(found), found == {"a": 1}) == ({"a": 1}, 1, True)
    assert made == [1]


def test_contradictory_mark_is_rejected_from_json() -> None:
    with pytest.raises(ValueError, match="only an answer has a value"):
        Mark.from_json({**Mark("x", 1).to_json(), "verdict": "abstain"})


RUBRIC = ScoringPointsRubric(scoring_points=(ScoringPoint(question="Is it there?", score=1.0),))
values = st.none() | st.floats(0, 100) | st.integers(0, 2)
rows_of_scores = st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), min_size=1, max_size=8)


@given(rows_of_scores, st.randoms(use_true_random=False))
def test_column_means_equal_row_by_row_calculation(many: list[dict[str, Any]], random: Any) -> None:
    protocol = GenExam()
    questions = [Question(f"q{n}", "Draw it.", RUBRIC) for n in range(len(many))]
    random.shuffle(questions)
    rows = [Row(question, (), scores) for question, scores in zip(questions, many, strict=True)]
    found, settled = row_parts(rows, protocol)
    wanted, counted = gather_parts(RowParts(row.question.id, row.question.id, protocol.parts(row)) for row in rows)
    assert settled == counted
    assert found.keys() == wanted.keys()
    for name, pair in wanted.items():
        assert all(np.array_equal(one, other) for one, other in zip(found[name], pair, strict=True))


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


def test_ties_share_place_and_are_ordered_by_next_score() -> None:
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


def test_score_missing_for_most_painters_gives_no_places() -> None:
    rows = [row("a", None, 40.0, met=0.1), row("b", 10.0, 50.0, met=0.2), row("control/x", 1.0, control=True)]
    assert lead(rows, SCORES) is RELAXED
    assert lead(rows[1:2], SCORES) is STRICT
    assert lead([row("a", met=0.5)], SCORES) is None
    assert listed([row("a", met=0.1), row("b", met=0.2)]) == ["b", "a"]
    assert places(rows[1:], STRICT) == [None, None], "one alone has no place"
    assert places(rows, STRICT) == [None, None, None]


def test_sheet_settled_at_zero_ranks_below_undecided_painters() -> None:
    """Where a judge abstains, only the worst is settled: a blank sheet has no point met."""
    rows = [row("a blank sheet", 0.0, met=0.0), row("b", met=0.63), row("c", met=0.9), row("d", 0.0, met=0.1)]
    assert listed(rows) == ["c", "b", "d", "a blank sheet"]
    assert places(rows, lead(rows, SCORES)) == [None] * 4


value = st.none() | st.sampled_from([0.0, 10.0, 10.04, 50.0])


@given(st.lists(st.tuples(value, value, st.booleans()), max_size=7), st.sampled_from([None, *SCORES]))
def test_places_follow_order_and_keep_all_rows(found: list[Any], by: Score | None) -> None:
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


def test_terminal_and_json_rank_by_sorting_score(store: Store) -> None:
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
