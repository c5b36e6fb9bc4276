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
from limner.scoring.compare import Agreement, JudgePair
from limner.scoring.compare.judges import marks_compared
from limner.scoring.stats import FORMS
from limner.store import Store
from tests.scoring.compare.desk import Desk

LEVELS = ("component", "topology", "phase", "semantics")
SKILLS = {"poor": 0.3, "fair": 0.6, "good": 0.9}


def agreement(desk: Desk, **which: Any) -> Agreement:
    return compare.judges(desk.exam.name, store=desk.store, **which)


def pair_of(desk: Desk, **which: Any) -> JudgePair:
    (found,) = agreement(desk, **which).pairs
    return found


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


def test_levels_and_all() -> None:
    first = {("x", 0): marks([1, 0, 1, 1]), ("only first", 0): marks([1])}
    found = marks_compared(first, {("x", 0): marks([1, 1, 1, None])}, {"x": "q", "only first": "r"})
    everything = found["all"]
    assert (everything.n, everything.first_only, everything.second_only) == (3, 1, 0)
    told = [everything.same.value, everything.first, everything.second, everything.kappa.value]
    assert told == pytest.approx([2 / 3, 2 / 3, 1, 0])
    level = found["topology"]
    assert (level.n, level.same.value, level.first, level.second, level.kappa.value) == (1, 0.0, 0.0, 1.0, 0.0)
    assert "semantics" not in found


def test_two_ways_of_asking_one_judge(store: Store) -> None:
    """AIBench's single and batched: both are there without being named, and told apart by what differs."""
    desk = Desk(store, "sample/aibench")
    fill(desk, variant="single", templates="aa")
    fill(desk, slip=0.2, variant="batched", templates="bb")
    found = agreement(desk)
    assert [rater.name for rater in found.raters] == ["judge · batched", "judge · single"]
    (pair,) = found.pairs
    assert set(pair.marks) == {"all", *LEVELS}
    assert 0.7 < (pair.marks["all"].same.value or 0) < 0.9
    assert pair.marks["all"].n == sum(body.n for sort, body in pair.marks.items() if sort != "all")
    assert (pair.marks["all"].kappa.value or 0) == pytest.approx(pair.alpha["all"]["nominal"].value, abs=0.01)
    assert set(pair.icc) == set(FORMS)
    assert 0.3 < (pair.icc["ICC(2,1)"].value or 0) < 1
    assert (found.score.name, len(pair.order.scores), pair.order.spearman.value) == ("overall", 3, 1.0)
    assert [rater.name for rater in agreement(desk, variant="single").raters] == ["judge · single"]


@pytest.mark.slow
def test_orders_and_shift_are_those_of_the_scores(store: Store) -> None:
    desk = Desk(store, "sample/mmmg")
    fill(desk, judge="mild")
    for painter, skill in SKILLS.items():
        for question in desk.exam.questions:
            desk.put(painter, question, desk.random(question, 1 - skill, painter, "other"), judge="odd")
    printed = {
        (standing.judge, standing.painter): standing.scores["fidelity_exact"].value
        for standing in api.scores("sample/mmmg", store=store)
    }
    order = pair_of(desk, score="fidelity_exact").order
    assert order.spearman.value == order.kendall.value == -1.0
    assert order.questions == len(desk.exam.questions)
    for painter, (mild, odd) in order.scores.items():
        assert (mild, odd) == (printed["mild", painter], printed["odd", painter])
    gaps = [odd - mild for mild, odd in order.scores.values()]
    assert order.shift == pytest.approx(sum(gaps) / 3)


def test_flips_over_repeats(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    question, other = desk.exam.questions[:2]
    best = desk.marks(question, lambda top: top)
    ids = list(best)
    for repeat, turned in enumerate([None, ids[0], None]):
        desk.put("p", question, {id: 0 if id == turned else value for id, value in best.items()}, repeat=repeat)
    desk.put("p", other, desk.marks(other, lambda top: top))
    (rater,) = agreement(desk).raters
    assert (rater.flips.n, len(rater.clusters), len(rater.entries)) == (len(ids), 2, 4)
    assert rater.flips.rate.value == pytest.approx(2 / 3 / len(ids))
    assert rater.flips.ever.value == pytest.approx(1 / len(ids))
    assert "nobody to compare it with" in (agreement(desk).reason or "")


def test_cost_of_an_image(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    first, second = desk.exam.questions[:2]
    desk.put("p", first, desk.random(first, 0.5), cost=0.25)
    desk.put("p", second, None, cost=0.5)
    (rater,) = agreement(desk).raters
    assert (rater.cost.value, rater.cost.n) == (0.375, 2)
    assert rater.seconds.reason == "nothing was measured"
    desk.put("p", second, None, cost=None)
    (rater,) = agreement(desk).raters
    assert rater.cost.reason == "the cost of 1 of 2 markings is not known"


@pytest.mark.slow
def test_a_judge_that_abstains(store: Store) -> None:
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
    (pair,) = found.pairs
    assert pair.marks["all"].n == 3 * len(desk.exam.questions)
    assert pair.marks["all"].same.value == 1.0
    total = sum(len(desk.protocol.criteria(question)) for question in desk.exam.questions)
    alone = pair.marks["all"]
    assert (alone.first_only, alone.second_only) == (3 * (total - len(desk.exam.questions)), 0)
    assert pair.order.shift == 0.0
    strict = pair_of(desk, score="relaxed")
    assert strict.order.spearman.reason == "an order needs two"
    assert strict.icc["ICC(2,1)"].value is None
    with pytest.raises(UsageError, match="--score colour: there is: strict"):
        agreement(desk, score="colour")


@pytest.mark.slow
def test_what_was_stored_first_does_not_matter(tmp_path: Path) -> None:
    told = []
    for order in (1, 2):
        with Store(tmp_path / str(order)) as store:
            desk = Desk(store, "sample/aibench")
            work = [
                (judge, painter, question) for judge in "ab" for painter in SKILLS for question in desk.exam.questions
            ]
            random.Random(order).shuffle(work)
            for judge, painter, question in work:
                desk.put(painter, question, desk.random(question, SKILLS[painter], painter, judge), judge=judge)
            told.append(json.dumps(agreement(desk).to_json(), sort_keys=True))
    assert told[0] == told[1]
