"""Choices between two drawings, from the store to tables: who counts, with which weight, and what is said."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from limner.core.errors import UsageError
from limner.core.marks import Mark
from limner.scoring.preferences import Preferences, preferences
from limner.scoring.weights import fitted_weights
from limner.store import Store
from limner.store.markings import load_ratings
from limner.store.records import Drawing, load_drawings
from tests.cli.invoke import limner
from tests.scoring.compare.desk import Desk
from tests.scoring.people import choose, mark, person, rate, study_of

EXAM = "sample/genexam"


def drawn(store: Store, painters: tuple[str, ...] = ("one", "two", "three")) -> dict[tuple[str, str], Drawing]:
    """Every painter's drawings, by question and painter."""
    desk = Desk(store, EXAM)
    for painter in painters:
        for question in desk.exam.questions:
            desk.put(painter, question, None)
    return {(each.question_id, each.painter): each for each in load_drawings(store, EXAM)}


def only(found: list[Preferences], evaluator: str) -> Preferences:
    (one,) = [each for each in found if each.evaluator == evaluator]
    return one


def test_preferences_are_given_per_person_and_together(store: Store) -> None:
    there = drawn(store)
    ids = sorted({id for id, _ in there})
    anna, ben = person(store, "anna"), person(store, "ben")
    for n, id in enumerate(ids):
        choose(store, anna, there[id, "one"], there[id, "two"], "first" if n % 3 else "second")
        choose(store, ben, there[id, "two"], there[id, "one"], "tie" if n % 2 else "second", shown_first="second")
    choose(store, anna, there[ids[0], "one"], there[ids[0], "three"], None, reason="cannot tell")
    found = preferences(EXAM, store=store)
    assert [each.evaluator for each in found] == ["people/trial", "person/anna", "person/ben"]
    mine, all_of_them = only(found, "person/anna"), only(found, "people/trial")
    lost = sum(n % 3 == 0 for n in range(len(ids)))
    assert (mine.n, mine.skipped, mine.raters) == (len(ids), 1, 1)
    assert {each.painter: (each.wins, each.ties, each.losses) for each in mine.painters} == {
        "one": (len(ids) - lost, 0, lost),
        "two": (lost, 0, len(ids) - lost),
    }
    assert all_of_them.n == 2 * len(ids)
    assert all_of_them.raters == 2
    assert all_of_them.questions == len(ids)
    ties = len(ids) // 2
    gained = len(ids) - lost + ties / 2 + len(ids) - ties
    assert all_of_them.rates["one"] == pytest.approx(gained / (2 * len(ids)))
    assert only(preferences(EXAM, store=store, judges=["people"]), "people/trial").n == 2 * len(ids)
    assert [e.evaluator for e in preferences(EXAM, store=store, judges=["person/ben"])] == ["person/ben"]


def test_people_have_the_same_names_with_pairs_and_without(store: Store, tmp_path: Path) -> None:
    there = drawn(store)
    ids = sorted({id for id, _ in there})
    for study in ("early", "late"):
        study_of(store, EXAM, {(there[id, "one"].id, there[id, "two"].id): 1.0 for id in ids}, study)
        for name in ("anna", "ben"):
            rater = person(store, name, study)
            for id in ids:
                choose(store, rater, there[id, "one"], there[id, "two"], "first", study=study)
                rate(store, rater, there[id, "one"], 7, study=study)
    both = {"people/early", "people/late"}
    assert {each.evaluator for each in preferences(EXAM, store=store)} >= both
    with pytest.raises(UsageError, match="--judge people/nope: choose from people, people/early, people/late"):
        preferences(EXAM, store=store, judges=["people/nope"])
    store.close()
    words = ("--store", tmp_path / "store", "--format", "json")
    for named, wanted in (("people/late", {"people/late"}), ("people/early,people/late", both), ("people", both)):
        chosen = limner("agree", EXAM, "--pairs", "--judge", named, *words).json()
        assert {each["evaluator"] for each in chosen} == wanted
        rated = limner("agree", EXAM, "--judge", named, *words).json()
        assert {each["second"] for each in rated["pairs"] if each["second"].startswith("people/")} == wanted


def test_inclusion_weights_are_used(store: Store) -> None:
    """Two pairs chosen with chances 1 and 1/4: the second stands for four."""
    there = drawn(store)
    ids = sorted({id for id, _ in there})[:2]
    items: dict[tuple[str, ...], float] = {
        (there[id, "one"].id, there[id, "two"].id): chance for id, chance in zip(ids, (1.0, 0.25), strict=True)
    }
    study_of(store, EXAM, items)
    anna = person(store, "anna")
    choose(store, anna, there[ids[0], "one"], there[ids[0], "two"], "first")
    choose(store, anna, there[ids[1], "two"], there[ids[1], "one"], "first")
    (found,) = preferences(EXAM, store=store)
    assert found.weighted
    assert found.rates == {"one": pytest.approx(0.2), "two": pytest.approx(0.8)}


def test_missing_choices_are_usage_error(store: Store) -> None:
    drawn(store)
    with pytest.raises(UsageError, match="no one has chosen between two drawings"):
        preferences(EXAM, store=store)
    with pytest.raises(UsageError, match="the study other of"):
        preferences(EXAM, store=store, study="other")


def test_preferences_are_shown_in_text_json_and_csv(store: Store, tmp_path: Path) -> None:
    there = drawn(store)
    anna = person(store, "anna")
    for n, id in enumerate(sorted({id for id, _ in there})):
        shown = "first" if n % 2 else "second"
        choose(store, anna, there[id, "one"], there[id, "two"], ("first", "tie", "second")[n % 3], shown_first=shown)
    store.close()
    words = ("agree", EXAM, "--pairs", "--store", tmp_path / "store")
    out = limner(*words).out
    assert "order effect" in out
    assert "Davidson" in out
    (body,) = json.loads(limner(*words, "--format", "json").out)
    assert set(body) >= {"evaluator", "scale", "painters", "pairs", "order", "ties", "n", "skipped", "reason"}
    rows = list(csv.DictReader(io.StringIO(limner(*words, "--format", "csv").out)))
    rates = {row["first"]: float(row["value"]) for row in rows if row["measure"] == "win_rate" and not row["second"]}
    assert rates == {each["painter"]: each["rate"]["value"] for each in body["painters"]}
    assert limner("agree", EXAM, "--pairs", "--weights", "--store", tmp_path / "store", code=2).err
    assert "--train needs --weights" in limner("agree", EXAM, "--train", "a", code=2).err


TRUE = {"semantic": 0.7, "spelling": 0.1, "readability": 0.1, "logic": 0.1}


def rated(store: Store, raters: tuple[str, ...] = ("anna", "ben", "cleo"), painters: int = 6) -> None:
    """Raters who mark alike and rate overall as the paper's weights say, each with a little noise of her own."""
    desk, generator = Desk(store, EXAM), np.random.default_rng(7)
    for painter in range(painters):
        for question in desk.exam.questions:
            desk.put(f"painter{painter}", question, None)
    questions = {question.id: question for question in desk.exam.questions}
    setups = [person(store, name) for name in raters]
    for drawing in list(load_drawings(store, EXAM)):
        question = questions[drawing.question_id]
        values = desk.random(question, 0.6, drawing.painter)
        known = {id: float(value) for id, value in values.items() if value is not None}
        scores = desk.protocol.scores(question, [Mark(id, int(value)) for id, value in known.items()], {})
        tops = {score.name: score.top for score in desk.protocol.scored}
        share = sum(weight * float(scores[name] or 0) / tops[name] for name, weight in TRUE.items())
        for setup in setups:
            mark(store, setup, drawing, known)
            rate(store, setup, drawing, float(np.clip(round(1 + 9 * share + generator.normal(0, 0.4)), 1, 10)))


@pytest.mark.slow
def test_each_rater_is_held_out_in_turn(store: Store) -> None:
    rated(store)
    found = fitted_weights(EXAM, store=store)
    assert found.dimensions == ("semantic", "spelling", "readability", "logic")
    assert found.own == (0.7, 0.1, 0.1, 0.1)
    assert [fold.held_out for fold in found.folds] == [("anna",), ("ben",), ("cleo",)]
    assert all(set(fold.train) | set(fold.held_out) == {"anna", "ben", "cleo"} for fold in found.folds)
    for fold in found.folds:
        assert fold.fitted.exact == pytest.approx((0.7, 0.1, 0.1, 0.1), abs=0.12)
        assert fold.correlations["rounded"].value == pytest.approx(fold.correlations["exam"].value, abs=0.03)
        assert fold.correlations["exam"].value > fold.correlations["equal"].value  # type: ignore[operator]
        assert fold.gain.value == pytest.approx(
            fold.correlations["rounded"].value - fold.correlations["exam"].value  # type: ignore[operator]
        )


@pytest.mark.slow
def test_held_out_rater_does_not_affect_fit(store: Store) -> None:
    rated(store, ("anna", "ben"))
    before = fitted_weights(EXAM, store=store, train=["anna"]).folds[0]
    ben = person(store, "ben")
    for drawing in list(load_drawings(store, EXAM)):
        rate(store, ben, drawing, 1 + len(drawing.id + drawing.painter) % 7)
    after = fitted_weights(EXAM, store=store, train=["anna"]).folds[0]
    assert after.fitted == before.fitted
    assert after.correlations["exam"] != before.correlations["exam"]


@pytest.mark.slow
def test_correlation_uses_means_of_held_out_raters(store: Store) -> None:
    rated(store)
    (fold,) = fitted_weights(EXAM, store=store, train=["anna"]).folds
    assert fold.held_out == ("ben", "cleo")
    assert fold.n == len(list(load_drawings(store, EXAM)))
    desk, tops = Desk(store, EXAM), dict.fromkeys(TRUE, 2.0) | {"semantic": 1.0}
    questions = {question.id: question for question in desk.exam.questions}
    given: dict[str, list[float]] = {}
    for row in load_ratings(store, EXAM):
        if row.setup != person(store, "anna"):
            given.setdefault(row.drawing, []).append(float(row.value or 0))
    sums, means = [], []
    for drawing in load_drawings(store, EXAM):
        values = desk.random(questions[drawing.question_id], 0.6, drawing.painter)
        marks = [Mark(id, value) for id, value in values.items()]
        scores = desk.protocol.scores(questions[drawing.question_id], marks, {})
        sums.append(sum(weight * float(scores[name] or 0) / tops[name] for name, weight in TRUE.items()))
        means.append(sum(given[drawing.id]) / 2)
    assert fold.correlations["exam"].value == pytest.approx(np.corrcoef(sums, means)[0, 1], abs=1e-9)


@pytest.mark.slow
def test_missing_requirements_are_usage_errors(store: Store) -> None:
    rated(store, ("anna",))
    with pytest.raises(UsageError, match="weights need two people who mark and rate overall; it has: anna"):
        fitted_weights(EXAM, store=store)
    person(store, "ben")
    rated(store, ("anna", "ben"), painters=1)
    with pytest.raises(UsageError, match="--train dora: choose from anna, ben"):
        fitted_weights(EXAM, store=store, train=["dora"])
    with pytest.raises(UsageError, match="leave some raters out"):
        fitted_weights(EXAM, store=store, train=["anna", "ben"])
    with pytest.raises(UsageError, match="no weighted score strict; it has: relaxed"):
        fitted_weights(EXAM, store=store, score="strict")
