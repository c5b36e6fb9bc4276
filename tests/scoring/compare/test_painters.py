"""Painters compared through a store: the same numbers as the tables have, whatever was stored first."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import api, exams
from limner.core.errors import UsageError
from limner.core.exam import Question
from limner.report.tables.comparison import Comparisons
from limner.scoring import compare
from limner.scoring.comparable import Comparable
from limner.scoring.compare import Comparison
from limner.scoring.compare.pairs import side_pairs
from limner.scoring.compare.results import Pair, make_pair, with_verdicts
from limner.scoring.stats import as_parts, paired
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
def test_differences_equal_those_of_reported_scores(store: Store, sample: str) -> None:
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
def test_result_is_independent_of_storage_order(tmp_path: Path, sample: str) -> None:
    results = []
    for order in (1, 2):
        with Store(tmp_path / str(order)) as store:
            desk = Desk(store, sample)
            fill(desk, order)
            results.append(
                json.dumps([each.to_json() for each in compare.painters(sample, store=store)], sort_keys=True)
            )
    assert results[0] == results[1]


def test_identical_painters_are_indistinguishable(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for painter in ("one", "two"):
            desk.put(painter, question, desk.random(question, 0.5, "same"))
    (pair,) = compared(desk).pairs
    assert (pair.difference.value, pair.p.value, pair.winner) == (0.0, 1.0, None)
    assert pair.verdict == "the same on every question"
    assert pair.needed.reason == "no number of questions can show a gap of zero"
    assert [place.rank.words for place in compared(desk).places if place.rank] == ["1st to 2nd"] * 2


def test_number_of_questions_needed_is_estimated(store: Store) -> None:
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


def test_needed_questions_are_counted_in_whole_clusters(store: Store) -> None:
    """FEPBench draws every figure in two regimes: a pair of questions is one case, and both have to be paid for."""
    desk = Desk(store, "sample/fepbench")
    fill(desk, skills={"one": 0.5, "two": 0.6})
    (pair,) = compared(desk, score="if").pairs
    assert len(desk.exam.questions) == 24
    assert pair.difference.n == 12
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
    assert "worst case" in heads(found)


def heads(found: Comparison) -> list[str]:
    return [column.head for column in Comparisons([found]).tables()[0].sheets[0].columns]


def test_worst_case_is_left_out_where_no_painter_has_one(store: Store) -> None:
    desk = Desk(store, "sample/mmmg")
    fill(desk, skills={"one": 0.9, "two": 0.4})
    found = compared(desk)
    assert all(place.pessimistic is None for place in found.places)
    assert "worst case" not in heads(found)


def test_pairs_of_all_tag_values_are_corrected_together(store: Store) -> None:
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
    with pytest.raises(UsageError, match="--by colour: choose from difficulty"):
        compare.painters("sample/genexam", store=store, by="colour")


def test_decided_criteria_are_compared_when_judge_abstains(store: Store) -> None:
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
    assert all("is unknown" in (place.reason or "") and place.bounds for place in unsettled.places)


def test_met_is_compared_rather_than_scores_without_judge() -> None:
    """Readability counts regions: it says nothing about what a judge that leaves the other scores open has found."""
    groups = [SimpleNamespace(values={"readability": [1.0], "met": [100.0]}) for _ in range(2)]
    protocol = exams.kind("mmmg").protocol
    seen = SimpleNamespace(values=[group.values for group in groups], groups=groups, protocol=protocol)
    assert Comparable.score(seen, None) == compare.MET  # type: ignore[arg-type]


def test_sparse_data_is_reported_with_reason(store: Store) -> None:
    desk = Desk(store, "sample/genexam")
    assert compare.painters("sample/genexam", store=store) == []
    first, second, *_ = desk.exam.questions
    desk.put("one", first, desk.random(first, 0.5))
    alone = compared(desk)
    assert (alone.reason, alone.pairs, alone.places[0].rank) == (
        "only one painter: nothing to compare it with", (), None,
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


def test_binary_scores_have_wilson_interval(store: Store) -> None:
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


def test_seeds_repeats_and_ways_of_asking_are_separated(store: Store) -> None:
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
    with pytest.raises(UsageError, match="--score colour: choose from strict, relaxed"):
        compared(desk, score="colour", variant="x")


EXAM = "sample/genexam"
REFERENCE, BLANK = "control/reference", "control/blank"
RIGHT = {"alpha": 13, "beta": 3, REFERENCE: 13, BLANK: 0}
"""How many of the 13 questions each has right."""
BETTER = f"{REFERENCE} is better"


def put(desk: Desk, painter: str, question: Question[Any], right: bool) -> None:
    desk.put(painter, question, desk.marks(question, lambda top: top if right else 0))


def fill_right(store: Store, right: dict[str, int]) -> Desk:
    desk = Desk(store, EXAM)
    for painter, count in right.items():
        for n, question in enumerate(desk.exam.questions):
            put(desk, painter, question, n < count)
    return desk


@pytest.fixture
def examined(store: Store) -> Store:
    """Two painters, one of them below a control, and a control below both."""
    fill_right(store, RIGHT)
    return store


def compared_all(store: Store, **how: Any) -> Comparisons:
    return api.compare(EXAM, store=store, **how)


def test_painter_below_control_loses(examined: Store) -> None:
    (found,) = compared_all(examined)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert [*pairs] == [("alpha", "beta"), ("alpha", REFERENCE), ("alpha", BLANK), (REFERENCE, "beta"),
                        (REFERENCE, BLANK), ("beta", BLANK)]  # fmt: skip
    lost = pairs[REFERENCE, "beta"]
    assert lost.difference.value == lost.gap == pytest.approx(1000 / 13)
    assert (lost.winner, lost.verdict) == (REFERENCE, BETTER)
    assert pairs["alpha", REFERENCE].winner is None
    assert side_pairs(found.compared, found.score) == found.pairs


def test_controls_neither_cost_power_nor_are_ranked(examined: Store) -> None:
    (found,) = compared_all(examined)
    (alone,) = compared_all(examined, painters=["alpha", "beta"])
    assert found.tests == alone.tests == 1
    assert found.pairs[0] == alone.pairs[0]
    assert found.pairs[0].p_holm == found.pairs[0].p.value
    assert [(place.painter, place.rank and place.rank.words) for place in found.places] == [
        ("alpha", "1st"), ("beta", "2nd"), (REFERENCE, None), (BLANK, None),
    ]  # fmt: skip
    for pair in found.pairs[1:]:
        assert (pair.corrected, pair.p_holm) == (False, None)
        assert (pair.winner is not None) == ((pair.p.value or 0) < 0.05)


def test_pair_uses_difference_on_common_questions(store: Store) -> None:
    """The one with the higher score has easy questions besides; on the questions both have, the other is better."""
    desk = fill_right(store, {"narrow": 0, REFERENCE: 13})
    easy, hard = desk.exam.questions[:6], desk.exam.questions[6:]
    for question in desk.exam.questions:
        put(desk, "wide", question, question in easy)
        desk.put("narrow", question, None)
    for question in hard:
        put(desk, "narrow", question, question in hard[:3])
    (found,) = compared_all(store, on="all")
    values = {place.painter: place.score.value or 0 for place in found.places}
    assert values["wide"] > values["narrow"]
    (pair,) = [pair for pair in found.pairs if pair.corrected]
    assert (pair.first, pair.second) == ("narrow", "wide")
    assert pair.difference.value == pytest.approx(300 / 7)


PAIRED_SCORES = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=20)


def pair_from(one: list[int], other: list[int], corrected: bool = True) -> Pair:
    return make_pair("one", "other", paired(as_parts(one), as_parts(other)), None, 1.0, corrected=corrected)


@given(PAIRED_SCORES, st.booleans(), st.booleans())
def test_winner_has_larger_mean(scores: list[tuple[int, int]], corrected: bool, shifted: bool) -> None:
    one, other = ([pair[at] + (60 if shifted and at else 0) for pair in scores] for at in (0, 1))
    (pair,) = with_verdicts([pair_from(one, other, corrected)])
    sums = {"one": sum(one), "other": sum(other)}
    assert pair.difference.value == pytest.approx(abs(sums["one"] - sums["other"]) / len(scores), abs=1e-9)
    assert sums[pair.first] >= sums[pair.second]
    if pair.winner is not None:
        assert sums[pair.winner] == max(sums.values()) > min(sums.values())
        assert (pair.winner, pair.verdict) == (pair.first, f"{pair.winner} is better")
    else:
        assert "is better" not in pair.verdict


def test_swapping_painters_changes_only_names_and_signs() -> None:
    first, second = [3, 9, 4, 8, 7, 9, 6, 8], [1, 2, 5, 3, 1, 2, 4, 3]
    better, worse = with_verdicts([pair_from(first, second)])[0], with_verdicts([pair_from(second, first)])[0]
    assert (better.first, worse.first, better.winner, worse.winner) == ("one", "other", "one", "other")
    for name in ("p", "p_holm", "effect", "differing", "gap", "needed"):
        assert getattr(better, name) == getattr(worse, name)
    assert worse.difference.value == better.difference.value == 4.125
    ends = (better.difference.low, better.difference.high)
    assert (worse.difference.low, worse.difference.high) == pytest.approx(ends)


def test_pair_with_control_does_not_count_as_test() -> None:
    clear = ([9] * 6, [1] * 6)
    painters, *with_control = with_verdicts(
        [pair_from(*clear), *(pair_from(*clear, corrected=False) for _ in range(5))]
    )
    assert painters.p.value == painters.p_holm == 2 / 2**6
    for pair in with_control:
        assert (pair.p.value, pair.p_holm, pair.winner) == (2 / 2**6, None, "one")
    few, *_ = with_verdicts([pair_from([9] * 5, [1] * 5, corrected=False), pair_from(*clear), pair_from(*clear)])
    assert few.verdict == "not distinguishable: 5 questions differ, too few to tell"
    many, *_ = with_verdicts([pair_from([9] * 5, [1] * 5), pair_from(*clear), pair_from(*clear, corrected=False)])
    assert many.verdict == "not distinguishable: 5 questions differ, too few to tell among 2 pairs"
