"""Agreement and reliability of judges and people, against textbooks and other packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from limner.scoring.compare.people import alternative_annotator, benjamini_yekutieli
from limner.scoring.stats import (
    FORMS,
    RatedUnit,
    chance_corrected,
    flips,
    icc,
    krippendorff_alpha,
    mark_agreement,
)
from limner.scoring.stats.agreement import ALIKE, LEVELS, NONE
from tests.needs import oracle

MARK = st.sampled_from([0, 1, None])
MARKS = st.lists(st.builds(RatedUnit, st.sampled_from("qrst"), st.tuples(MARK, MARK)), max_size=20)
TABLE = [
    [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
    [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
    [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
]
"""Krippendorff's own example: three coders, fifteen units, many gaps."""


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
def test_kappa_matches_textbook_values(table: dict[tuple[float, float], float], kappa: float) -> None:
    units = [RatedUnit(f"{pair} {n}", pair) for pair, count in table.items() for n in range(int(count))]
    assert mark_agreement(units).kappa.value == pytest.approx(kappa, abs=1e-3)


def test_alpha_matches_textbook_value() -> None:
    units = [list(unit) for unit in zip(*TABLE, strict=True)]
    assert krippendorff_alpha(units).value == pytest.approx(0.691, abs=1e-3)
    assert krippendorff_alpha(units, "interval").value == pytest.approx(0.811, abs=1e-3)
    assert krippendorff_alpha(units).n == 12
    assert krippendorff_alpha(units[::-1]) == krippendorff_alpha(units)
    assert krippendorff_alpha([unit[::-1] for unit in units]) == krippendorff_alpha(units)


@given(MARKS, st.randoms(use_true_random=False))
def test_agreement_is_independent_of_order_and_sides(marks: list[RatedUnit], random: Any) -> None:
    found = mark_agreement(marks)
    assert mark_agreement(random.sample(marks, len(marks))) == found
    back = mark_agreement([RatedUnit(unit.cluster, unit.values[::-1]) for unit in marks])
    assert (back.n, back.same) == (found.n, found.same)
    assert back.kappa.value == pytest.approx(found.kappa.value)
    assert (found.kappa.value is None) == (found.reason is not None)


def test_undefined_agreement_has_reason() -> None:
    assert mark_agreement([RatedUnit("q", (1, None))]).reason == "no mark that both decided"
    alike = mark_agreement([RatedUnit("q", (1, 1)), RatedUnit("r", (1, 1))])
    assert (alike.same.value, alike.kappa.value) == (1.0, None)
    assert "cannot be separated from chance" in (alike.reason or "")
    assert mark_agreement([RatedUnit("q", (0, 1))]).kappa.value == 0.0
    assert krippendorff_alpha([[1, None], [None, 2]]).reason == "no mark that both decided"
    assert krippendorff_alpha([]).value is None
    assert krippendorff_alpha([[1, 1], [1, 1]]).value is None
    assert krippendorff_alpha([[1, float("nan")], [0, 0], [1, 0]]).n == 2


def test_intervals_resample_whole_questions() -> None:
    """Many marks of six questions are worth six questions: the interval reaches from end to end."""
    found = mark_agreement([RatedUnit(f"q{n}", (1, n % 2)) for n in range(6)] * 20)
    assert (found.same.value, found.same.low, found.same.high) == (0.5, 0.0, 1.0)
    assert found.same.n == 6


NA = None
FOUR_RATERS: tuple[tuple[int | None, ...], ...] = (
    (1, 1, NA, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4),
    (4, 4, 4, 4), (1, 1, 2, 1), (2, 2, 2, 2), (NA, 5, 5, 5), (NA, NA, 1, 1), (NA, NA, 3, NA),
)  # fmt: skip
"""Gwet, Handbook of Inter-Rater Reliability (4th ed., 2014), the table of four raters and twelve subjects."""
SHROUT = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))
"""Shrout and Fleiss (1979), Table 2."""


def _units(table: Sequence[Sequence[float | None]]) -> list[RatedUnit]:
    return [
        RatedUnit(str(place), tuple(None if value is None else float(value) for value in row))
        for place, row in enumerate(table)
    ]


def test_coefficients_match_gwet_four_raters() -> None:
    """AC1 .775 and alpha .743 stand in Gwet's book; all four are irrCAC 0.4.4's, from its `raw_4raters`."""
    found = chance_corrected(_units(FOUR_RATERS))
    assert found["ac1"].value == pytest.approx(0.77544407)
    assert found["ac2"].value == pytest.approx(0.91400072)
    assert found["alpha_nominal"].value == pytest.approx(0.74342105)
    assert found["alpha_interval"].value == pytest.approx(0.84910714)


TABLES = st.lists(
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])), min_size=3, max_size=3), min_size=4, max_size=12
)


@given(TABLES)
def test_alpha_matches_krippendorff_package(table: list[list[float | None]]) -> None:
    package = oracle("krippendorff", "krippendorff")
    data = np.array([[np.nan if value is None else value for value in row] for row in table])
    paired = data[(~np.isnan(data)).sum(axis=1) > 1]
    found = chance_corrected([RatedUnit(str(n), tuple(row)) for n, row in enumerate(table)])
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        assert "alpha_nominal" not in found
        assert krippendorff_alpha(table).reason == (ALIKE if len(paired) else NONE)
        return
    for level in LEVELS:
        theirs = package.alpha(data.T, level_of_measurement=level)
        assert found[f"alpha_{level}"].value == pytest.approx(theirs)
        assert krippendorff_alpha(table, level).value == pytest.approx(theirs)
        assert krippendorff_alpha(table, level).n == len(paired)


@given(TABLES, st.lists(st.integers(1, 3), min_size=12, max_size=12))
def test_integer_weights_equal_copies(table: list[list[float | None]], weights: list[int]) -> None:
    """For AC1 and AC2; alpha and ICC know how many things there really are."""
    weighted = [RatedUnit(str(n), tuple(row), float(weights[n])) for n, row in enumerate(table)]
    copies = [RatedUnit(str(n), tuple(row)) for n, row in enumerate(table) for _ in range(weights[n])]
    mine, theirs = chance_corrected(weighted), chance_corrected(copies)
    for name in ("ac1", "ac2"):
        assert (name in mine) == (name in theirs)
        if name in mine:
            assert mine[name].value == pytest.approx(theirs[name].value)


def test_unused_scale_values_count() -> None:
    """All say yes, and could have said no: full agreement, of which the resamples cannot tell how sure it is."""
    units = [RatedUnit(str(n), (1.0, 1.0)) for n in range(9)]
    assert chance_corrected(units) == {}
    found = chance_corrected(units, [0.0, 1.0])
    assert found["ac1"].value == pytest.approx(1)
    assert found["ac1"].low is None


def test_icc_matches_shrout_and_fleiss() -> None:
    """Their Table 4; more digits by pingouin 0.6.1's `intraclass_corr`."""
    found = icc(_units(SHROUT))
    pingouin = {
        "ICC(1,1)": 0.165742, "ICC(2,1)": 0.289764, "ICC(3,1)": 0.714841,
        "ICC(1,k)": 0.442797, "ICC(2,k)": 0.620051, "ICC(3,k)": 0.909316,
    }  # fmt: skip
    assert {form: each.value for form, each in found.items()} == pytest.approx(pingouin, abs=1e-6)
    assert found["ICC(2,1)"].n == 6


def test_icc_supports_different_raters_per_item() -> None:
    """The one-way form with unequal numbers, from scipy's F of one-way analysis of variance."""
    rows = [(9.0, 7.0, None), (None, 3.0, 2.0), (5.0, None, 6.0), (8.0, 8.0, None), (None, None, 4.0), (1.0, 2.0, None)]
    found = icc([RatedUnit(str(n), row) for n, row in enumerate(rows)])
    groups = [[value for value in row if value is not None] for row in rows]
    groups = [group for group in groups if len(group) > 1]
    f = stats.f_oneway(*groups).statistic
    counts = np.array([len(group) for group in groups])
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(counts) - 1)
    assert list(found) == ["ICC(1,1)"]
    assert found["ICC(1,1)"].value == pytest.approx((f - 1) / (f - 1 + typical))
    uneven = [RatedUnit(str(n), row) for n, row in enumerate([*rows[:3], (7.0, 8.0, 9.0)])]
    groups = [[value for value in unit.values if value is not None] for unit in uneven]
    counts = np.array([len(group) for group in groups])
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(counts) - 1)
    f = stats.f_oneway(*groups).statistic
    assert icc(uneven)["ICC(1,1)"].value == pytest.approx((f - 1) / (f - 1 + typical))


def test_weighted_marks_equal_copies() -> None:
    values = {"a": (1.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 0.0), "d": (1.0, 0.0)}
    weights = {"a": 3, "b": 1, "c": 2, "d": 1}
    copies = [RatedUnit(name, values[name]) for name, weight in weights.items() for _ in range(weight)]
    mine = mark_agreement([RatedUnit(name, values[name], weight) for name, weight in weights.items()])
    theirs = mark_agreement(copies)
    assert mine.same.value == pytest.approx(theirs.same.value)
    assert mine.kappa.value == pytest.approx(theirs.kappa.value)
    assert mine.n == 4


WINES = [
    [1, 2, 0, 1], [1, 3, 3, 2], [3, 8, 1, 4], [6, 4, 3, 3], [6, 5, 5, 6], [7, 5, 6, 2], [8, 7, 7, 9], [9, 9, 9, 8],
]  # fmt: skip
"""The example in pingouin's documentation: eight wines, four judges."""


def test_icc_matches_pingouin_example() -> None:
    forms = icc(_units(WINES))
    # Computed by pingouin 0.7.0.
    values = [0.727521, 0.727689, 0.729487, 0.914384, 0.914450, 0.915159]
    assert [forms[form].value for form in FORMS] == pytest.approx(values, abs=1e-6)


def test_constant_shift_lowers_agreement_but_not_consistency() -> None:
    scores = np.random.default_rng(6).normal(50, 10, 40)
    table = [[float(score), float(score) + 20] for score in scores]
    found = icc(_units(table))
    assert found["ICC(3,1)"].value == pytest.approx(1.0)
    assert (found["ICC(2,1)"].value or 0) < 0.5


@pytest.mark.parametrize(
    "table", [[], [[1.0, 2.0]], [[1.0], [2.0]], [[3.0, 3.0], [3.0, 3.0]], [[1.0, 2.0], [1.0, 2.0]]]
)
def test_icc_is_undefined_for_few_or_identical_drawings(table: list[list[float | None]]) -> None:
    assert "ICC(3,1)" not in icc(_units(table))


REPEATED = st.lists(
    st.tuples(st.sampled_from("qrs"), st.lists(st.sampled_from([0.0, 1.0, None]), max_size=4)), max_size=10
)


@given(REPEATED, st.randoms(use_true_random=False))
def test_flips_are_independent_of_order(marks: list[tuple[str, list[float | None]]], random: Any) -> None:
    found = flips(marks)
    assert flips(random.sample([(question, given[::-1]) for question, given in marks], len(marks))) == found
    if found.n:
        assert 0 <= (found.rate.value or 0) <= (found.ever.value or 0) <= 1
    else:
        assert found.reason is not None


@pytest.mark.slow
def test_flip_rate_does_not_grow_with_repeats() -> None:
    """A judge that gives a mark with chance 0.2 the other way flips between two repeats with chance 0.32."""
    generator = np.random.default_rng(9)
    for repeats in (2, 5):
        marks = [(str(n), generator.binomial(1, 0.2, repeats).tolist()) for n in range(2000)]
        found = flips(marks)
        assert found.rate.value == pytest.approx(2 * 0.2 * 0.8, abs=0.03)
        assert found.ever.value == pytest.approx(1 - 0.8**repeats - 0.2**repeats, abs=0.03)


def test_flips_without_repeats_have_reason() -> None:
    found = flips([("q", [1.0]), ("r", [None, 1.0])])
    assert (found.n, found.rate.value) == (0, None)
    assert "more than once" in (found.reason or "")


N = 80
# (seed, judge's and people's accuracy, people, eps) -> winning rate and advantage probability of their `alt_test`.
NOTEBOOK = {
    (1, 0.9, 0.85, 3, 0.1): (1.0, 0.975),
    (1, 0.9, 0.85, 3, 0.2): (1.0, 0.975),
    (2, 0.6, 0.85, 4, 0.1): (0.0, 0.790625),
    (2, 0.6, 0.85, 4, 0.2): (0.0, 0.790625),
    (3, 0.8, 0.8, 5, 0.1): (0.0, 0.8575),
    (3, 0.8, 0.8, 5, 0.2): (1.0, 0.8575),
}
Answers = dict[str, int]


def _same(one: int, others: Sequence[int]) -> float:
    return float(np.mean([one == other for other in others]))


def _data(seed: int, judge: float, people: float, many: int) -> tuple[Answers, dict[str, Answers]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, N)

    def answers(right: float) -> Answers:
        return {str(i): int(truth[i]) if rng.random() < right else int(rng.integers(0, 3)) for i in range(N)}

    return answers(judge), {f"p{place}": answers(people) for place in range(many)}


@pytest.mark.parametrize("case", list(NOTEBOOK))
def test_alternative_annotator_test_matches_authors_notebook(case: tuple[int, float, float, int, float]) -> None:
    seed, right, people, many, eps = case
    found = alternative_annotator(*_data(seed, right, people, many), _same, eps)
    win_rate, advantage = NOTEBOOK[case]
    assert found.win_rate == pytest.approx(win_rate)
    assert found.advantage == pytest.approx(advantage)
    assert found.passes == (win_rate >= 0.5)
    assert found.n == N


def test_benjamini_yekutieli_matches_statsmodels() -> None:
    p = [0.02, 0.001, 0.3, 0.004, 0.8, 0.012]
    assert benjamini_yekutieli(p) == [False, True, False, True, False, False]


def test_items_of_one_question_are_not_independent() -> None:
    judge, people = _data(3, 0.8, 0.8, 5)
    twice = {f"{item}/{copy}": value for item, value in judge.items() for copy in "ab"}
    both = {name: {f"{i}/{c}": v for i, v in answers.items() for c in "ab"} for name, answers in people.items()}
    alone = alternative_annotator(judge, people, _same, 0.2)
    copied = alternative_annotator(twice, both, _same, 0.2, {item: item.partition("/")[0] for item in twice})
    assert [each.p for each in copied.people] == pytest.approx([each.p for each in alone.people])


def test_two_people_are_too_few() -> None:
    judge, people = _data(1, 0.9, 0.85, 2)
    found = alternative_annotator(judge, people, _same, 0.1)
    assert (found.win_rate, found.passes) == (None, False)
    assert found.reason == "2 of 2 people have marked 30 drawings that another marked too; the test needs 3"
