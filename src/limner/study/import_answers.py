"""The import of people's answers: from a study's own raters, or from people who rated elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..core.data_rows import read_lines
from ..core.errors import DataError, UsageError
from ..evidence.imported import BY_SLOT, DrawingFinder
from ..exams import kind
from ..store import Store
from ..store.records import Drawing, kind_of, load_drawings, load_questions
from .answers import RANK, Click, is_done, save_clicks
from .design import CHOICE, FIRST, SECOND, SKIP, TIE, StudyDesign
from .exchange import Row, drawing_name, read_annotations, read_rows, read_thing, shown_order
from .open import OpenStudy, open_study, places_of
from .records import (
    IMPORTED,
    Study,
    StudyItem,
    StudyRater,
    has_study,
    load_answers,
    load_items,
    load_raters,
    load_study,
    save_person,
    save_rater,
    save_study,
)
from .sampling import StudyPlace

Where = tuple[str, int, int]
"""A rater, an item's number, and the repeat."""


@dataclass
class ImportReport:
    """The outcome of an import.

    Attributes:
        done: Complete forms; their marks count.
        partial: Incomplete forms; their answers are stored, and count once the rest is imported.
    """

    answers: int = 0
    raters: int = 0
    items: int = 0
    done: int = 0
    partial: int = 0
    details: list[str] = field(default_factory=list)


@dataclass
class Gathered:
    """Clicks by place, with the order in which drawings were shown."""

    clicks: dict[Where, dict[str, Click]] = field(default_factory=dict)
    orders: dict[Where, tuple[int, ...]] = field(default_factory=dict)
    lines: dict[Where, int] = field(default_factory=dict)


def import_answers(store: Store, name: str, file: Path) -> ImportReport:
    """Import the answers in a CSV, a file of JSON lines, or annotations of Label Studio.

    Raises:
        DataError: A row matches no drawing, or cannot be read; nothing is stored then.
        UsageError: The file is of another exam than the study.
    """
    head = next((line.lstrip() for line in read_lines(file) if line.strip()), "")
    if head.startswith("["):
        study = open_study(store, name)
        gathered = _of_annotations(study, file)
    else:
        rows = read_rows(file)
        rated = RatedExam(store, _exam(rows, file), file)
        study = study_for(store, name, rows, rated)
        gathered = _of_rows(study, rows, rated)
    return _save(study, gathered, file)


def _exam(rows: Sequence[tuple[int, Row]], file: Path) -> str:
    for line, row in rows:
        if not isinstance(row["exam"], str) or row["exam"] != rows[0][1]["exam"]:
            raise DataError("all rows of a file must be of the same exam", file=file, line=line)
    return str(rows[0][1]["exam"])


def _of_rows(study: OpenStudy, rows: Sequence[tuple[int, Row]], rated: RatedExam) -> Gathered:
    items = {tuple(sorted(item.drawings)): item for item in study.items.values()}
    holding = {drawing: item for item in study.items.values() for drawing in item.drawings}
    gathered = Gathered()
    for line, row in rows:
        if not isinstance(row["rater"], str):
            raise DataError("a row has no rater", file=rated.file, line=line)
        try:
            shown = rated.shown(row, line, study.design.unit)
            item = items.get(tuple(sorted(shown))) if study.design.unit == "pair" else holding.get(shown[0])
            if item is None:
                raise ValueError(f"the study {study.name} does not contain this drawing or pair")
            where = (row["rater"], item.n, int(row.get("repeat") or 0))
            clicks = gathered.clicks.setdefault(where, {})
            gathered.lines.setdefault(where, line)
            if study.design.unit == "pair":
                turned = item.drawings[0] != shown[0]
                gathered.orders[where] = shown_order(row, turned)
                click: Click | None = _choice(row, turned)
            else:
                click = _answer(study, item, shown[0], row, clicks)
            if click is not None:
                seconds = row.get("seconds")
                clicks[click.field] = replace(click, seconds=None if seconds is None else float(seconds))
        except (ValueError, TypeError) as error:
            raise DataError(str(error), file=rated.file, line=line, id=str(row["id"])) from error
    return gathered


def _choice(row: Row, turned: bool) -> Click:
    choice = row["choice"]
    named = {row["first"]: FIRST, row["second"]: SECOND, FIRST: FIRST, SECOND: SECOND, TIE: TIE}
    if choice is None:
        return Click(SKIP, 1, row.get("reason") or "no choice")
    if choice not in named:
        raise ValueError(f"choice is first, second or tie, not {choice!r}")
    value = named[choice]
    if turned and value != TIE:
        value = SECOND if value == FIRST else FIRST
    return Click(CHOICE, value, row.get("reason"))


def _answer(study: OpenStudy, item: StudyItem, drawing: str, row: Row, clicks: Mapping[str, Click]) -> Click | None:
    """Return the answer in a row, added to the earlier `clicks` if it is of a listing; None for an empty cell."""
    name, form = str(row["criterion"]), {field.name: field for field in study.item_form(item.n)}
    if name == SKIP:
        return Click(SKIP, 1, row.get("reason") or "skipped")
    head, _, rest = name.partition("/")
    if name == RANK:
        name = f"{RANK}/{item.drawings.index(drawing) + 1}"
    elif head in form and form[head].kind == "listing":
        old = clicks[head].value if head in clicks else {"items": [], "looked": []}
        return Click(head, _listing(old, head, rest, form[head].sorts, row))
    if name not in form:
        raise ValueError(f"the study does not ask for {name!r}; it asks for {', '.join(form)[:200]}")
    if row["value"] is None:
        return None
    return Click(name, form[name].checked(_value(row["value"])), row.get("reason"))


def _listing(old: Mapping[str, Any], name: str, rest: str, sorts: Sequence[str], row: Row) -> dict[str, Any]:
    """Return a listing with one row added: a thing, or that a sort was checked."""
    sort, _, number = rest.partition("/")
    if sort not in sorts:
        raise ValueError(f"{name} has the sorts {', '.join(sorts)}, not {sort!r}")
    things, looked = [*old["items"]], [*old["looked"]]
    if number:
        thing, place = read_thing(row.get("reason") or "not said")
        things.append({"sort": sort, "item": thing, "place": place})
    else:
        looked.append(sort)
    return {"items": things, "looked": looked, "done": {*looked} == {*sorts}}


def _value(value: Any) -> Any:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return {"yes": 1, "no": 0}.get(value.casefold(), value)
        return int(number) if number == int(number) else number
    return int(value) if isinstance(value, float) and value == int(value) else value


def _of_annotations(study: OpenStudy, file: Path) -> Gathered:
    gathered = Gathered()
    for rater, item, order, clicks in read_annotations(study, file):
        where = (rater, item, 0)
        gathered.clicks[where] = {click.field: click for click in clicks}
        gathered.orders[where] = order
    return gathered


def _save(study: OpenStudy, gathered: Gathered, file: Path) -> ImportReport:
    store, report = study.store, ImportReport()
    raters = _raters(study, gathered)
    places = {(name, place.item, place.repeat): place for name, rater in raters.items() for place in places_of(rater)}

    def operation(connection: sa.Connection) -> None:
        for where, clicks in gathered.clicks.items():
            kept = [replace(rater, value=_without_looks(rater.value)) for rater in clicks.values()]
            save_clicks(connection, study, raters[where[0]], places[where], kept)

    store.write(operation)
    stored: dict[Where, dict[str, Any]] = {}
    for answer in load_answers(store, study.name):
        stored.setdefault((answer.rater, answer.item, answer.repeat), {})[answer.field] = answer
    for where in gathered.clicks:
        if is_done(study.form(places[where]), stored[where]):
            report.done += 1
        else:
            report.partial += 1
            missing = [rater.name for rater in study.form(places[where]) if rater.name not in stored[where]]
            line = f":{gathered.lines[where]}" if where in gathered.lines else ""
            about = f"{file}{line}: {study.items[where[1]].question_id}: {where[0]}"
            what = ", ".join(missing)[:100] or "the end of the list"
            report.details.append(f"{about}: incomplete, does not count yet; missing: {what}")
    report.answers = sum(map(len, gathered.clicks.values()))
    report.raters, report.items = len(raters), len({item for _, item, _ in gathered.clicks})
    return report


def _without_looks(value: Any) -> Any:
    return {"items": value["items"], "done": value["done"]} if isinstance(value, dict) else value


def _raters(study: OpenStudy, gathered: Gathered) -> dict[str, StudyRater]:
    """Return the raters of the answers, each with a place for every item; add those that are new."""
    stored_raters = {rater_name.rater: rater_name for rater_name in load_raters(study.store, study.name)}
    raters: dict[str, StudyRater] = {}
    for name in sorted({rater for rater, _, _ in gathered.clicks}):
        rater = stored_raters.get(name) or StudyRater(study.name, name, "", save_person(study.store, name, study.name))
        places = {(place.item, place.repeat) for place in places_of(rater)}
        new = [
            StudyPlace(item, repeat, gathered.orders.get((rater_name, item, repeat), _usual(study, item)))
            for rater_name, item, repeat in gathered.clicks
            if rater_name == name and (item, repeat) not in places
        ]
        if new or name not in stored_raters:
            body = {**rater.body, "places": [*rater.body.get("places", []), *(place.to_json() for place in new)]}
            rater = save_rater(study.store, replace(rater, body=body))
        raters[name] = rater
    return raters


def _usual(study: OpenStudy, item: int) -> tuple[int, ...]:
    return () if study.design.unit == "pair" else tuple(range(len(study.items[item].drawings)))


class RatedExam:
    """The exam whose drawings people rated elsewhere; finds the drawing of a row."""

    def __init__(self, store: Store, exam: str, file: Path) -> None:
        self.exam, self.kind, self.file = exam, kind(kind_of(store, exam)), file
        self.questions = load_questions(store, exam, self.kind.rubric)
        drawings = [drawing for drawing in load_drawings(store, exam) if drawing.question_hash in self.questions]
        self._finder = DrawingFinder(drawings, file.parent, BY_SLOT)

    def drawing(
        self, row: Row, line: int, name: Any, strategy: Any = None, seed: Any = None, *, whole: bool = False
    ) -> Drawing:
        """Return the one drawing of the row's question by this painter.

        If `whole`, the name is that of a row, with the strategy: a painter's bare name is that of its direct drawings.

        Raises:
            DataError: There is none, or there are several; says what to do.
        """
        id = str(row["id"])
        drawings = self._finder.fitting({"id": id, "painter": str(name), "strategy": strategy, "seed": seed})
        if len(drawings) > 1 and whole:
            drawings = [drawing for drawing in drawings if drawing_name(drawing) == str(name)] or drawings
        if len(drawings) == 1:
            return drawings[0]
        if not drawings:
            names = ", ".join(sorted({drawing.label for drawing in self._finder.of(id)})) or "nobody"
            why = f"no drawing by {name!r}; this question was drawn by: {names}"
        else:
            why = f"{len(drawings)} drawings by {name!r} match: specify strategy and seed"
        raise DataError(why, file=self.file, line=line, id=id)

    def shown(self, row: Row, line: int, unit: str) -> list[str]:
        """Return the ids of a row's drawing, or of its pair of drawings in the row's order."""
        if unit == "pair":
            return [self.drawing(row, line, row[side], whole=True).id for side in ("first", "second")]
        return [self.drawing(row, line, row["painter"], row.get("strategy"), row.get("seed")).id]


def study_for(store: Store, name: str, rows: Sequence[tuple[int, Row]], rated: RatedExam) -> OpenStudy:
    """Return the study of this name; for people who rated elsewhere, create or extend it."""
    if has_study(store, name):
        study = load_study(store, name)
        if study.exam != rated.exam:
            raise UsageError(f"the study {name} is of {study.exam}, but the file is of {rated.exam}")
        if study.status != IMPORTED:
            return open_study(store, name)
    design = _design(rows, rated)
    items = load_items(store, name) if has_study(store, name) else []
    if items and items[0].kind != design.unit:
        raise UsageError(
            f"the study {name} has items of the kind {items[0].kind}, not {design.unit}; choose another name"
        )
    known_items = {tuple(sorted(item.drawings)) for item in items}
    for (id, _), ids in _shown(rows, rated, design.unit).items():
        if tuple(sorted(ids)) not in known_items:
            known_items.add(tuple(sorted(ids)))
            items.append(StudyItem(name, len(items) + 1, design.unit, id, ids, "imported"))
    old = load_study(store, name).body["design"] if has_study(store, name) else None
    body = {"design": _merged(old, design), "design_name": IMPORTED, "notes": []}
    save_study(store, Study(name, rated.exam, IMPORTED, body), items)
    return open_study(store, name)


def _shown(rows: Sequence[tuple[int, Row]], rated: RatedExam, unit: str) -> dict[tuple[str, str], list[str]]:
    """Return what was shown together: a drawing, a pair, or all ranked drawings of a question."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line, row in rows:
        ids = rated.shown(row, line, unit)
        inside = groups.setdefault((str(row["id"]), "" if unit == "rank" else " ".join(sorted(ids))), [])
        inside += [id for id in ids if id not in inside]
    return groups


def _design(rows: Sequence[tuple[int, Row]], rated: RatedExam) -> StudyDesign:
    """Return a design with the questions that the file answers."""
    head = {"title": "Imported answers", "raters": 1, "sample": {"of": "references", "size": 1}}
    if "choice" in rows[0][1]:
        return StudyDesign.model_validate(
            {**head, "unit": "pair", "form": [{"kind": "choice", "name": "choice", "text": "Which is better?"}]}
        )
    names = {str(row["criterion"]) for _, row in rows}
    if RANK in names:
        if names - {RANK, SKIP}:
            raise UsageError("ranks need a file without other criteria")
        return StudyDesign.model_validate({**head, "unit": "rank", "form": [{"kind": "rank", "text": "Rank"}]})
    criteria = {
        criterion.id for question in rated.questions.values() for criterion in rated.kind.protocol.criteria(question)
    }
    listed = {name.partition("/")[0] for name in names if name not in criteria and name.rpartition("/")[0] in criteria}
    form: list[dict[str, Any]] = []
    for scale in sorted(name for name in names - criteria - {SKIP} if name.partition("/")[0] not in listed):
        numbers = [float(row["value"]) for _, row in rows if row["criterion"] == scale and _is_number(row["value"])]
        low, high = floor(min(numbers, default=0)), ceil(max(numbers, default=1))
        form.append(
            {"kind": "scale", "name": scale, "text": scale, "low": low, "high": max(high, low + 1), "whole": False}
        )
    if names & criteria:
        heads = {criterion.partition("/")[0]: "/" in criterion for criterion in sorted(criteria)}
        patterns = [f"{head}/*" if parted else head for head, parted in heads.items() if head not in listed]
        form += [{"kind": "criteria", "criteria": patterns}] if patterns else []
    for name in sorted(listed):
        sorts = sorted({criterion.split("/")[1] for criterion in criteria if criterion.startswith(f"{name}/")})
        form.append({"kind": "listing", "name": name, "text": name, "sorts": sorts})
    try:
        return StudyDesign.model_validate({**head, "form": form})
    except ValueError as error:
        raise UsageError(f"no form can be made of the criteria {', '.join(sorted(names))[:200]}: {error}") from error


def _merged(old: Mapping[str, Any] | None, new: StudyDesign) -> dict[str, Any]:
    """Return both designs merged: parts that the new file lacks are kept."""
    body = new.model_dump(mode="json")
    if old is not None:
        names = {part.get("name", part["kind"]) for part in body["form"]}
        body["form"] = [part for part in old["form"] if part.get("name", part["kind"]) not in names] + body["form"]
    return body


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
