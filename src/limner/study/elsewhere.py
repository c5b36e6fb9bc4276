"""Studies of people who rated elsewhere: the drawings that rows are about, and the design that their answers make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import Any

from ..core.errors import DataError, UsageError
from ..evidence.imported import BY_SLOT, DrawingFinder
from ..exams import kind
from ..store import Store
from ..store.records import Drawing, kind_of, load_drawings, load_questions
from .answers import RANK
from .design import StudyDesign
from .exchange import Row
from .forms import SKIP
from .open import OpenStudy, open_study
from .records import IMPORTED, Study, StudyItem, has_study, load_items, load_study, save_study


class RatedExam:
    """The exam of which people rated drawings elsewhere; finds the drawing a row is about."""

    def __init__(self, store: Store, exam: str, file: Path) -> None:
        self.exam, self.kind, self.file = exam, kind(kind_of(store, exam)), file
        self.questions = load_questions(store, exam, self.kind.rubric)
        there = [one for one in load_drawings(store, exam) if one.question_hash in self.questions]
        self._finder = DrawingFinder(there, file.parent, BY_SLOT)

    def drawing(self, row: Row, line: int, name: Any, strategy: Any = None, seed: Any = None) -> Drawing:
        """The one drawing of the row's question by this painter.

        Raises:
            DataError: There is none, or several; says what to do.
        """
        id = str(row["id"])
        found = self._finder.fitting({"id": id, "painter": str(name), "strategy": strategy, "seed": seed})
        if len(found) == 1:
            return found[0]
        if not found:
            names = ", ".join(sorted({one.label for one in self._finder.of(id)})) or "nobody"
            why = f"there is no drawing by {name!r}; drawn by: {names}"
        else:
            why = f"{len(found)} drawings by {name!r} fit: say which with strategy and seed"
        raise DataError(why, file=self.file, line=line, id=id)


def study_for(store: Store, name: str, rows: Sequence[tuple[int, Row]], rated: RatedExam) -> OpenStudy:
    """The study of this name; for people who rated elsewhere one is made, or gets what it does not show yet."""
    if has_study(store, name):
        found = load_study(store, name)
        if found.exam != rated.exam:
            raise UsageError(f"the study {name} is of {found.exam}, the file of {rated.exam}")
        if found.status != IMPORTED:
            return open_study(store, name)
    design = _design(rows, rated)
    items = load_items(store, name) if has_study(store, name) else []
    if items and items[0].kind != design.unit:
        raise UsageError(
            f"the study {name} has items of the kind {items[0].kind}, not {design.unit}; take another name"
        )
    known = {tuple(sorted(item.drawings)) for item in items}
    for (id, _), ids in _shown(rows, rated, design.unit).items():
        if tuple(sorted(ids)) not in known:
            known.add(tuple(sorted(ids)))
            items.append(StudyItem(name, len(items) + 1, design.unit, id, ids, "imported"))
    old = load_study(store, name).body["design"] if has_study(store, name) else None
    body = {"design": _merged(old, design), "design_name": IMPORTED, "notes": []}
    save_study(store, Study(name, rated.exam, IMPORTED, body), items)
    return open_study(store, name)


def _shown(rows: Sequence[tuple[int, Row]], rated: RatedExam, unit: str) -> dict[tuple[str, str], list[str]]:
    """What was shown together: a drawing, a pair, or all drawings of a question that were ranked."""
    found: dict[tuple[str, str], list[str]] = {}
    for line, row in rows:
        id = str(row["id"])
        if unit == "pair":
            pair = [rated.drawing(row, line, row[side]).id for side in ("first", "second")]
            found.setdefault((id, " ".join(sorted(pair))), pair)
            continue
        drawing = rated.drawing(row, line, row["painter"], row.get("strategy"), row.get("seed")).id
        inside = found.setdefault((id, "" if unit == "rank" else drawing), [])
        if drawing not in inside:
            inside.append(drawing)
    return found


def _design(rows: Sequence[tuple[int, Row]], rated: RatedExam) -> StudyDesign:
    """A design with what the file answers."""
    head = {"title": "Answers that came from elsewhere", "raters": 1, "sample": {"of": "references", "size": 1}}
    if "choice" in rows[0][1]:
        return StudyDesign.model_validate(
            {**head, "unit": "pair", "form": [{"kind": "choice", "name": "choice", "text": "Which is better?"}]}
        )
    names = {str(row["criterion"]) for _, row in rows}
    if RANK in names:
        if names - {RANK, SKIP}:
            raise UsageError("ranks stand in a file of their own, without other criteria")
        return StudyDesign.model_validate({**head, "unit": "rank", "form": [{"kind": "rank", "text": "Rank"}]})
    criteria = {one.id for question in rated.questions.values() for one in rated.kind.protocol.criteria(question)}
    listed = {name.partition("/")[0] for name in names if name not in criteria and name.rpartition("/")[0] in criteria}
    form: list[dict[str, Any]] = []
    for scale in sorted(name for name in names - criteria - {SKIP} if name.partition("/")[0] not in listed):
        numbers = [float(row["value"]) for _, row in rows if row["criterion"] == scale and _is_number(row["value"])]
        low, high = floor(min(numbers, default=0)), ceil(max(numbers, default=1))
        form.append(
            {"kind": "scale", "name": scale, "text": scale, "low": low, "high": max(high, low + 1), "whole": False}
        )
    if names & criteria:
        heads = {one.partition("/")[0]: "/" in one for one in sorted(criteria)}
        patterns = [f"{head}/*" if parted else head for head, parted in heads.items() if head not in listed]
        form += [{"kind": "criteria", "criteria": patterns}] if patterns else []
    for name in sorted(listed):
        sorts = sorted({one.split("/")[1] for one in criteria if one.startswith(f"{name}/")})
        form.append({"kind": "listing", "name": name, "text": name, "sorts": sorts})
    try:
        return StudyDesign.model_validate({**head, "form": form})
    except ValueError as error:
        raise UsageError(f"the criteria {', '.join(sorted(names))[:200]} make no form: {error}") from error


def _merged(old: Mapping[str, Any] | None, new: StudyDesign) -> dict[str, Any]:
    """The design of both: parts of before that the new file does not have stay."""
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
