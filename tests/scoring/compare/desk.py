"""Puts drawings and marks of any sample exam into a store, in whatever order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from limner import exams
from limner.calls import digest
from limner.core.evaluator import CONTROL_PREFIX
from limner.core.exam import Exam, Question
from limner.core.marks import Mark
from limner.store import Store
from limner.store.markings import Marking, PainterMetric, Rating, save_ratings
from limner.store.records import Drawing, add_exam, evidence_row, save_setup
from limner.store.schema import drawings, evidence, markings, studies, study_items

Values = Mapping[str, int | None]


class Desk:
    """One exam in one store."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.exam: Exam[Any] = exams.read(exams.resolve(name))
        self.protocol = exams.kind(self.exam.kind).protocol
        add_exam(store, self.exam)

    def put(
        self,
        painter: str,
        question: Question[Any],
        values: Values | None,
        *,
        judge: str = "judge",
        repeat: int = 0,
        seed: int = 0,
        cost: float | None = 0.0,
        options: Mapping[str, Any] | None = None,
        strategy: str = "direct",
        kind: str = "judge",
        **setup: Any,
    ) -> str:
        """A drawing and its marks; None for one that could not be marked, a value of None for an abstention."""
        of = dict(options or {})
        spec = painter if painter.startswith(CONTROL_PREFIX) else f"folder/{painter}"
        drawing = Drawing(
            digest(self.exam.name, question.hash, painter, seed, of, strategy), self.exam.name, question.id,
            question.hash, painter, spec, strategy, seed, "done", options=of, image="a" * 64,
            created=1.0,
        )  # fmt: skip
        self.store.write(lambda connection: self.store.upsert(connection, drawings, asdict(drawing)))
        body = {"judge": judge, **setup}
        save_setup(self.store, digest(body), body, kind)
        marks = None if values is None else [self._mark(id, value) for id, value in values.items()]
        marking = Marking(
            digest(drawing.id, body, repeat), drawing.id, question.hash, drawing.image, digest(body), repeat,
            "failed" if values is None else "done", marks=marks, fault="refusal" if values is None else None,
            cost=cost, created=1.0,
        )  # fmt: skip
        self.store.write(lambda connection: self.store.upsert(connection, markings, asdict(marking)))
        return drawing.id

    def rate(self, drawing: str, value: float, *, judge: str, scale: str, kind: str = "person", **setup: Any) -> None:
        """A rating of a drawing that is there."""
        body = {"judge": judge, **setup}
        save_setup(self.store, digest(body), body, kind)
        save_ratings(self.store, [Rating(drawing, digest(body), scale, value, setup.get("study"))]).result()

    def measure(self, painter: str, value: float, *, judge: str) -> None:
        """A metric's number of a painter."""
        body = {"judge": judge}
        save_setup(self.store, digest(body), body, "metric")
        save_ratings(self.store, [PainterMetric(self.exam.name, painter, digest(body), value)]).result()

    def study(self, name: str, items: Mapping[str, float]) -> None:
        """A study: drawing -> the probability with which it was taken."""
        head = {"name": name, "exam": self.exam.name, "status": "open", "body": {}, "created": 1.0, "updated": 1.0}
        rows = [
            {
                "study": name,
                "n": n,
                "kind": "drawing",
                "question_id": "",
                "drawings": [id],
                "stratum": "",
                "probability": p,
            }
            for n, (id, p) in enumerate(items.items())
        ]
        self.store.write(lambda connection: self.store.insert_new(connection, studies, head))
        self.store.write(lambda connection: self.store.insert_new(connection, study_items, *rows))

    def count(self, painter: str, question: Question[Any], regions: int) -> None:
        """A region count, as MMMG's readability needs it."""
        subject = digest(self.exam.name, question.hash, painter, 0, {}, "direct")
        row = evidence_row(subject, "regions", "test", regions)
        self.store.write(lambda connection: self.store.upsert(connection, evidence, row))

    @staticmethod
    def _mark(id: str, value: int | None) -> dict[str, Any]:
        return (Mark.abstain(id, "cannot tell") if value is None else Mark(id, value)).to_json()

    def marks(self, question: Question[Any], choose: Callable[[int], int | None]) -> dict[str, int | None]:
        """A value for every criterion; `choose` gets the best one. Nothing is ever found that is not wanted."""
        return {
            criterion.id: criterion.top if criterion.kind == "unexpected" else choose(criterion.top)
            for criterion in self.protocol.criteria(question)
        }

    def random(self, question: Question[Any], skill: float, *seed: Any) -> dict[str, int | None]:
        """Marks that are right with chance `skill`; the same seed gives the same ones."""
        generator = np.random.default_rng(int(digest(question.id, *seed)[:8], 16))
        return self.marks(question, lambda top: top if generator.random() < skill else int(generator.integers(0, top)))
