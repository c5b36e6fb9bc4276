"""The import of results from another scorer: its judge's replies, and its drawings if available."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from .. import exams
from ..calls import Fault, Request
from ..core.asks import Reply
from ..core.errors import DataError, UsageError
from ..core.exam import Question
from ..core.images import BadImage
from ..core.protocol import READINGS
from ..exams import ImportedReply, Kind
from ..painters import FolderPainter
from ..painters.folder import tags_by_id
from ..store import DEFAULT, Store, now
from ..store.markings import Marking
from ..store.records import Drawing, add_exam, evidence_row, load_drawings, save_setup
from ..store.schema import attempts, calls, drawings, evidence, markings
from ..store.store import using_store
from .plan import marking_id, setup_id, slot_id
from .setup import load_exam_or_data

BATCH = 200
Rows = list[tuple[sa.Table, dict[str, Any]]]
"""Rows, each with its table."""


@dataclass
class ImportReport:
    """The numbers of imported rows.

    Attributes:
        failures: Results that cannot be read, and evidence that the other scorer failed to measure, by kind.
        details: Why a result could not be read, or why its drawing or evidence is missing.
    """

    results: int = 0
    images: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)


def import_results(
    exam: str,
    results: Path | str,
    *,
    painter: str,
    judge: str,
    data: Path | str | None = None,
    images: Path | str | None = None,
    regions: Path | str | None = None,
    store: Store | str | Path = DEFAULT,
) -> ImportReport:
    """Import a folder of the release's own results.

    Args:
        exam: The exam they belong to.
        results: The folder that the released scorer wrote.
        painter: The name of the model that drew.
        judge: The name of the model that marked.
        data: The exam's data folder; not needed once the store has the exam.
        images: A folder with the drawings, ``<id>.png|jpg|jpeg|webp``; without it results have no image hash.
        regions: A file of region counts, for exams that use them.
        store: A folder or database URL.

    Raises:
        DataError: A result fits no question, occurs twice, or was made with another rubric.
        UsageError: The store has drawings made by this painter. Nothing is written in any of these cases.
    """
    folder = Path(results)
    if not folder.exists():
        raise UsageError(f"--results {folder}: no such file or folder")
    named, whole = load_exam_or_data(exam, data, store)
    kind = exams.kind(named.kind)
    if kind.read_results is None:
        raise UsageError(f"the exam {kind.name} has no reader for its release's results")
    questions = {question.id: question for question in whole.questions}
    extra = {} if regions is None else {"regions": Path(regions)}
    if extra and "regions" not in signature(kind.read_results).parameters:
        raise UsageError(f"the exam {kind.name} does not use region counts: leave out --regions")
    results_read = list(kind.read_results(folder, **extra))
    _check_all(results_read, questions, kind)
    finder = None
    if images is not None:
        finder = FolderPainter("images", f"folder/{images}", Path(images), tags_by_id(whole.questions))
    with using_store(store, create=True) as opened:
        _refuse_to_replace(opened, whole.name, painter)
        add_exam(opened, whole)
        setup = {"judge": judge, "variant": "imported", "options": {}, "origin": "import"}
        id = setup_id(setup)
        save_setup(opened, id, setup)
        importer = _Importer(opened, whole.name, kind, painter, id, finder)
        for start in range(0, len(results_read), BATCH):
            batch = results_read[start : start + BATCH]
            rows = [row for result in batch for row in importer.rows(result, questions[result.question])]
            opened.write(lambda connection, rows=rows: _save(opened, connection, rows))  # type: ignore[misc]
        return importer.report


def _check_all(results: list[ImportedReply], questions: Mapping[str, Question[Any]], kind: Kind[Any]) -> None:
    files: dict[str, Path] = {}
    for result in results:
        _check(result, questions, kind)
        if result.question in files:
            problem = f"there is another result for this question: {files[result.question]}"
            raise DataError(problem, file=result.file, id=result.question)
        files[result.question] = result.file


def _refuse_to_replace(store: Store, exam: str, painter: str) -> None:
    """Raise an error if the import would replace drawings made by this painter, which were paid for."""
    if any(drawing.origin != "import" for drawing in load_drawings(store, exam, painter)):
        raise UsageError(f"{painter} has drawings that were made in {store.url}; import under another --painter name")


def _check(result: ImportedReply, questions: Mapping[str, Question[Any]], kind: Kind[Any]) -> None:
    question = questions.get(result.question)
    if question is None:
        raise DataError("no question with this id in the exam", file=result.file, id=result.question)
    if result.misfit is not None and (why := result.misfit(question)) is not None:
        raise DataError(why, file=result.file, id=result.question)
    if result.rubric is None:
        return
    try:
        same = kind.rubric.model_validate(result.rubric) == question.rubric
    except ValidationError:
        same = False
    if not same:
        raise DataError("made with a different rubric than this exam's", file=result.file, id=result.question)


@dataclass
class _Importer:
    store: Store
    exam: str
    kind: Kind[Any]
    painter: str
    setup: str
    finder: FolderPainter | None
    report: ImportReport = field(default_factory=ImportReport)

    def rows(self, result: ImportedReply, question: Question[Any]) -> Rows:
        """Return the rows for one result."""
        slot = slot_id(self.exam, question.hash, self.painter, "direct", {}, 0)
        of = slot, self.exam, question.id, question.hash, self.painter
        drawing = self._with_image(Drawing(*of, "import", "direct", 0, "done", origin="import"))
        rows: Rows = [(drawings, asdict(drawing))]
        replies = []
        for ask, text in result.replies:
            key, call_rows = _call(self.setup, self.exam, self.painter, question.id, ask, text)
            rows += call_rows
            replies.append([ask, key])
        fault, detail = self._fault(result, question)
        marking = Marking(
            marking_id(slot, question.hash, drawing.image, self.setup, 0),
            slot, question.hash, drawing.image, self.setup, 0,
            "failed" if fault else "done", replies=replies, fault=fault, detail=detail, cost=None, origin="import",
        )  # fmt: skip
        self.report.results += 1
        if fault:
            self.report.failures[fault] += 1
            self.report.details.append(f"{result.file}: {detail}")
        self.report.details += result.notes
        for name, why in result.unmeasured.items():
            self.report.failures["probe"] += 1
            self.report.details.append(f"{result.file}: {result.question}: {name}: {why}")
        for name, value in result.evidence.items():
            rows.append((evidence, evidence_row(slot, name, "imported", value)))
        return [*rows, (markings, asdict(marking))]

    def _with_image(self, drawing: Drawing) -> Drawing:
        if self.finder is None:
            return drawing
        try:
            data = self.finder.find(drawing.question_id).read_bytes()
            sha256, info = self.store.blobs.put(data)
        except (Fault, OSError, BadImage) as error:
            self.report.details.append(f"{drawing.question_id}: image: {error}")
            return drawing
        self.report.images += 1
        return replace(drawing, image=sha256, width=info.width, height=info.height)

    def _fault(self, result: ImportedReply, question: Question[Any]) -> tuple[str | None, str | None]:
        if result.fault is not None:
            return "unreadable", result.fault
        replies = [Reply(ask, text) for ask, text in result.replies]
        reasons = []
        for reading in READINGS:
            marks = self.kind.protocol.marks(question, replies, reading)
            if any(mark.verdict != "unread" for mark in marks):
                return None, None
            reasons += [mark.reason for mark in marks[:1]]
        return "unreadable", reasons[0] if reasons else None


def _save(store: Store, connection: sa.Connection, rows: Rows) -> None:
    for table, row in rows:
        store.upsert(connection, table, row)


def _call(setup: str, exam: str, painter: str, question: str, ask: str, text: str) -> tuple[str, Rows]:
    """Return the journal rows of an imported reply, so that every reading can be applied to it."""
    body = {"exam": exam, "painter": painter, "question": question, "ask": ask}
    body["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    request, at = Request("import", setup, body), now()
    call = {
        "key": request.key, "kind": "import", "target": setup, "request": {"body": body, "repeat": 0, "round": 0},
        "status": "done", "tries": 1, "accepted": 1, "created": at, "updated": at,
    }  # fmt: skip
    attempt = {"call": request.key, "n": 1, "started": at, "seconds": 0.0, "result": {"text": text}, "cost": None}
    return request.key, [(calls, call), (attempts, attempt)]
