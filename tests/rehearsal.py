"""A study that nobody took part in: drawings, a judge and people with known errors, as rows in a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from limner import exams
from limner.calls import digest
from limner.core.exam import Exam, Question
from limner.core.marks import Mark
from limner.running.plan import marking_id, setup_id
from limner.store import Store
from limner.store.markings import Marking
from limner.store.records import Drawing, add_exam, save_setup
from limner.store.schema import drawings, markings
from limner.study.records import Study, StudyItem, save_person, save_study
from tests.support import write_exam

EXAM = "genexam"
STUDY = "pilot"
Values = Mapping[str, int]


@dataclass
class Rehearsal:
    """An exam whose truth is known: what every drawing really fulfils.

    Attributes:
        truth: Drawing -> criterion -> its true value.
        of: Drawing -> the drawing.
    """

    store: Store
    exam: Exam[Any]
    rng: np.random.Generator
    truth: dict[str, dict[str, int]] = field(default_factory=dict)
    of: dict[str, Drawing] = field(default_factory=dict)

    @property
    def protocol(self) -> Any:
        return exams.kind(self.exam.kind).protocol

    def question(self, drawing: str) -> Question[Any]:
        return next(one for one in self.exam.questions if one.hash == self.of[drawing].question_hash)

    def draw(self, painter: str, skill: float, seeds: int = 1, image: str | None = None) -> list[str]:
        """Drawings of all questions; a criterion is met with the chance `skill`."""
        made = []
        for question in self.exam.questions:
            for seed in range(seeds):
                id = digest("rehearsal", painter, question.id, seed)
                one = Drawing(
                    id, self.exam.name, question.id, question.hash, painter, f"folder/{painter}", "direct", seed,
                    "done", image=image or digest("image", id), created=1.0,
                )  # fmt: skip
                made.append(one)
                self.of[id] = one
                self.truth[id] = {
                    each.id: each.top if self.rng.random() < skill else 0 for each in self.protocol.criteria(question)
                }
        self._save(drawings, [asdict(one) for one in made])
        return [one.id for one in made]

    def mark(
        self, setup: str, ids: Sequence[str], look: Callable[[Values, Mapping[str, int]], Values], repeats: int = 1
    ) -> None:
        """Marks of one evaluator; `look` makes them from the truth and the criteria's best values."""
        rows = []
        for id in ids:
            one, best = self.of[id], {each.id: each.top for each in self.protocol.criteria(self.question(id))}
            for repeat in range(repeats):
                marks = [
                    Mark(name, value, f"seen {value}").to_json() for name, value in look(self.truth[id], best).items()
                ]
                place = marking_id(id, one.question_hash, one.image, setup, repeat)
                rows.append(
                    Marking(place, id, one.question_hash, one.image, setup, repeat, "done", marks=marks, created=1.0)
                )
        self._save(markings, [asdict(row) for row in rows])

    def judge(self, name: str, ids: Sequence[str], sensitivity: float, specificity: float, repeats: int = 1) -> str:
        """A judge that errs independently on every mark."""
        body = {"judge": name}
        save_setup(self.store, setup_id(body), body)
        self.mark(setup_id(body), ids, self.errs(sensitivity, specificity), repeats)
        return setup_id(body)

    def person(self, name: str, ids: Sequence[str], right: float, study: str = STUDY) -> str:
        """A person who is right about a mark with this chance."""
        setup = save_person(self.store, name, study)
        self.mark(setup, ids, self.errs(right, right))
        return setup

    def errs(self, sensitivity: float, specificity: float) -> Callable[[Values, Mapping[str, int]], Values]:
        """Marks with errors, between nothing and the best."""

        def look(truth: Values, best: Mapping[str, int]) -> Values:
            return {
                name: best[name] if self.rng.random() < (sensitivity if value else 1 - specificity) else 0
                for name, value in truth.items()
            }

        return look

    def study(self, ids: Mapping[str, float], name: str = STUDY) -> None:
        """The study, with each of these drawings and the probability that it was chosen."""
        items = [
            StudyItem(name, n, "drawing", self.of[id].question_id, [id], "all", probability)
            for n, (id, probability) in enumerate(ids.items(), 1)
        ]
        save_study(self.store, Study(name, self.exam.name, "closed", {}), items)

    def mean(self, ids: Sequence[str], score: str) -> float:
        """The true score of these drawings."""
        found = [
            self.protocol.scores(self.question(id), [Mark(name, value) for name, value in self.truth[id].items()], {})
            for id in ids
        ]
        return float(np.mean([each[score] for each in found]))

    def _save(self, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
        def operation(connection: sa.Connection) -> None:
            for row in rows:
                self.store.upsert(connection, table, row)

        self.store.write(operation)


def rehearse(folder: Path, store: Store, questions: int = 60, seed: int = 1) -> Rehearsal:
    """A generated exam in the store, with nobody in it yet."""
    small = write_exam(folder, questions, drawings=False)
    exam = exams.read(exams.resolve(EXAM, small.data))
    add_exam(store, exam)
    return Rehearsal(store, exam, np.random.default_rng(seed))
