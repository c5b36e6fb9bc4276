"""Judges compared through a store: marks, scores, orders, steadiness, cost; every way of asking counts as a judge."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.scoring import compare
from limner.scoring.compare import Agreement, AgreementNumber, Opinion
from limner.scoring.compare.opinions import ComparedDrawings, SeenDrawing
from limner.scoring.compare.pair_numbers import mark_numbers
from limner.store import Store
from tests.scoring.compare.desk import Desk

LEVELS = ("component", "topology", "phase", "semantics")
SKILLS = {"poor": 0.3, "fair": 0.6, "good": 0.9}


def agreement(desk: Desk, **which: Any) -> Agreement:
    return compare.judges(desk.exam.name, store=desk.store, **which)


def value(found: Agreement, measure: str, score: str = "all", unit: str = "drawing") -> float:
    """Return a number of the only two judges."""
    first, second = (rater.name for rater in found.raters)
    number = found.number(first, second, measure, score, unit=unit)
    assert number is not None
    assert number.value is not None
    return number.value


def fill(desk: Desk, slip: float = 0.0, **how: Any) -> None:
    """Three painters marked once; with chance `slip` a mark is turned round."""
    for painter, skill in SKILLS.items():
        for question in desk.exam.questions:
            values = desk.random(question, skill, painter)
            turned = random.Random(f"{question.id} {painter} {how}")
            tops = {criterion.id: criterion.top for criterion in desk.protocol.criteria(question)}
            for id, value in values.items():
                if value is not None and turned.random() < slip:
                    values[id] = tops[id] - value
            desk.put(painter, question, values, **how)


def marks(values: list[float | None]) -> dict[str, float]:
    return {f"{LEVELS[n % 4]}/{n}": value for n, value in enumerate(values) if value is not None}


def test_agreement_is_given_per_level_and_overall(store: Store) -> None:
    first = Opinion("a", "judge", marks={"x": marks([1, 0, 1, 1]), "only first": marks([1])})
    second = Opinion("b", "judge", marks={"x": marks([1, 1, 1, None])})
    seen = {id: SeenDrawing("p", id, id, {}) for id in ("x", "only first")}
    field = ComparedDrawings(Desk(store, "sample/aibench").protocol, seen, {})
    numbers = {(one.score, one.measure): one for one in mark_numbers(first, second, field, AgreementNumber("a", "b"))}
    everything = {measure: one.value for (score, measure), one in numbers.items() if score == "all"}
    assert numbers["all", "accuracy"].n == 3
    assert (everything["first_only"], everything["second_only"]) == (1, 0)
    assert (everything["accuracy"], everything["kappa"]) == pytest.approx((2 / 3, 0))
    assert (numbers["topology", "accuracy"].value, numbers["topology", "accuracy"].n) == (0.0, 1)
    assert ("semantics", "accuracy") not in numbers


def test_repeats_are_combined_by_majority(store: Store) -> None:
    """A judge whose repeats are tied on a criterion has no opinion on it; the tie is counted."""
    desk = Desk(store, "sample/genexam")
    question = desk.exam.questions[0]
    best = desk.marks(question, lambda top: top)
    ids = [id for id in best if id.startswith("point/")]
    wrong = [{ids[0], ids[1]}, {ids[0], ids[2]}, {ids[0]}]
    for repeat, turned in enumerate(wrong):
        desk.put("p", question, {id: 0 if id in turned else top for id, top in best.items()}, judge="a", repeat=repeat)
    for repeat, turned in enumerate([set[str](), {ids[0]}]):
        desk.put("p", question, {id: 0 if id in turned else top for id, top in best.items()}, judge="b", repeat=repeat)
    found = agreement(desk)
    assert [(rater.ties, rater.markings, len(rater.parts)) for rater in found.raters] == [(0, 3, 1), (1, 2, 1)]
    assert value(found, "accuracy") == 1.0
    assert (value(found, "first_only"), value(found, "second_only")) == (1, 0)


def test_controls_lacking_questions_are_not_ranked(store: Store) -> None:
    """Painters are ranked on what `comparable` allows: a control neither cuts the common questions nor is ranked."""
    desk = Desk(store, "sample/mmmg")
    fill(desk, judge="a")
    fill(desk, slip=0.2, judge="b")
    question = desk.exam.questions[0]
    for judge in "ab":
        desk.put("control/blank", question, desk.marks(question, lambda _: 0), judge=judge)
    number = agreement(desk).number("a", "b", "spearman", "fidelity_exact", unit="painter")
    assert number is not None
    assert number.n == len(SKILLS)


def test_two_ways_of_asking_one_judge_are_compared(store: Store) -> None:
    """AIBench's single and batched: both are there without being named, and told apart by what differs."""
    desk = Desk(store, "sample/aibench")
    fill(desk, variant="single", templates="aa")
    fill(desk, slip=0.2, variant="batched", templates="bb")
    found = agreement(desk)
    assert [rater.name for rater in found.raters] == ["judge · batched", "judge · single"]
    assert 0.7 < value(found, "accuracy") < 0.9
    counts = {one.score: one.n for one in found.numbers if one.measure == "accuracy"}
    assert set(counts) == {"all", *LEVELS}
    assert counts.pop("all") == sum(counts.values())
    assert value(found, "kappa") == pytest.approx(value(found, "alpha_nominal"), abs=0.01)
    assert 0.3 < value(found, "ICC(2,1)", "overall") < 1
    assert (found.score.name, value(found, "spearman", "overall", unit="painter")) == ("overall", 1.0)
    assert [rater.name for rater in agreement(desk, variant="single").raters] == ["judge · single"]


@pytest.mark.slow
def test_rank_correlation_and_shift_use_reported_scores(store: Store) -> None:
    desk = Desk(store, "sample/mmmg")
    fill(desk, judge="mild")
    for painter, skill in SKILLS.items():
        for question in desk.exam.questions:
            desk.put(painter, question, desk.random(question, 1 - skill, painter, "other"), judge="odd")
    printed = {
        (standing.judge, standing.painter): standing.scores["fidelity_exact"].value or 0.0
        for standing in api.scores("sample/mmmg", store=store)
    }
    found = agreement(desk, score="fidelity_exact")
    assert {one.score for one in found.numbers if one.unit == "painter"} == {"fidelity_exact"}
    for measure in ("spearman", "kendall"):
        assert value(found, measure, "fidelity_exact", unit="painter") == -1.0
    gaps = [printed["odd", painter] - printed["mild", painter] for painter in SKILLS]
    assert value(found, "shift", "fidelity_exact", unit="painter") == pytest.approx(sum(gaps) / 3)


def test_flips_are_measured_over_repeats(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    question, other = desk.exam.questions[:2]
    best = desk.marks(question, lambda top: top)
    ids = list(best)
    for repeat, turned in enumerate([None, ids[0], None]):
        desk.put("p", question, {id: 0 if id == turned else value for id, value in best.items()}, repeat=repeat)
    desk.put("p", other, desk.marks(other, lambda top: top))
    (rater,) = agreement(desk).raters
    assert (rater.flips.n, len(rater.parts), rater.markings) == (len(ids), 2, 4)
    assert rater.flips.rate.value == pytest.approx(2 / 3 / len(ids))
    assert rater.flips.ever.value == pytest.approx(1 / len(ids))
    assert "nothing to compare it with" in (agreement(desk).reason or "")


def test_cost_per_image_is_averaged(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    first, second = desk.exam.questions[:2]
    desk.put("p", first, desk.random(first, 0.5), cost=0.25)
    desk.put("p", second, None, cost=0.5)
    (rater,) = agreement(desk).raters
    assert (rater.cost.value, rater.cost.n) == (0.375, 2)
    assert rater.seconds.reason == "nothing was measured"
    desk.put("p", second, None, cost=None)
    (rater,) = agreement(desk).raters
    assert rater.cost.reason == "the cost of 1 of 2 markings is unknown"


@pytest.mark.slow
def test_only_criteria_decided_by_both_judges_are_compared(store: Store) -> None:
    """Only what both decided is compared, and no score is made up for the one that leaves it open."""
    desk = Desk(store, "sample/genexam")
    fill(desk, judge="sees all")
    for painter, skill in SKILLS.items():
        for question in desk.exam.questions:
            values = desk.random(question, skill, painter)
            first = next(iter(values))
            desk.put(painter, question, {id: value if id == first else None for id, value in values.items()}, judge="x")
    found = agreement(desk)
    assert found.score == compare.MET
    assert value(found, "accuracy") == 1.0
    marked = found.number("sees all", "x", "accuracy", "all")
    assert marked is not None
    assert marked.n == 3 * len(desk.exam.questions)
    total = sum(len(desk.protocol.criteria(question)) for question in desk.exam.questions)
    only = value(found, "first_only"), value(found, "second_only")
    assert only == (3 * (total - len(desk.exam.questions)), 0)
    assert value(found, "shift", "met", unit="painter") == 0.0
    strict = agreement(desk, score="relaxed")
    assert strict.number("sees all", "x", "spearman", "relaxed", unit="painter") is None
    assert strict.number("sees all", "x", "ICC(2,1)", "relaxed") is None
    with pytest.raises(UsageError, match="--score colour: choose from strict"):
        agreement(desk, score="colour")


@pytest.mark.slow
def test_result_is_independent_of_storage_order(tmp_path: Path) -> None:
    results = []
    for order in (1, 2):
        with Store(tmp_path / str(order)) as store:
            desk = Desk(store, "sample/aibench")
            work = [
                (judge, painter, question) for judge in "ab" for painter in SKILLS for question in desk.exam.questions
            ]
            random.Random(order).shuffle(work)
            for judge, painter, question in work:
                desk.put(painter, question, desk.random(question, SKILLS[painter], painter, judge), judge=judge)
            results.append(json.dumps(agreement(desk).to_json(), sort_keys=True))
    assert results[0] == results[1]
