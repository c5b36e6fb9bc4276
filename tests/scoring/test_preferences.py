"""Choices between two drawings, from the store to tables: who counts, with which weight, and what is said."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.scoring.preferences import Preferences, preferences
from limner.store import Store
from limner.store.records import Drawing, load_drawings
from tests.cli.invoke import limner
from tests.scoring.compare.desk import Desk
from tests.scoring.people import choose, person, study_of

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


def test_people_each_and_together(store: Store) -> None:
    there = drawn(store)
    ids = sorted({id for id, _ in there})
    anna, ben = person(store, "anna"), person(store, "ben")
    for n, id in enumerate(ids):
        choose(store, anna, there[id, "one"], there[id, "two"], "first" if n % 3 else "second")
        choose(store, ben, there[id, "two"], there[id, "one"], "tie" if n % 2 else "second", shown_first="second")
    choose(store, anna, there[ids[0], "one"], there[ids[0], "three"], None, reason="cannot tell")
    found = preferences(EXAM, store=store)
    assert [each.evaluator for each in found] == ["people", "person/anna", "person/ben"]
    mine, all_of_them = only(found, "person/anna"), only(found, "people")
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
    assert only(preferences(EXAM, store=store, judges=["people"]), "people").n == 2 * len(ids)
    assert [e.evaluator for e in preferences(EXAM, store=store, judges=["person/ben"])] == ["person/ben"]


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


def test_nobody_has_chosen(store: Store) -> None:
    drawn(store)
    with pytest.raises(UsageError, match="nobody has chosen between two drawings"):
        preferences(EXAM, store=store)
    with pytest.raises(UsageError, match="the study other of"):
        preferences(EXAM, store=store, study="other")


def test_as_text_json_and_csv(store: Store, tmp_path: Path) -> None:
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
    assert "--train goes with --weights" in limner("agree", EXAM, "--train", "a", code=2).err
