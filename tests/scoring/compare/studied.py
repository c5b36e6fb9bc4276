"""A store in which judges, people and metrics speak of the same drawings, and what each of them said."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

from limner.store import Store
from tests.scoring.compare.desk import Desk

PEOPLE = ("anna", "ben", "cleo")
SKILLS = {"poor": 0.35, "fair": 0.6, "good": 0.9}
STUDY = "pilot"
CHANCE = {"poor": 0.5, "fair": 0.25, "good": 1.0}
"""With which probability the study takes a painter's drawings."""


class Studied:
    """Three painters of the sample, a judge, three people with marks and an overall rating, two metrics."""

    def __init__(self, store: Store) -> None:
        self.desk = desk = Desk(store, "sample/genexam")
        self.truth: dict[str, dict[str, dict[str, float]]] = {}
        self.painter: dict[str, str] = {}
        items = {}
        for painter, skill in SKILLS.items():
            for question in desk.exam.questions:
                right = desk.random(question, skill, painter)
                id = self._mark("gpt", painter, question, self._slip(question, right, 0.15, "gpt"))
                self._mark("other", painter, question, self._slip(question, right, 0.3, "other"))
                self.painter[id] = painter
                items[id] = CHANCE[painter]
                for name in PEOPLE:
                    marks = self._slip(question, right, 0.1, name)
                    self._mark(f"person/{name}", painter, question, marks, kind="person", study=STUDY)
                    overall = round(1 + 9 * self.truth[f"person/{name}"][id]["relaxed"] / 100)
                    self.truth[f"person/{name}"][id]["overall"] = overall
                    desk.rate(id, overall, judge=f"person/{name}", scale="overall", study=STUDY)
                clip = 20 + random.Random(f"{id} clip").random()
                self.truth.setdefault("metric/clip", {})[id] = {"clip": clip}
                desk.rate(id, clip, judge="metric/clip", scale="clip", kind="metric")
            desk.measure(painter, {"poor": 90.0, "fair": 60.0, "good": 30.0}[painter], judge="metric/fid")
        desk.study(STUDY, items)

    def _slip(self, question: Any, marks: dict[str, int | None], share: float, who: str) -> dict[str, int | None]:
        turn = random.Random(f"{question.id} {who} {sorted(marks.items())}")
        tops = {criterion.id: criterion.top for criterion in self.desk.protocol.criteria(question)}
        return {
            id: tops[id] - value if value is not None and turn.random() < share else value
            for id, value in marks.items()
        }

    def _mark(self, judge: str, painter: str, question: Any, marks: dict[str, int | None], **how: Any) -> str:
        id = self.desk.put(painter, question, marks, judge=judge, **how)
        weights = {f"point/{n}": point.score for n, point in enumerate(question.rubric.scoring_points, 1)}
        given = {name: float(value) for name, value in marks.items() if value is not None}
        semantic = sum(weight for name, weight in weights.items() if given[name])
        ratings = {name: given[name] for name in ("spelling", "readability", "logic")}
        relaxed = 70 * semantic + sum(5 * value for value in ratings.values())
        self.truth.setdefault(judge, {})[id] = {**ratings, **given, "semantic": semantic, "relaxed": relaxed}
        return id

    def of(self, who: str, name: str) -> dict[str, float]:
        """Drawing -> one number, of one evaluator or of people together."""
        if who != "people":
            return {id: round(given[name], 9) for id, given in self.truth[who].items()}
        people = [self.truth[f"person/{person}"] for person in PEOPLE]
        return {id: round(mean(given[id][name] for given in people), 9) for id in people[0]}
