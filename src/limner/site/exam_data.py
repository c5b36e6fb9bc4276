"""The data behind one exam's pages: survey, then the judges one by one, then drawings and lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core.errors import DataError
from ..core.evaluator import Evaluator
from ..core.exam import Question
from ..scoring import columns
from ..store.records import Drawing
from .chunks import Chunks
from .common import picture, step_json, steps_of
from .inventory import Slot, Survey
from .judge_data import LONGEST, Marked, criteria_json
from .lists import write_differences, write_failures, write_gallery, write_questions
from .painter_page import write_painters
from .papers import published
from .pictures import Pictures
from .provenance import Foot, foot
from .rows import by_json, way_json
from .views import view


class Examined:
    """One exam on its way to the site.

    Attributes:
        broken: What of the exam's own could not be shown, each once, in order.
    """

    def __init__(self, survey: Survey, folder: Path) -> None:
        self.survey, self.chunks = survey, Chunks(folder)
        self.marked = Marked(survey, self.chunks)
        self.body: dict[str, Any] = {}
        self.broken: dict[str, None] = {}
        self._failed: list[list[Any]] = []

    def judge(self, evaluators: Iterable[Evaluator]) -> None:
        """Take these evaluators' marks; at least the numbers must be there before `write`."""
        # By judge first: the numbers of ways stand in addresses that readers keep.
        for evaluator in sorted(evaluators, key=lambda each: (each.judge, each.label)):
            self.marked.add(evaluator)
            self.chunks.flush()

    def write(self, pictures: Pictures) -> Foot:
        """Write everything else; returns what stands at the pages' foot."""
        survey, marked, chunks = self.survey, self.marked, self.chunks
        for key, question in zip(survey.keys, survey.questions, strict=True):
            chunks.add(f"q/{key}", {"question": self._question(question, pictures)})
        for slot, drawing in survey.drawings():
            chunks.add(f"q/{survey.keys[slot.question]}", {"drawing": self._drawing(slot, drawing, pictures)})
        write_gallery(survey, marked, pictures, chunks)
        write_questions(survey, marked, pictures, chunks)
        write_painters(survey, marked, pictures, chunks)
        failures = write_failures(survey, marked, self._failed, chunks)
        self.body = self._exam(failures.total(), write_differences(survey, marked, chunks))
        chunks.add("exam", self.body)
        return foot(survey, marked.ways, failures)

    def _question(self, question: Question[Any], pictures: Pictures) -> dict[str, Any]:
        reference = question.reference
        body: dict[str, Any] = {
            "id": question.id,
            "prompt": question.prompt,
            "tags": dict(question.tags),
            "hash": question.hash[:12],
        }
        body |= {"criteria": criteria_json(self.survey.criteria(question)), **self._view(question)}
        body |= {"reference": picture(reference.sha256, pictures) if reference else None}
        body |= {"reference_name": reference.name if reference else None}
        return body | {"rubric": question.rubric.model_dump(mode="json")}

    def _view(self, question: Question[Any]) -> dict[str, Any]:
        try:
            return view(self.survey.kind, question)
        except Exception as error:  # An exam's own code: the page does without it, and the other pages are there.
            name = self.survey.kind.name
            self.broken.setdefault(f"the view of the exam {name!r} is broken: {type(error).__name__}: {error}")
            return {"graph": None}

    def _published(self) -> list[dict[str, Any]]:
        # A sample, or an exam of one's own, is not what the paper's painters drew.
        if self.survey.name != self.survey.kind.name:
            return []
        try:
            return published(self.survey.kind.name, self.survey.tags)
        except DataError as error:
            self.broken.setdefault(str(error))
            return []

    def _drawing(self, slot: Slot, drawing: Drawing, pictures: Pictures) -> dict[str, Any]:
        body: dict[str, Any] = {"d": drawing.id[:12], "p": slot.painter, "seed": drawing.seed, "status": drawing.status}
        detail = (drawing.detail or "")[:LONGEST]
        body |= {"fault": drawing.fault, "detail": detail or None, "cost": drawing.cost, "time": drawing.created}
        body |= {"origin": drawing.origin, "calls": [call[:12] for call in drawing.calls][:40]}
        if drawing.prompt_sent and drawing.prompt_sent != self.survey.versions[drawing.question_hash].prompt:
            body["sent"] = drawing.prompt_sent
        if drawing.image:
            body |= {"image": picture(drawing.image, pictures), "size": [drawing.width, drawing.height]}
        body["steps"] = [step_json(step, pictures) for step in steps_of(drawing.notes)]
        body["notes"] = {name: value for name, value in (drawing.notes or {}).items() if name != "steps"}
        if drawing.status not in ("done", "not_applicable"):
            place = [slot.question, slot.painter, slot.seed, body["d"]]
            self._failed.append(["drawing", *place, -1, drawing.fault or drawing.status, detail, drawing.created])
        return body

    def _exam(self, failures: int, differences: int) -> dict[str, Any]:
        survey, marked = self.survey, self.marked
        by = by_json(marked.ways, survey)
        paper = self._published()
        self.chunks.add("by", by)
        self.chunks.add("published", {"rows": paper})
        body: dict[str, Any] = {"name": survey.name, "kind": survey.kind.name, "title": survey.kind.title}
        body |= {"reading": survey.terms.reading, "on": survey.terms.on, "constants": dict(survey.terms.constants)}
        body |= {"tags": survey.tags, "published": len(paper)}
        body["scores"] = [
            {"name": s.name, "top": s.top, "about": s.about, "digits": s.digits, "main": s.main}
            for s in columns(survey.protocol)
        ]  # fmt: skip
        body["painters"] = [
            {"key": p.key, "row": p.name, "name": p.label, "strategy": p.strategy, "spec": p.what, "control": p.control,
             "done": p.done, "failed": p.failed, "absent": p.absent, "cost": p.cost, "seeds": len(p.seeds)}
            for p in survey.painters
        ]  # fmt: skip
        body["ways"] = [way_json(way, survey) for way in marked.ways]
        body["by"] = {tag: list(values) for tag, values in by.items()}
        counts = {"questions": len(survey.questions), "drawings": len(survey.slots), "failures": failures}
        return body | {"counts": counts | {"differences": differences}}
