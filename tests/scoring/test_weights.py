"""Weights fitted on some raters and shown on the others, from the store to tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from limner.core.errors import UsageError
from limner.core.marks import Mark
from limner.scoring.weights import fitted_weights
from limner.store import Store
from limner.store.ratings import load_ratings
from limner.store.records import load_drawings
from tests.cli.invoke import limner
from tests.scoring.compare.desk import Desk
from tests.scoring.people import mark, person, rate

EXAM = "sample/genexam"
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
def test_a_rater_held_out_takes_no_part_in_the_fit(store: Store) -> None:
    rated(store, ("anna", "ben"))
    before = fitted_weights(EXAM, store=store, train=["anna"]).folds[0]
    ben = person(store, "ben")
    for drawing in list(load_drawings(store, EXAM)):
        rate(store, ben, drawing, 1 + len(drawing.id + drawing.painter) % 7)
    after = fitted_weights(EXAM, store=store, train=["anna"]).folds[0]
    assert after.fitted == before.fitted
    assert after.correlations["exam"] != before.correlations["exam"]


@pytest.mark.slow
def test_the_correlation_is_that_of_the_held_out_raters_means(store: Store) -> None:
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
def test_what_is_lacking_is_said(store: Store) -> None:
    rated(store, ("anna",))
    with pytest.raises(UsageError, match="weights need two people who mark and rate overall; there is: anna"):
        fitted_weights(EXAM, store=store)
    person(store, "ben")
    rated(store, ("anna", "ben"), painters=1)
    with pytest.raises(UsageError, match="--train dora: there is: anna, ben"):
        fitted_weights(EXAM, store=store, train=["dora"])
    with pytest.raises(UsageError, match="leave some raters out"):
        fitted_weights(EXAM, store=store, train=["anna", "ben"])
    with pytest.raises(UsageError, match="no weighted score strict; there is: relaxed"):
        fitted_weights(EXAM, store=store, score="strict")
