"""The data behind one exam's pages, collected judge by judge, then written with drawings and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.evaluator import Evaluator
from ...core.exam import Question, whole_tags
from ...exams.views import view
from ...scoring import columns, evaluators_of
from ...scoring.compare import Agreement
from ...scoring.compare import judges as compare_judges
from ...scoring.compare.judges import people_names
from ...scoring.compare.opinions import PEOPLE_PREFIX
from ...scoring.stats import Interval
from ...store.records import Drawing
from .answers import answer
from .chunks import Chunks, no_folders, without_folders
from .inventory import DrawingSlot, Inventory, step_images, steps_of
from .judge_data import MAX_REASON, JudgeData, JudgeTable, criteria_json
from .leaderboard import board_notes, by_json, published, table_json
from .pages import Provenance, provenance
from .pages_data import write_differences, write_failures, write_gallery, write_painters, write_questions
from .pictures import Pictures

MAX_STEP_TEXT = 20_000
"""The most characters shown of a step's text."""


class ExamData:
    """The data of one exam for the site.

    Attributes:
        broken: The errors in the exam's own code, in order, without duplicates.
        answer: The exam's result on the first page.
    """

    def __init__(self, inventory: Inventory, folder: Path) -> None:
        self.inventory, self.chunks = inventory, Chunks(folder)
        self.judges = JudgeData(inventory, self.chunks)
        self.body: dict[str, Any] = {}
        self.answer: dict[str, Any] = {}
        self.broken: dict[str, None] = {}
        self._failed: list[list[Any]] = []

    def judge(self, evaluators: Iterable[Evaluator]) -> None:
        """Add these evaluators' marks; call this before `write`."""
        # Table numbers are part of addresses that readers may bookmark.
        ordered = sorted(evaluators, key=lambda each: each.order)
        self.judges.pairs.several = len(ordered) > 1
        for evaluator in ordered:
            self.judges.add(evaluator)
            self.chunks.flush()

    def write(self, pictures: Pictures) -> Provenance:
        """Write everything else, and return the provenance for the pages' footer."""
        inventory, judges, chunks = self.inventory, self.judges, self.chunks
        for key, question, drawings in inventory.whole():
            chunks.add(f"q/{key}", {"question": self._question(question, pictures)})
            for slot, drawing in drawings:
                chunks.add(f"q/{key}", {"drawing": self._drawing(slot, drawing, pictures)})
        write_gallery(inventory, judges, pictures, chunks)
        write_questions(inventory, judges, pictures, chunks)
        write_painters(inventory, judges, pictures, chunks)
        judges.pairs.write(len(judges.tables))
        failures = write_failures(judges, self._failed, pictures, chunks)
        agreement = load_agreement(judges, inventory)
        pairs = [] if agreement is None else agreement_json(agreement, judges.tables)
        differences = write_differences(inventory, judges, pairs, pictures, chunks)
        self.body = self._exam(failures.total(), differences)
        people = [] if agreement is None else people_json(agreement, judges.tables)
        if people:
            self.body["people"] = people
        chunks.add("exam", self.body)
        self.answer = answer(judges, pictures)
        self.answer["people"] = [each for each in people if each["way"] == self.answer["way"]]
        return provenance(inventory, judges.tables, failures, differences)

    def _question(self, question: Question[Any], pictures: Pictures) -> dict[str, Any]:
        reference = question.reference
        body: dict[str, Any] = {
            "id": question.id,
            "prompt": question.prompt,
            "tags": whole_tags(question.tags),
            "hash": question.hash[:12],
        }
        body |= {"criteria": criteria_json(self.inventory.criteria(question)), **self._view(question)}
        body |= {"reference": pictures.large(reference.sha256) if reference else None}
        body |= {"reference_name": reference.name if reference else None}
        if question.inputs:
            body["inputs"] = [pictures.large(picture.sha256) for picture in question.inputs]
        return body | {"rubric": question.rubric.model_dump(mode="json")}

    def _view(self, question: Question[Any]) -> dict[str, Any]:
        try:
            return view(self.inventory.kind, question)
        except Exception as error:  # An error in the exam's own code: only this page's view is missing.
            name = self.inventory.kind.name
            self.broken.setdefault(f"the view of the exam {name!r} is broken: {type(error).__name__}: {error}")
            return {"graph": None}

    def _published(self) -> dict[str, Any]:
        kind = self.inventory.kind.name
        # The paper's painters did not draw a sample or a user's own exam.
        if self.inventory.name == kind:
            try:
                return {"rows": published(kind, self.inventory.tags), "boards": board_notes(kind)}
            except DataError as error:
                self.broken.setdefault(str(error))
        return {"rows": [], "boards": {}}

    def _drawing(self, slot: DrawingSlot, drawing: Drawing, pictures: Pictures) -> dict[str, Any]:
        body: dict[str, Any] = {"d": slot.short, "p": slot.painter, "seed": drawing.seed, "status": drawing.status}
        detail = no_folders(drawing.detail or "")[:MAX_REASON]
        body |= {"fault": drawing.fault, "detail": detail or None, "cost": drawing.cost, "time": drawing.created}
        body |= {"origin": drawing.origin, "calls": [call[:12] for call in drawing.calls][:40]}
        if drawing.prompt_sent and drawing.prompt_sent != self.inventory.versions[drawing.question_hash].prompt:
            body["sent"] = drawing.prompt_sent
        if drawing.image:
            body |= {"image": pictures.large(drawing.image), "size": [drawing.width, drawing.height]}
        body["steps"] = [_step(step, pictures) for step in steps_of(drawing.notes)]
        notes = {name: value for name, value in (drawing.notes or {}).items() if name != "steps"}
        body["notes"] = without_folders(notes)
        if drawing.status not in ("done", "not_applicable"):
            place = [slot.question, slot.painter, slot.seed, body["d"]]
            self._failed.append(["drawing", *place, -1, drawing.fault or drawing.status, detail, drawing.created])
        return body

    def _exam(self, failures: int, differences: int) -> dict[str, Any]:
        inventory, judges, terms = self.inventory, self.judges, self.inventory.terms
        by = by_json(judges.tables, inventory)
        paper = self._published()
        self.chunks.add("by", by)
        self.chunks.add("published", paper)
        body: dict[str, Any] = {"name": inventory.name, "kind": inventory.kind.name, "title": inventory.kind.title}
        body |= {"reading": terms.reading, "on": terms.on, "constants": dict(terms.constants)}
        body |= {"tags": inventory.tags, "published": len(paper["rows"])}
        body["scores"] = [
            {"name": s.name, "top": s.top, "about": s.about, "digits": s.digits, "main": s.main}
            for s in columns(inventory.protocol)
        ]  # fmt: skip
        body["painters"] = [
            {"key": p.key, "row": no_folders(p.name), "name": no_folders(p.label), "strategy": p.strategy,
             "spec": no_folders(p.what), "control": p.control, "done": p.done, "failed": p.failed, "absent": p.absent,
             "cost": p.cost, "seeds": len(p.seeds)}
            for p in inventory.painters
        ]  # fmt: skip
        body["ways"] = [table_json(table, inventory) for table in judges.tables]
        body["by"] = {tag: list(values) for tag, values in by.items()}
        counts = {"questions": len(inventory.questions), "drawings": len(inventory.slots), "failures": failures}
        return body | {"counts": counts | {"differences": differences}}


def _step(step: Mapping[str, Any], pictures: Pictures) -> dict[str, Any]:
    """Return a step with its pictures, and everything else about it as text."""
    body = {name: str(value)[:MAX_STEP_TEXT] for name, value in step.items() if name not in ("image", "pictures")}
    return body | {"images": [pictures.large(image) for image in step_images(step)]}


MEASURES = ("accuracy", "kappa", "spearman")
"""The measures shown: the share of equal marks, agreement beyond chance, and correlation of the drawings' order."""


def load_agreement(judges: JudgeData, inventory: Inventory) -> Agreement | None:
    """Return the agreement of the site's judges with each other and with people; None if nothing was marked twice."""
    store, terms = inventory.store, inventory.terms
    people = sorted(people_names(evaluators_of(store, inventory.name)))
    if not people and all(len(vectors) < 2 for vectors in judges.vectors.values()):
        return None
    how: dict[str, Any] = {"reading": terms.reading, "constants": terms.constants or None, "without": terms.without}
    names = [*(table.evaluator.id for table in judges.tables), *people]
    units = ["drawing"] if people else []
    return compare_judges(inventory.name, store=store, judges=names, units=units, options=terms.backends, **how)


def agreement_json(agreement: Agreement, tables: Sequence[JudgeTable]) -> list[dict[str, Any]]:
    """Return how often each pair of judges, and the repeats of each judge, agree on criteria."""
    rows: list[dict[str, Any]] = []
    flips = {rater.name: rater.flips for rater in agreement.raters}
    for at, one in enumerate(tables):
        rate = flips[one.evaluator.name].rate if one.evaluator.name in flips else Interval()
        if rate.value is not None:
            rows.append({"ways": [at, at], "both": flips[one.evaluator.name].n, "same": 1 - rate.value, "kappa": None})
        for other in tables[at + 1 :]:
            pair = one.evaluator.name, other.evaluator.name
            same, kappa = (agreement.number(*pair, measure, "all") for measure in ("accuracy", "kappa"))
            if same is not None and kappa is not None:
                rows.append({"ways": [at, other.number], "both": same.n, "same": same.value, "kappa": kappa.value})
    return rows


def people_json(agreement: Agreement, tables: Sequence[JudgeTable]) -> list[dict[str, Any]]:
    """Return the measures for each judge and study, each for the first score that has it."""
    numbers = {table.evaluator.name: table.number for table in tables}
    measures: dict[tuple[int, str], dict[str, Any]] = {}
    for pair in agreement.numbers:
        judge = numbers.get(pair.first)
        if judge is None or not pair.second.startswith(PEOPLE_PREFIX) or pair.value is None:
            continue
        if pair.measure in MEASURES:
            body = {"score": pair.score, "value": pair.value, "low": pair.low, "high": pair.high, "n": pair.n}
            measures.setdefault((judge, pair.second), {}).setdefault(pair.measure, body)
    return [
        {"way": judge, "people": no_folders(who), "measures": measures[judge, who]} for judge, who in sorted(measures)
    ]
