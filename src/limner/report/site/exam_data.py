"""The data behind one exam's pages, collected judge by judge, then written with drawings and lists."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.evaluator import Evaluator
from ...core.exam import Question, whole_tags
from ...core.marks import values
from ...exams.views import view
from ...scoring import Standing, columns, evaluators_of
from ...scoring.compare import Agreement
from ...scoring.compare import judges as compare_judges
from ...scoring.compare.judges import people_names
from ...scoring.compare.opinions import PEOPLE_PREFIX
from ...scoring.stats import Interval
from ...store.records import Drawing
from .answers import answer
from .chunks import Chunks, no_folders, without_folders
from .inventory import DrawingSlot, Inventory, step_images, steps_of
from .judge_data import MAX_REASON, JudgeData, criteria_json
from .leaderboard import JudgeTable, board_notes, by_json, numbers_json, published, rounded, table_json
from .pages import Provenance
from .pair_data import write_pairs
from .pictures import Pictures

MAX_STEP_TEXT = 20_000
"""The most characters shown of a step's text."""


class ExamData:
    """The data of one exam for the site.

    Attributes:
        home: The folder of its pages.
        broken: The errors in the exam's own code, in order, without duplicates.
        answer: The exam's result on the first page.
        failed: The drawings that could not be drawn, as rows of the page of failures.
    """

    def __init__(self, inventory: Inventory, home: Path, pictures: Pictures) -> None:
        self.inventory, self.home, self.pictures = inventory, home, pictures
        self.chunks = Chunks(home / ".data")
        shutil.rmtree(self.chunks.folder, ignore_errors=True)
        self.judges = JudgeData(inventory, self.chunks)
        self.body: dict[str, Any] = {}
        self.answer: dict[str, Any] = {}
        self.broken: dict[str, None] = {}
        self.failed: list[list[Any]] = []

    def judge(self, evaluators: Iterable[Evaluator]) -> None:
        """Add these evaluators' marks; call this before `write`."""
        # Table numbers are part of addresses that readers may bookmark.
        for evaluator in sorted(evaluators, key=lambda each: each.order):
            self.judges.add(evaluator)
            self.chunks.flush()

    def write(self) -> Provenance:
        """Write everything else, and return the provenance for the pages' footer."""
        inventory, judges, chunks = self.inventory, self.judges, self.chunks
        for key, question, drawings in inventory.whole():
            chunks.add(f"q/{key}", {"question": self._question(question)})
            for slot, drawing in drawings:
                chunks.add(f"q/{key}", {"drawing": self._drawing(slot, drawing)})
        write_gallery(self)
        write_questions(self)
        write_painters(self)
        write_pairs(inventory, judges.tables, chunks)
        failures, given = write_failures(self), markings(judges)
        agreement = load_agreement(judges, any(len(each) > 1 for each in given.values()))
        differences = write_differences(self, given, agreement_json(agreement, judges.tables))
        self.body = self._exam(failures.total(), differences)
        people = people_json(agreement, judges.tables)
        if people:
            self.body["people"] = people
        chunks.add("exam", self.body)
        self.answer = answer(judges, self.pictures)
        self.answer["people"] = [each for each in people if each["way"] == self.answer["way"]]
        return Provenance(inventory, judges.tables, failures, differences)

    def _question(self, question: Question[Any]) -> dict[str, Any]:
        reference = question.reference
        body: dict[str, Any] = {
            "id": question.id,
            "prompt": question.prompt,
            "tags": whole_tags(question.tags),
            "hash": question.hash[:12],
        }
        body |= {"criteria": criteria_json(self.inventory.criteria(question)), **self._view(question)}
        body |= {"reference": self.pictures.large(reference.sha256) if reference else None}
        body |= {"reference_name": reference.name if reference else None}
        if question.inputs:
            body["inputs"] = [self.pictures.large(picture.sha256) for picture in question.inputs]
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

    def _drawing(self, slot: DrawingSlot, drawing: Drawing) -> dict[str, Any]:
        body: dict[str, Any] = {"d": slot.short, "p": slot.painter, "seed": drawing.seed, "status": drawing.status}
        detail = no_folders(drawing.detail or "")[:MAX_REASON]
        body |= {"fault": drawing.fault, "detail": detail or None, "cost": drawing.cost, "time": drawing.created}
        body |= {"origin": drawing.origin, "calls": [call[:12] for call in drawing.calls][:40]}
        if drawing.prompt_sent and drawing.prompt_sent != self.inventory.versions[drawing.question_hash].prompt:
            body["sent"] = drawing.prompt_sent
        if drawing.image:
            body |= {"image": self.pictures.large(drawing.image), "size": [drawing.width, drawing.height]}
        body["steps"] = [_step(step, self.pictures) for step in steps_of(drawing.notes)]
        notes = {name: value for name, value in (drawing.notes or {}).items() if name != "steps"}
        body["notes"] = without_folders(notes)
        if drawing.status not in ("done", "not_applicable"):
            place = [slot.question, slot.painter, slot.seed, body["d"]]
            self.failed.append(["drawing", *place, -1, drawing.fault or drawing.status, detail, drawing.created])
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
        names = ("name", "top", "about", "digits", "main")
        body["scores"] = [{name: getattr(each, name) for name in names} for each in columns(inventory.protocol)]
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


def load_agreement(judges: JudgeData, twice: bool) -> Agreement | None:
    """Return the agreement of the site's judges with each other and with people; None if nothing was marked `twice`."""
    inventory = judges.inventory
    store, terms = inventory.store, inventory.terms
    people = sorted(people_names(evaluators_of(store, inventory.name)))
    if not people and not twice:
        return None
    how: dict[str, Any] = {"reading": terms.reading, "constants": terms.constants or None, "without": terms.without}
    names = [*(table.evaluator.id for table in judges.tables), *people]
    units = ["drawing"] if people else []
    return compare_judges(inventory.name, store=store, judges=names, units=units, options=terms.backends, **how)


def agreement_json(agreement: Agreement | None, tables: Sequence[JudgeTable]) -> list[dict[str, Any]]:
    """Return how often each pair of judges, and the repeats of each judge, agree on criteria."""
    rows: list[dict[str, Any]] = []
    if agreement is None:
        return rows
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


def people_json(agreement: Agreement | None, tables: Sequence[JudgeTable]) -> list[dict[str, Any]]:
    """Return the measures for each judge and study, each for the first score that has it."""
    numbers = {table.evaluator.name: table.number for table in tables}
    measures: dict[tuple[int, str], dict[str, Any]] = {}
    for pair in agreement.numbers if agreement else ():
        judge = numbers.get(pair.first)
        if judge is None or not pair.second.startswith(PEOPLE_PREFIX) or pair.value is None:
            continue
        if pair.measure in MEASURES:
            body = {"score": pair.score, "value": pair.value, "low": pair.low, "high": pair.high, "n": pair.n}
            measures.setdefault((judge, pair.second), {}).setdefault(pair.measure, body)
    return [
        {"way": judge, "people": no_folders(who), "measures": measures[judge, who]} for judge, who in sorted(measures)
    ]


PART_ROWS = 2500
"""The most rows in one part of a file, or in one file of the gallery."""
MAX_PROMPT = 160
"""The most characters of a prompt in lists; the search uses the whole prompt."""
MAX_NAMED = 6
"""The most differing criteria that a list names."""
MAX_QUOTED = 2
"""The most differing criteria whose text a list shows."""
EXTREMES = 6
"""The number of best and of worst drawings shown for a painter."""


def write_gallery(exam: ExamData) -> None:
    """Write all drawings as a few columns of numbers."""
    slots = list(exam.inventory.slots.values())
    for start in range(0, len(slots) or 1, PART_ROWS):
        some = slots[start : start + PART_ROWS]
        body = {
            "start": start,
            "d": [slot.short for slot in some],
            "q": [slot.question for slot in some],
            "p": [slot.painter for slot in some],
            "seed": [slot.seed for slot in some],
            "image": [exam.pictures.small(slot.image) for slot in some],
            "status": [0 if slot.status == "done" else slot.status for slot in some],
            "met": [[rounded(met.get(slot.number), 4) for slot in some] for met in exam.judges.met],
        }
        exam.chunks.add(f"drawings/{start // PART_ROWS}", body)


def write_questions(exam: ExamData) -> None:
    """Write a summary of every question and, in a separate file for searching, its full text."""
    inventory, tags = exam.inventory, exam.inventory.tags
    places = {tag: {value: place for place, value in enumerate(values)} for tag, values in tags.items()}
    means = [_means(inventory, met) for met in exam.judges.met]
    drawn = Counter(slot.question for slot in inventory.slots.values() if slot.status == "done")
    for start in range(0, len(inventory.questions), PART_ROWS):
        some = inventory.questions[start : start + PART_ROWS]
        numbers = range(start, start + len(some))
        body = {
            "start": start,
            "id": [q.id for q in some],
            "key": [inventory.keys[n] for n in numbers],
            "drawn": [drawn[n] for n in numbers],
            "prompt": [" ".join(q.prompt[: 4 * MAX_PROMPT].split())[:MAX_PROMPT] for q in some],
            "criteria": [len(inventory.criteria(q)) for q in some],
            "reference": [exam.pictures.small(_emblem(q)) for q in some],
            "tags": {tag: [places[tag].get(q.tags.get(tag, ""), -1) for q in some] for tag in tags},
            "met": [[by_question.get(n) for n in numbers] for by_question in means],
        }
        exam.chunks.add("questions", body)
        exam.chunks.add("words", {"start": start, "words": [_words(q) for q in some]})


def _emblem(question: Question[Any]) -> str | None:
    """Return the picture that stands for a question in lists: its reference, or its first input."""
    picture = question.reference or next(iter(question.inputs), None)
    return picture.sha256 if picture else None


def _means(inventory: Inventory, met: Mapping[int, float]) -> dict[int, float | None]:
    """Return for each question the mean share of criteria met, over all painters except controls."""
    sums: dict[int, list[float]] = {}
    for slot in inventory.slots.values():
        if slot.number in met and not inventory.painters[slot.painter].control:
            sums.setdefault(slot.question, []).append(met[slot.number])
    return {question: rounded(sum(values) / len(values), 4) for question, values in sums.items()}


def _words(question: Question[Any]) -> str:
    return " ".join([question.id, *question.tags.values(), *question.prompt.split()]).casefold()


def write_failures(exam: ExamData) -> Counter[str]:
    """Write everything that could not be drawn or marked, and return the counts by kind.

    A row is stage, question, painter, seed, drawing, way, kind, detail, time, image.
    """
    rows = [[*row, None] for row in exam.failed]
    for way, slot, kind, detail in exam.judges.failures:
        image = exam.pictures.small(slot.image)
        rows.append(["marking", slot.question, slot.painter, slot.seed, slot.short, way, kind, detail, None, image])
    rows.sort(key=lambda row: row[:4])
    _write(exam.chunks, "failures", rows)
    return Counter(row[6] for row in rows)


def write_differences(exam: ExamData, given: Markings, agreement: Sequence[Mapping[str, Any]]) -> int:
    """Write every drawing on which judges or repeats differ, and their agreement; return the number of drawings.

    A row is question, painter, seed, drawing, the number of criteria decided twice, the number of those that differ,
    between whom, which ones, the text of the first of these, and the image.
    """
    rows: list[list[Any]] = []
    inventory = exam.inventory
    for slot in inventory.slots.values():
        both, ids, between = differing(given.get(slot.number, ()))
        if ids:
            criteria = [each for each in inventory.criteria(inventory.questions[slot.question]) if each.id in ids]
            words = [criterion.text[:MAX_PROMPT] for criterion in criteria[:MAX_QUOTED]]
            place = [slot.question, slot.painter, slot.seed, slot.short]
            names = [criterion.id for criterion in criteria[:MAX_NAMED]]
            rows.append([*place, both, len(ids), between, names, words, exam.pictures.small(slot.image)])
    rows.sort(key=lambda row: -row[5])
    _write(exam.chunks, "differences", rows, {"agreement": agreement})
    return len(rows)


def _write(chunks: Chunks, name: str, rows: list[Any], head: Mapping[str, Any] | None = None) -> None:
    chunks.add(name, {"rows": rows[:PART_ROWS], **(head or {})})
    for start in range(PART_ROWS, len(rows), PART_ROWS):
        chunks.add(name, {"rows": rows[start : start + PART_ROWS]})


Markings = Mapping[int, Sequence[tuple[int, Mapping[str, int]]]]
"""The markings of each drawing: the table, and the values of the criteria that it decides."""


def markings(judges: JudgeData) -> Markings:
    """Return the markings of each drawing, by its number."""
    given: dict[int, list[tuple[int, dict[str, int]]]] = {}
    for table in judges.tables:
        for entry in (entry for group in table.groups for entry in group.scored):
            if (slot := judges.inventory.slots.get(entry.drawing.id)) is not None:
                given.setdefault(slot.number, []).append((table.number, values(entry.marks)))
    return given


def differing(given: Sequence[tuple[int, Mapping[str, int]]]) -> tuple[int, list[str], list[str]]:
    """Compare the markings of a drawing.

    Returns:
        The number of criteria decided twice, those that were decided differently, and between whom: ``judges``,
        ``repeats`` of one judge, or both.

    >>> differing([(0, {"a": 1, "b": 0}), (1, {"a": 1, "b": 1, "c": 0}), (1, {"a": 0, "b": 1, "c": 0})])
    (3, ['a', 'b'], ['judges', 'repeats'])
    """
    both, ids, between = 0, [], set()
    for criterion in dict.fromkeys(criterion for _, marks in given for criterion in marks):
        by_way: dict[int, list[int]] = {}
        for way, marks in given:
            if criterion in marks:
                by_way.setdefault(way, []).append(marks[criterion])
        sets = [frozenset(values) for values in by_way.values()]
        both += sum(map(len, by_way.values())) > 1
        if len(frozenset().union(*sets)) > 1:
            ids.append(criterion)
            between |= {"judges"} if len(set(sets)) > 1 else set()
            between |= {"repeats"} if max(map(len, sets)) > 1 else set()
    return both, ids, sorted(between)


def write_painters(exam: ExamData) -> None:
    """Write one file for each painter, with a part for each judge's table."""
    drawn: dict[int, list[DrawingSlot]] = {}
    for slot in exam.inventory.slots.values():
        drawn.setdefault(slot.painter, []).append(slot)
    for place, painter in enumerate(exam.inventory.painters):
        exam.chunks.add(f"painters/{painter.key}", {"painter": place})
    for table in exam.judges.tables:
        for row in table.rows:
            place = exam.inventory.places[row.painter, row.strategy]
            part = _painter(exam, table, row, place, drawn[place])
            exam.chunks.add(f"painters/{exam.inventory.painters[place].key}", part)


def _painter(exam: ExamData, table: JudgeTable, row: Standing, place: int, drawn: list[DrawingSlot]) -> dict[str, Any]:
    inventory, met = exam.inventory, exam.judges.met[table.number]
    ranked = sorted((slot for slot in drawn if slot.number in met), key=lambda slot: met[slot.number])
    faults = exam.judges.faults.of(place, table.number)
    for example in (example for sort in faults for example in sort["examples"]):
        question = example.pop("q")
        example |= {"image": exam.pictures.small(example["image"])}
        example |= {"id": inventory.questions[question].id, "key": inventory.keys[question]}
    return {
        "way": table.number,
        "by": {tag: {value: numbers_json(body) for value, body in values.items()} for tag, values in row.by.items()},
        "faults": faults,
        "best": [exam.judges.tile(table, slot, exam.pictures) for slot in ranked[::-1][:EXTREMES]],
        "worst": [exam.judges.tile(table, slot, exam.pictures) for slot in ranked[:EXTREMES]],
        "analyses": dict(row.analyses),
    }
