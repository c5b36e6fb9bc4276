"""Scores corrected by people's marks, on studies whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limner.api as api
from limner.core.errors import StoreError, UsageError
from limner.scoring import Standing
from limner.scoring.corrected import Corrected, correct_p
from limner.scoring.powered import HumanInterval, Judged, estimate_difference, human_interval
from limner.store import Store
from limner.study.records import Study, save_person, save_study
from tests.rehearsal import EXAM, STUDY, Rehearsal, rehearse

pytestmark = pytest.mark.slow


def _corrected(row: Standing) -> Corrected:
    assert isinstance(row.corrected, Corrected)
    return row.corrected


def _width(found: HumanInterval) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rehearsal, dict[str, list[str]]]]:
    """Two painters under a judge that says yes too often; people, who are always right, marked half of it."""
    folder = tmp_path_factory.mktemp("held")
    with Store(folder / "store") as store:
        yield _made(folder, store, 120)


def _made(folder: Path, store: Store, questions: int) -> tuple[Rehearsal, dict[str, list[str]]]:
    made = rehearse(folder, store, questions)
    ids = {painter: made.draw(painter, skill) for painter, skill in (("good", 0.9), ("poor", 0.6))}
    everyone = [id for mine in ids.values() for id in mine]
    made.judge("lab/judge", everyone, 0.97, 0.6)
    chosen = [id for place, id in enumerate(everyone) if place % 2]
    made.study(dict.fromkeys(chosen, 0.5))
    for name in ("anna", "ben"):
        made.person(name, chosen, 1.0)
    return made, ids


def test_corrected_interval_contains_truth_unlike_raw_score(held: tuple[Rehearsal, dict[str, list[str]]]) -> None:
    made, ids = held
    rows = {row.painter: row for row in api.scores(EXAM, store=made.store, study=STUDY)}
    assert set(rows) == {"good", "poor"}
    for painter, mine in ids.items():
        row = rows[painter]
        for score in ("relaxed", "semantic"):
            truth = made.mean(mine, score)
            raw, found = row.scores[score], _corrected(row)
            assert raw.value is not None
            number = found.ppi[score]
            assert number.value is not None
            assert number.low is not None
            assert number.high is not None
            assert number.low <= truth <= number.high
            assert abs(number.value - truth) < abs(raw.value - truth)
            assert (number.n, number.human) == (120, 60)
    poor = rows["poor"].scores["relaxed"]
    assert poor.low is not None
    assert poor.low > made.mean(ids["poor"], "relaxed")


def test_corrected_score_uses_scoring_function_of_exam(tmp_path: Path, store: Store) -> None:
    """Where people marked everything it is the mean of what their marks give."""
    made, ids = _made(tmp_path, store, 20)
    made.study(dict.fromkeys(made.of, 1.0))
    for name in ("anna", "ben"):
        made.person(name, list(made.of), 1.0)
    for row in api.scores(EXAM, store=made.store, study=STUDY):
        for score in ("strict", "relaxed", "spelling"):
            assert _corrected(row).ppi[score].value == pytest.approx(made.mean(ids[row.painter], score))


def test_differences_are_paired(held: tuple[Rehearsal, dict[str, list[str]]]) -> None:
    made, ids = held
    rows = {row.painter: row for row in api.scores(EXAM, store=made.store, study=STUDY)}
    found = _corrected(rows["good"]).differences["poor"]["relaxed"]
    truth = made.mean(ids["good"], "relaxed") - made.mean(ids["poor"], "relaxed")
    assert found.low is not None
    assert found.high is not None
    assert found.low <= truth <= found.high
    back = _corrected(rows["poor"]).differences["good"]["relaxed"]
    assert found.value is not None
    assert back.value == pytest.approx(-found.value)


def test_inclusion_probabilities_are_used(tmp_path: Path, store: Store) -> None:
    """Drawings that are wrong were surely chosen, the others one in four: without weights people would look harsh."""
    made = rehearse(tmp_path, store, 140, seed=3)
    ids = made.draw("one", 0.9)
    made.judge("lab/judge", ids, 0.6, 0.6)
    wrong = [id for id in ids if min(made.truth[id].values()) == 0]
    rest = [id for id in ids if id not in wrong]
    some = {**dict.fromkeys(wrong, 1.0), **dict.fromkeys(rest[::4], 0.25)}
    made.study(some)
    made.person("anna", list(some), 1.0)
    (row,) = api.scores(EXAM, store=store, study=STUDY)
    found, truth = _corrected(row).ppi["strict"], made.mean(ids, "strict")
    assert found.value == pytest.approx(truth, abs=3)
    plain = 100 * len(rest[::4]) / len(some)
    assert abs(plain - truth) > 20


def test_strata_of_design_are_used(tmp_path: Path, store: Store) -> None:
    made = rehearse(tmp_path, store, 120, seed=2)
    ids = made.draw("one", 0.8)
    made.judge("lab/judge", ids, 0.8, 0.8)
    biology = [id for id in ids if made.question(id).tags["subject"] == "Biology"]
    others = [id for id in ids if id not in biology]
    for id in biology:
        made.truth[id] = dict.fromkeys(made.truth[id], 0)
    chosen = {**dict.fromkeys(biology[::2], 0.5), **dict.fromkeys(others[::5], 0.2)}
    made.study(chosen)
    save_study(store, Study(STUDY, EXAM, "closed", {"design": {"sample": {"strata": ["subject"]}}}))
    made.person("anna", list(chosen), 1.0)
    (row,) = api.scores(EXAM, store=store, study=STUDY)
    found = _corrected(row).ppi["semantic"]
    assert found.value == pytest.approx(made.mean(ids, "semantic"), abs=0.06)
    save_study(store, Study(STUDY, EXAM, "closed", {}))
    (plain,) = api.scores(EXAM, store=store, study=STUDY)
    wide = _corrected(plain).ppi["semantic"]
    assert _width(found) < _width(wide)


def test_unknown_or_empty_study_is_reported(held: tuple[Rehearsal, dict[str, list[str]]]) -> None:
    made, _ = held
    with pytest.raises(StoreError, match="no study 'other'; it has: pilot"):
        api.scores(EXAM, store=made.store, study="other")
    save_study(made.store, Study("empty", EXAM, "open", {}))
    with pytest.raises(UsageError, match="the study empty has no marks of criteria yet"):
        api.scores(EXAM, store=made.store, study="empty")


def _fallible(made: Rehearsal, ids: list[str], count: int, right: float) -> dict[str, dict[str, list[int]]]:
    """So many people mark everything with slips; drawing -> criterion -> what each said."""
    said: dict[str, dict[str, list[int]]] = {}
    for n in range(count):
        look = made.errs(right, right)

        def kept(truth: Any, best: Any, look: Any = look) -> dict[str, int]:
            values: dict[str, int] = look(truth, best)
            id = next(id for id in ids if made.truth[id] is truth)
            for name, value in values.items():
                said.setdefault(id, {}).setdefault(name, []).append(value)
            return values

        made.mark(save_person(made.store, f"rater {n}", STUDY), ids, kept)
    return said


def test_several_people_are_combined_mark_by_mark(tmp_path: Path, store: Store) -> None:
    made = rehearse(tmp_path, store, 60, seed=5)
    ids = made.draw("one", 0.95)
    made.judge("lab/judge", ids, 0.9, 0.8)
    made.study(dict.fromkeys(ids, 1.0))
    said = _fallible(made, ids, 3, 0.92)
    for id, criteria in said.items():
        made.truth[id] = {name: sorted(values)[1] for name, values in criteria.items()}
    (row,) = api.scores(EXAM, store=store, study=STUDY)
    for score in ("strict", "relaxed", "semantic"):
        assert _corrected(row).ppi[score].value == pytest.approx(made.mean(ids, score))


def test_person_asked_again_has_one_vote(tmp_path: Path, store: Store) -> None:
    made = rehearse(tmp_path, store, 30, seed=7)
    ids = made.draw("one", 0.8)
    made.judge("lab/judge", ids, 0.9, 0.8)
    made.study(dict.fromkeys(ids, 1.0))
    for name in ("anna", "ben"):
        made.person(name, ids, 1.0)

    def wrong(truth: Any, best: Any) -> dict[str, int]:
        return {name: 0 if value else best[name] for name, value in truth.items()}

    made.mark(save_person(store, "cem", STUDY), ids, wrong, repeats=3)
    (row,) = api.scores(EXAM, store=store, study=STUDY)
    assert _corrected(row).ppi["relaxed"].value == pytest.approx(made.mean(ids, "relaxed"))


def test_ties_between_people_give_bounds(tmp_path: Path, store: Store) -> None:
    made = rehearse(tmp_path, store, 40, seed=6)
    ids = made.draw("one", 0.95)
    made.judge("lab/judge", ids, 0.9, 0.8)
    made.study(dict.fromkeys(ids, 1.0))
    said = _fallible(made, ids, 2, 0.9)
    ends = []
    for choose in (min, max):
        for id, criteria in said.items():
            made.truth[id] = {name: choose(values) for name, values in criteria.items()}
        ends.append(made.mean(ids, "strict"))
    (row,) = api.scores(EXAM, store=store, study=STUDY)
    number = _corrected(row).ppi["strict"]
    assert ends[0] < ends[1]
    assert number.value == pytest.approx(sum(ends) / 2)
    assert number.low is not None
    assert number.high is not None
    assert number.low < ends[0] < ends[1] < number.high


def test_equal_painters_are_seldom_called_different() -> None:
    """Ten painters of equal skill: without the correction, most exams would have a false difference."""
    rng, plain, corrected = np.random.default_rng(8), 0, 0
    for _ in range(60):
        sides = []
        for _painter in range(10):
            truth = (rng.random(80) < 0.6).astype(float)
            judge = np.where(rng.random(80) < 0.15, 1 - truth, truth)
            human = np.where(np.arange(80) < 40, truth, np.nan)
            ones = np.ones(80)
            sides.append(Judged(np.arange(80), 80, judge, human, ones, ones, np.full(80, 0.5)))
        gaps = {
            (str(a), str(b)): {"strict": human_interval(estimate_difference(sides[a], sides[b]))}
            for a, b in combinations(range(10), 2)
        }
        correct_p(gaps, set())
        plain += any((gap["strict"].p or 0) <= 0.05 for gap in gaps.values())
        corrected += any((gap["strict"].deciding_p or 0) <= 0.05 for gap in gaps.values())
    assert plain >= 20
    assert corrected <= 5


def test_pairs_with_controls_are_not_in_the_family() -> None:
    gap = HumanInterval(10.0, 1.0, 19.0, p=0.03)
    gaps = {("a", "b"): {"strict": gap}, ("a", "blank"): {"strict": gap}}
    correct_p(gaps, {"blank"})
    assert gaps["a", "b"]["strict"].p_holm == 0.03
    assert gaps["a", "blank"]["strict"].p_holm is None
