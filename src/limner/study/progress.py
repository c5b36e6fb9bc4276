"""A study's progress: places done, checks passed, agreement so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..scoring.stats.agreement import krippendorff_alpha
from .answers import LEFT_OUT, check_passed, counted_answers, is_done
from .forms import SKIP
from .open import OpenStudy, places_of
from .records import StudyAnswer, load_answers, load_raters

ByPlace = Mapping[tuple[int, int], Mapping[str, StudyAnswer]]


@dataclass(frozen=True)
class RaterProgress:
    """One rater's progress.

    Attributes:
        same: The share of repeated fields with the same answer; None if there are none.
        panel: The panel's data about the rater, such as PROLIFIC_PID.
        left_out: Whether the rater's answers do not count, because too few checks were passed.
    """

    rater: str
    done: int
    places: int
    skipped: int
    checks: int
    passed: int
    seconds: float
    same: float | None = None
    repeated: int = 0
    panel: dict[str, str] = field(default_factory=dict)
    left_out: bool = False


@dataclass(frozen=True)
class FieldAgreement:
    """The raters' agreement on one kind of field.

    Attributes:
        same: The share of equal pairs of answers.
        alpha: Krippendorff's alpha, with the interval metric for numbers.
        n: The number of fields answered by two or more raters.
        reason: Why alpha could not be computed.
    """

    name: str
    n: int
    same: float | None
    alpha: float | None
    reason: str | None = None


@dataclass(frozen=True)
class StudyProgress:
    """A study's progress."""

    raters: tuple[RaterProgress, ...]
    fields: tuple[FieldAgreement, ...]

    @property
    def done(self) -> int:
        """The number of places done, summed over all raters."""
        return sum(rater.done for rater in self.raters)

    @property
    def places(self) -> int:
        """The number of places, summed over all raters."""
        return sum(rater.places for rater in self.raters)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"done": self.done, "places": self.places, **asdict(self)}


def progress_of(study: OpenStudy) -> StudyProgress:
    """Return a study's progress, from the store."""
    answers: dict[str, dict[tuple[int, int], dict[str, StudyAnswer]]] = {}
    for answer in load_answers(study.store, study.name):
        if answer.value is not None:
            mine = answers.setdefault(answer.rater, {})
            mine.setdefault((answer.item, answer.repeat), {})[answer.field] = answer
    raters = []
    for rater in load_raters(study.store, study.name):
        mine = answers.get(rater.rater, {})
        places = places_of(rater)
        checks = [check_passed(place, mine.get((place.item, 0), {})) for place in places if place.check is not None]
        done = [is_done(study.form(place), mine.get((place.item, place.repeat), {})) for place in places]
        twice = _twice(mine)
        raters.append(
            RaterProgress(
                rater.rater, sum(done), len(places), sum(SKIP in by_field for by_field in mine.values()),
                sum(passed is not None for passed in checks), sum(passed is True for passed in checks),
                sum(answer.seconds or 0.0 for by_field in mine.values() for answer in by_field.values()),
                sum(twice) / len(twice) if twice else None, len(twice), rater.body.get("panel", {}),
                bool(rater.body.get(LEFT_OUT)),
            )
        )  # fmt: skip
    return StudyProgress(tuple(raters), tuple(_agreement(study)))


def _twice(mine: ByPlace) -> list[bool]:
    """Return whether the two answers are equal, for each field answered at both showings of an item."""
    pairs = [(mine.get((item, 0), {}), again) for (item, repeat), again in mine.items() if repeat == 1]
    return [
        first[name].value == again[name].value
        for first, again in pairs
        for name in first.keys() & again.keys()
        if name != SKIP
    ]


def _agreement(study: OpenStudy) -> list[FieldAgreement]:
    tables: dict[str, dict[tuple[int, str], dict[str, Any]]] = {}
    for answer in counted_answers(study.store, study.name):
        if answer.repeat or answer.item < 0:
            continue
        name = answer.field
        kind = next((field.kind for field in study.item_form(answer.item) if field.name == name), "listing")
        if kind != "listing":
            sort = name if kind == "scale" else name.partition("/")[0]
            tables.setdefault(sort, {}).setdefault((answer.item, name), {})[answer.rater] = answer.value
    result = []
    for sort, table in tables.items():
        rows = [list(row.values()) for row in table.values() if len(row) > 1]
        pairs = [a == b for row in rows for n, a in enumerate(row) for b in row[n + 1 :]]
        words = any(isinstance(value, str) for row in rows for value in row)
        codes = {value: float(place) for place, value in enumerate(sorted({v for row in rows for v in row}, key=str))}
        width = max(map(len, rows), default=0)
        numbers = [[codes[v] if words else float(v) for v in row] + [None] * (width - len(row)) for row in rows]
        alpha = krippendorff_alpha(numbers, "nominal" if words else "interval")
        share = sum(pairs) / len(pairs) if pairs else None
        result.append(FieldAgreement(sort, len(rows), share, alpha.value, alpha.reason))
    return result
