"""Painters compared through a store: the same numbers as the tables have, whatever was stored first."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.core.exam import Selection
from limner.scoring import compare
from limner.scoring.compare import Comparison
from limner.store import Store
from tests.scoring.compare.desk import Desk

SAMPLES = ["sample/genexam", "sample/mmmg", "sample/worldgenbench", "sample/fepbench", "sample/aibench"]
SKILLS = {"poor": 0.3, "fair": 0.6, "good": 0.9}


def fill(desk: Desk, order: int | None = None, skills: dict[str, float] | None = None, **setup: Any) -> None:
    work = [(painter, question) for painter in skills or SKILLS for question in desk.exam.questions]
    if order is not None:
        random.Random(order).shuffle(work)
    for painter, question in work:
        skill = (skills or SKILLS)[painter]
        desk.put(painter, question, desk.random(question, skill, painter), **setup)
        if desk.exam.kind == "mmmg":
            desk.count(painter, question, 90)


def compared(desk: Desk, **which: Any) -> Comparison:
    (found,) = compare.painters(desk.exam.name, store=desk.store, **which)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
def test_differences_are_those_of_the_printed_scores(store: Store, sample: str) -> None:
    """For every main score of every exam: means, averages over criteria and levels, and what is derived from them."""
    desk = Desk(store, sample)
    fill(desk)
    printed = {standing.painter: standing for standing in api.scores(sample, store=store)}
    names = [score.name for score in desk.protocol.scored if score.main]
    seen = 0
    for name in names:
        found = compared(desk, score=name)
        for place in found.places:
            common = printed[place.painter].common
            assert common is not None
            assert place.score == common.scores[name]
            assert place.pessimistic == printed[place.painter].pessimistic.value(name)
        values = {place.painter: place.score.value for place in found.places}
        for pair in found.pairs:
            one, other = values[pair.first], values[pair.second]
            assert one is not None
            assert other is not None
            assert pair.difference.value == one - other >= 0
            assert pair.difference.low is not None
            assert pair.difference.high is not None
            assert pair.difference.low <= pair.difference.value <= pair.difference.high
            assert 0 < (pair.p.value or 0) <= (pair.p_holm or 0) <= 1
            seen += 1
    assert seen >= 9


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["sample/aibench", "sample/fepbench"])
def test_what_was_stored_first_does_not_matter(tmp_path: Path, sample: str) -> None:
    told = []
    for order in (1, 2):
        with Store(tmp_path / str(order)) as store:
            desk = Desk(store, sample)
            fill(desk, order)
            told.append(json.dumps([each.to_json() for each in compare.painters(sample, store=store)], sort_keys=True))
    assert told[0] == told[1]


def test_skill_shows(store: Store) -> None:
    desk = Desk(store, "sample/aibench")
    fill(desk)
    found = compared(desk)
    assert found.score.name == "overall"
    assert [place.painter for place in found.places] == ["good", "fair", "poor"]
    assert [place.rank.words for place in found.places if place.rank] == ["1st", "2nd", "3rd"]
    assert (found.questions, found.tests, len(found.pairs)) == (8, 3, 3)
    best = next(pair for pair in found.pairs if (pair.first, pair.second) == ("good", "poor"))
    assert (best.winner, best.verdict) == ("good", "good is better")
    assert best.p.value == pytest.approx(2 / 2**8)
    assert best.p_holm == pytest.approx(3 * 2 / 2**8)
    assert (best.effect.value or 0) > 1


def test_painters_that_are_alike(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for painter in ("one", "two"):
            desk.put(painter, question, desk.random(question, 0.5, "same"))
    (pair,) = compared(desk).pairs
    assert (pair.difference.value, pair.p.value, pair.winner) == (0.0, 1.0, None)
    assert pair.verdict == "the same on every question"
    assert pair.needed.reason == "no number of questions tells a gap of nothing"
    assert [place.rank.words for place in compared(desk).places if place.rank] == ["1st to 2nd"] * 2


def test_how_many_questions_it_would_take(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    fill(desk, skills={"one": 0.5, "two": 0.55})
    (pair,) = compared(desk, score="relaxed").pairs
    (wide,) = compared(desk, score="relaxed", gap=2 * abs(pair.difference.value or 0)).pairs
    assert pair.gap == pair.difference.value
    assert pair.needed.value is not None
    assert wide.needed.value is not None
    assert wide.needed.value < pair.needed.value
    assert pair.verdict.startswith("not distinguishable")
    with pytest.raises(UsageError, match="a gap must be above 0"):
        compared(desk, gap=0.0)


def test_questions_are_counted_where_clusters_are_drawn(store: Store) -> None:
    """FEPBench draws every figure in two regimes: a pair of questions is one case, and both have to be paid for."""
    desk = Desk(store, "sample/fepbench")
    fill(desk, skills={"one": 0.5, "two": 0.6})
    (pair,) = compared(desk, score="if").pairs
    assert len(desk.exam.questions) == 16
    assert pair.difference.n == 8
    assert pair.needed.value is not None
    assert pair.needed.value % 2 == 0


def test_only_common_questions_count(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    first, *rest = desk.exam.questions
    fill(desk, skills={"one": 0.9, "two": 0.4})
    desk.put("two", first, None)
    found = compared(desk)
    assert found.questions == len(rest)
    two = next(place for place in found.places if place.painter == "two")
    assert (two.n, two.expected, two.failures) == (len(rest), len(rest) + 1, {"refusal": 1})
    assert two.coverage < 1
    assert two.pessimistic is not None
    assert two.score.value is not None
    assert two.pessimistic <= two.score.value


def test_by_a_tag_all_pairs_are_corrected_together(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    fill(desk)
    found = compare.painters("sample/genexam", store=store, by="difficulty")
    assert [one.category for one in found] == ["easy", "medium", "hard"]
    assert {one.tests for one in found} == {sum(len(one.pairs) for one in found)}
    assert sum(one.questions for one in found) == len(desk.exam.questions)
    whole = api.scores("sample/genexam", store=store, by=["difficulty"])
    for one in found:
        for place in one.places:
            standing = next(each for each in whole if each.painter == place.painter)
            assert place.score == standing.by["difficulty"][one.category or ""].scores[one.score.name]
    with pytest.raises(UsageError, match="--by colour: there is: difficulty"):
        compare.painters("sample/genexam", store=store, by="colour")


def test_where_the_judge_abstains_what_it_decided_is_compared(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        ids = [criterion.id for criterion in desk.protocol.criteria(question)]
        desk.put("good", question, {id: 1 if n == 0 else None for n, id in enumerate(ids)})
        desk.put("poor", question, {id: 0 if n == 0 else 1 if n == 1 else None for n, id in enumerate(ids)})
    found = compared(desk)
    assert found.score == compare.MET
    # The second criterion is decided for one painter only and counts for neither.
    assert {place.painter: place.score.value for place in found.places} == {"good": 100.0, "poor": 0.0}
    assert found.pairs[0].verdict == "good is better"
    unsettled = compared(desk, score="relaxed")
    assert "known for 0 of 2 painters" in (unsettled.reason or "")
    assert all("is not known" in (place.reason or "") and place.bounds for place in unsettled.places)


def test_answers_where_there_is_little(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    assert compare.painters("sample/genexam", store=store) == []
    first, second, *_ = desk.exam.questions
    desk.put("one", first, desk.random(first, 0.5))
    alone = compared(desk)
    assert (alone.reason, alone.pairs, alone.places[0].rank) == (
        "one painter: there is nobody to compare it with", (), None,
    )  # fmt: skip
    desk.put("two", second, desk.random(second, 0.5))
    apart = compared(desk)
    assert "no question is common" in (apart.reason or "")
    assert (apart.questions, apart.pairs) == (0, ())
    desk.put("two", first, desk.random(first, 0.9))
    single = compared(desk, score="relaxed")
    (pair,) = single.pairs
    assert (single.questions, pair.p.value, pair.difference.low, pair.winner) == (1, 1.0, None, None)
    assert pair.effect.reason == "one question has no spread"
    assert "too few to tell" in pair.verdict
    for found in (alone, apart, single):
        json.dumps(found.to_json(), allow_nan=False)


def test_scores_of_all_or_nothing_have_wilsons_interval(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for painter in ("one", "two"):
            desk.put(painter, question, desk.marks(question, lambda _: 0))
    (one, _) = compared(desk, score="strict").places
    assert one.score.low == 0.0
    assert one.score.high == pytest.approx(22.81, abs=0.01)
    assert one.wilson is not None
    assert one.wilson.n == 13
    assert (one.wilson.high or 0) == pytest.approx(0.2281, abs=1e-4)
    assert compared(desk, score="relaxed").places[0].wilson is not None
    fill(desk, skills={"one": 0.5, "two": 0.5})
    assert compared(desk, score="relaxed").places[0].wilson is None


def test_seeds_repeats_and_ways_of_asking(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for painter in ("one", "two"):
            for seed in (0, 1):
                desk.put(painter, question, desk.random(question, 0.5, painter, seed), seed=seed, variant="x")
            desk.put(painter, question, desk.random(question, 0.5, painter, 9), repeat=1, variant="x")
    found = compared(desk)
    assert found.questions == 13
    assert all(place.n == 13 for place in found.places)
    desk.put("three", desk.exam.questions[0], desk.random(desk.exam.questions[0], 0.5), variant="y")
    ways = compare.painters("sample/genexam", store=store)
    assert [len(each.places) for each in ways] in ([1, 2], [2, 1])
    with pytest.raises(UsageError, match="--score colour: there is: strict, relaxed"):
        compared(desk, score="colour", variant="x")


def test_the_selection_narrows_the_comparison(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    fill(desk)
    ids = tuple(question.id for question in desk.exam.questions[:4])
    assert compared(desk, selection=Selection(ids=ids)).questions == 4
    assert len(compared(desk, painters=["good", "poor"]).places) == 2
