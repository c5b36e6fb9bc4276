"""Exams compared: the order of the painters they share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.scoring import compare
from limner.store import Store
from tests.scoring.compare.desk import Desk

SKILLS = {"poor": 0.2, "fair": 0.5, "good": 0.8, "best": 1.0}


def fill(desk: Desk, skills: dict[str, float], **how: Any) -> None:
    for painter, skill in skills.items():
        for question in desk.exam.questions:
            desk.put(painter, question, desk.random(question, skill, painter), **how)


@pytest.mark.slow
def test_equal_and_reversed_orders_are_correlated(store: Store) -> None:
    fill(Desk(store, "sample/genexam"), SKILLS)
    fill(Desk(store, "sample/worldgenbench"), SKILLS)
    fill(Desk(store, "sample/aibench"), {painter: 1 - skill for painter, skill in SKILLS.items()} | {"alone": 0.5})
    found = compare.exams(["sample/genexam", "sample/worldgenbench", "sample/aibench"], store=store)
    assert [column.score.name for column in found.columns] == ["strict", "checklist", "overall"]
    assert found.painters == ("best", "fair", "good", "poor")
    orders = {(pair["first"], pair["second"]): pair for pair in found.pairs}
    same = orders["sample/genexam", "sample/worldgenbench"]
    turned = orders["sample/worldgenbench", "sample/aibench"]
    assert same["painters"] == turned["painters"] == 4
    assert (same["spearman"]["value"] or 0) > 0.9
    assert turned["spearman"]["value"] == turned["kendall"]["value"] == -1.0
    assert turned["spearman"]["low"] == -1.0
    assert turned["spearman"]["high"] <= 0
    body = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert {row["painter"] for row in body["painters"]} == set(SKILLS)


@pytest.mark.slow
def test_exam_options_do_not_distinguish_painters(store: Store) -> None:
    genexam, aibench = Desk(store, "sample/genexam"), Desk(store, "sample/aibench")
    fill(genexam, SKILLS)
    fill(genexam, {"mine": 0.4}, options={"quality": "high"})
    fill(aibench, SKILLS, options={"latex": "strip"})
    fill(aibench, {"mine": 0.4}, options={"quality": "high", "latex": "strip"})
    fill(aibench, {"good": 0.1}, options={"quality": "low"})
    fill(aibench, {"fair": 0.1}, strategy="rewrite")
    found = compare.exams(["sample/genexam", "sample/aibench"], store=store)
    assert found.painters == ("best", "fair", "good", "mine?quality=high", "poor")


@pytest.mark.slow
def test_judge_with_most_painters_is_used(store: Store) -> None:
    one, other = Desk(store, "sample/genexam"), Desk(store, "sample/mmmg")
    fill(one, SKILLS, judge="a")
    fill(one, {"good": 0.5}, judge="b")
    fill(other, SKILLS, judge="b")
    found = compare.exams(["sample/genexam", "sample/mmmg"], store=store)
    assert [column.judge for column in found.columns] == ["a", "b"]
    narrow = compare.exams(["sample/genexam", "sample/mmmg"], store=store, judges=["b"])
    assert narrow.painters == ("good",)
    assert narrow.pairs[0]["spearman"]["reason"] == "an order needs two"


def test_incomparable_exams_are_usage_errors(store: Store) -> None:
    Desk(store, "sample/mmmg")
    fill(Desk(store, "sample/genexam"), SKILLS)
    with pytest.raises(UsageError, match="two exams or more"):
        compare.exams(["sample/genexam", "sample/genexam"], store=store)
    with pytest.raises(UsageError, match="sample/mmmg: nothing is marked"):
        compare.exams(["sample/genexam", "sample/mmmg"], store=store)
