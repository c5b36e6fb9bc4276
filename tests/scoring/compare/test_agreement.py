"""Any two evaluators compared through a store: judges, persons, people together, metrics; checked by other means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

import pytest
from scipy import stats

from limner import api
from limner.core.errors import UsageError
from limner.scoring import compare
from limner.scoring.compare import Agreement, AgreementNumber
from limner.store.store import open_store
from tests.scoring.compare.studied import CHANCE, PEOPLE, SKILLS, STUDY, Studied

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studied]:
    with open_store(tmp_path_factory.mktemp("studied") / "store", create=True) as store:
        yield Studied(store)


@pytest.fixture(scope="module")
def found(studied: Studied) -> Agreement:
    return compare.judges("sample/genexam", store=studied.desk.store, by=["painter"])


def number(found: Agreement, first: str, second: str, measure: str, score: str, **more: Any) -> AgreementNumber:
    wanted = {"unit": "drawing", "tag": None, "category": None} | more
    (one,) = [
        each
        for each in found.numbers
        if (each.first, each.second, each.measure, each.score) == (first, second, measure, score)
        and all(getattr(each, name) == value for name, value in wanted.items())
    ]
    return one


def test_people_and_metrics_are_not_judges_unless_named(studied: Studied) -> None:
    store = studied.desk.store
    names = {group.evaluator.name for group in api.groups("sample/genexam", store=store)[1]}
    assert names == {"gpt", "other"}
    assert {standing.judge for standing in api.scores("sample/genexam", store=store)} == {"gpt", "other"}
    assert {each.evaluator.name for each in compare.painters("sample/genexam", store=store)} == {"gpt", "other"}
    named = api.scores("sample/genexam", store=store, judges=["person/anna"])
    assert {standing.judge for standing in named} == {"person/anna"}
    with pytest.raises(UsageError, match="metric/clip: ratings, but no marks"):
        api.scores("sample/genexam", store=store, judges=["metric/clip"])


def test_expected_evaluator_pairs_are_compared(found: Agreement) -> None:
    pairs = {(each.first, each.second) for each in found.numbers}
    people = f"people/{STUDY}"
    assert ("gpt", "other") in pairs
    assert ("gpt", people) in pairs
    assert ("metric/clip", people) in pairs
    assert ("metric/fid", people) in pairs
    assert ("person/*", people) in pairs
    assert ("person/anna", people) in pairs
    assert ("gpt", "person/anna") not in pairs
    assert [rater.name for rater in found.raters] == ["gpt", "other"]


@pytest.fixture(scope="module")
def weighted(studied: Studied) -> dict[str, float]:
    return {id: 1 / CHANCE[painter] for id, painter in studied.painter.items()}


def copies(values: dict[str, float], weights: dict[str, float]) -> list[float]:
    """Every number as often as its weight says."""
    return [value for id, value in sorted(values.items()) for _ in range(round(weights[id]))]


@pytest.mark.parametrize("score", ["semantic", "spelling", "logic", "readability"])
def test_mean_absolute_error_is_weighted_per_dimension(
    studied: Studied, found: Agreement, weighted: dict[str, float], score: str
) -> None:
    one = number(found, "gpt", f"people/{STUDY}", "mae", score)
    mine, theirs = studied.of("gpt", score), studied.of("people", score)
    gaps = {id: abs(mine[id] - theirs[id]) for id in mine}
    assert one.value == pytest.approx(mean(copies(gaps, weighted)))
    assert one.n == len(gaps)
    assert None not in (one.low, one.value, one.high)
    assert (one.low or 0) <= (one.value or 0) <= (one.high or 0)


def test_correlation_with_overall_rating_is_weighted(
    studied: Studied, found: Agreement, weighted: dict[str, float]
) -> None:
    """GenExam's Table 3b: a judge's relaxed score and a metric against people's overall rating."""
    overall = copies(studied.of("people", "overall"), weighted)
    people = f"people/{STUDY}"
    for who, score in (("gpt", "relaxed"), ("gpt", "semantic"), ("metric/clip", "clip")):
        mine = copies(studied.of(who, score), weighted)
        label = f"{score} / overall"
        for measure, theirs in (
            ("pearson", stats.pearsonr),
            ("spearman", stats.spearmanr),
            ("kendall", stats.kendalltau),
        ):
            one = number(found, who, people, measure, label)
            assert one.value == pytest.approx(theirs(mine, overall).statistic)
            assert one.n == 39
            assert one.p is not None
    assert number(found, "gpt", people, "spearman", "relaxed / overall").p == pytest.approx(0.025, abs=0.025)
    assert number(found, "metric/clip", people, "spearman", "clip / overall").p == pytest.approx(0.55, abs=0.45)


def test_accuracy_is_measured_against_majority_of_people(
    studied: Studied, found: Agreement, weighted: dict[str, float]
) -> None:
    right = total = count = 0.0
    for id, marks in studied.truth["gpt"].items():
        for name in (name for name in marks if name.startswith("point/")):
            votes = Counter(studied.truth[f"person/{p}"][id][name] for p in PEOPLE)
            total += weighted[id]
            count += 1
            right += weighted[id] * (marks[name] == votes.most_common(1)[0][0])
    one = number(found, "gpt", f"people/{STUDY}", "accuracy", "point")
    assert one.value == pytest.approx(right / total)
    assert one.n == count
    for measure in ("kappa", "ac1", "ac2", "alpha_nominal", "alpha_interval"):
        assert number(found, "gpt", f"people/{STUDY}", measure, "point").value is not None


def test_correlation_within_painter_is_unweighted(studied: Studied, found: Agreement) -> None:
    """GenExam's Table 5: within one painter all drawings weigh the same."""
    one = number(found, "gpt", f"people/{STUDY}", "kendall", "relaxed / overall", tag="painter", category="fair")
    ids = sorted(id for id, painter in studied.painter.items() if painter == "fair")
    mine, theirs = studied.of("gpt", "relaxed"), studied.of("people", "overall")
    assert one.value == pytest.approx(stats.kendalltau([mine[i] for i in ids], [theirs[i] for i in ids]).statistic)
    assert one.n == 13


def test_painter_means_are_correlated(studied: Studied, found: Agreement) -> None:
    mine, theirs = studied.of("gpt", "relaxed"), studied.of("people", "overall")
    sides = [
        [mean(side[id] for id, p in studied.painter.items() if p == painter) for painter in SKILLS]
        for side in (mine, theirs)
    ]
    one = number(found, "gpt", f"people/{STUDY}", "pearson", "relaxed / overall", unit="painter")
    assert one.value == pytest.approx(stats.pearsonr(*sides).statistic)
    assert one.n == 3
    # Three painters can be in six orders: two of them are as far from chance as can be.
    assert number(found, "gpt", f"people/{STUDY}", "spearman", "relaxed / overall", unit="painter").p == pytest.approx(
        1 / 3
    )
    fid = number(found, "metric/fid", f"people/{STUDY}", "spearman", "fid / overall", unit="painter")
    assert fid.value == pytest.approx(-1)


def test_painter_means_are_correlated_by_tag_value(studied: Studied, found: Agreement) -> None:
    """MMMG's figure: a point for every painter and level."""
    cells: dict[tuple[str, str], list[str]] = {}
    subjects = {}
    for group in api.groups("sample/genexam", store=studied.desk.store, judges=["gpt"])[1]:
        for entry in group.entries:
            subjects[entry.drawing.id] = entry.question.tags["subject"]
    for id in studied.truth["gpt"]:
        cells.setdefault((studied.painter[id], subjects[id]), []).append(id)
    sides = [
        [mean(side[id] for id in ids) for ids in cells.values()]
        for side in (studied.of("gpt", "relaxed"), studied.of("people", "overall"))
    ]
    one = number(found, "gpt", f"people/{STUDY}", "pearson", "relaxed / overall", unit="painter_tag", tag="subject")
    assert one.value == pytest.approx(stats.pearsonr(*sides).statistic)
    assert one.n == len(cells)


def test_human_ceiling_compares_each_person_with_others(
    studied: Studied, found: Agreement, weighted: dict[str, float]
) -> None:
    values, gaps = [], []
    for name in PEOPLE:
        mine = studied.of(f"person/{name}", "overall")
        rest = {id: mean(studied.truth[f"person/{o}"][id]["overall"] for o in PEOPLE if o != name) for id in mine}
        values.append(stats.spearmanr(copies(mine, weighted), copies(rest, weighted)).statistic)
        own = {id: mine[id] - rest[id] for id in mine}
        gaps += copies({id: abs(gap) for id, gap in own.items()}, weighted)
        shift = number(found, f"person/{name}", f"people/{STUDY}", "shift", "overall")
        assert shift.value == pytest.approx(-mean(copies(own, weighted)))
    one = number(found, "person/*", f"people/{STUDY}", "spearman", "overall")
    assert one.value == pytest.approx(mean(values))
    assert one.low is not None
    assert number(found, "person/*", f"people/{STUDY}", "mae", "overall").value == pytest.approx(mean(gaps))
    spread = {id: stdev(studied.truth[f"person/{p}"][id]["overall"] for p in PEOPLE) for id in studied.painter}
    assert number(found, "person/*", f"people/{STUDY}", "std", "overall").value == pytest.approx(
        mean(copies(spread, weighted))
    )


def test_comparison_is_limited_to_study_and_named_judges(studied: Studied) -> None:
    store = studied.desk.store
    one = compare.judges("sample/genexam", store=store, judges=["gpt"], study=STUDY, units=["drawing"])
    assert {(each.first, each.second) for each in one.numbers if not each.first.startswith("person/")} == {
        ("gpt", f"people/{STUDY}")
    }
    both = compare.judges("sample/genexam", store=store, judges=["person/anna", "person/ben"], units=["drawing"])
    assert {(each.first, each.second) for each in both.numbers} == {("person/anna", "person/ben")}
    metric = compare.judges("sample/genexam", store=store, judges=["metric/clip", f"people/{STUDY}"], units=["drawing"])
    assert ("metric/clip", f"people/{STUDY}") in {(each.first, each.second) for each in metric.numbers}
    assert metric.raters == ()
    with pytest.raises(UsageError, match="--study none: sample/genexam has no such study; it has: pilot"):
        compare.judges("sample/genexam", store=store, study="none")
    with pytest.raises(UsageError, match="no judge 'nobody'"):
        compare.judges("sample/genexam", store=store, judges=["nobody"])
    with pytest.raises(UsageError, match=f"--judge people/nobody: choose from people/{STUDY}"):
        compare.judges("sample/genexam", store=store, judges=["people/nobody"])
