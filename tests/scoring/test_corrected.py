"""Scores corrected by people's marks, on studies whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import limner.api as api
from limner.core.errors import StoreError, UsageError
from limner.scoring import Standing
from limner.scoring.corrected import Corrected, HumanInterval
from limner.store import Store
from limner.study.records import Study, save_study
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
