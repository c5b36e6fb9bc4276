"""Who takes part in a study: their progress, new seats, people forgotten, and inattentive raters left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.redaction import new_token, token_hash
from ..scoring.stats.agreement import krippendorff_alpha
from ..store import Store
from ..store.schema import comparisons, markings, metrics, ratings, read_marks, setups, study_answers, study_raters
from ..store.store import BUSY_S
from .answers import LEFT_OUT, check_passed, counted_answers, is_done, save_clicks
from .design import SKIP
from .new import rater_names
from .open import OpenStudy, open_study, places_of
from .records import StudyAnswer, StudyRater, load_answers, load_rater, load_raters, save_person, save_rater
from .sampling import named_place, plan_places

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


def add_seats(store: Store, name: str, raters: Sequence[str], people: int | None) -> dict[str, str]:
    """Invite more raters to a study, and return each one's token.

    Raises:
        UsageError: A name is taken.
    """
    study = open_study(store, name)
    taken = {rater.rater for rater in load_raters(store, name)}
    names = rater_names(raters, len(raters) if raters else people, 1) if raters else _free_names(taken, people or 1)
    if again := sorted(taken & set(names)):
        raise UsageError(f"the study {name} already has a rater {again[0]!r}; choose another name")
    rows = {drawing: study.row(drawing) for item in study.items.values() for drawing in item.drawings}
    each, seed = min(study.design.raters, len(names)), study.design.sample.seed + len(taken)
    plans = plan_places(list(study.items.values()), rows, names, each, study.design.quality, seed)
    tokens = {rater: new_token() for rater in names}
    for rater in names:
        body = {"places": [place.to_json() for place in plans[rater]], "named": rater in raters}
        save_rater(store, StudyRater(name, rater, token_hash(tokens[rater]), save_person(store, rater, name), body))
    return tokens


def forget(store: Store, name: str, rater: str) -> tuple[str, str]:
    """Delete a person with all answers and results, and return the name and token of the free seat that is left.

    The seat has the person's places, under new names of pictures.

    Raises:
        StoreError: There is no such study or rater.
    """
    gone = load_rater(store, name, rater)
    seat = _free_names({each.rater for each in load_raters(store, name)}, 1)[0]
    token = new_token()
    body = {"places": [named_place(place).to_json() for place in places_of(gone)]}
    setup = save_person(store, seat, name)

    def operation(connection: sa.Connection) -> None:
        mine = sa.select(markings.c.id).where(markings.c.setup == gone.setup)
        connection.execute(read_marks.delete().where(read_marks.c.marking.in_(mine)))
        for table in (markings, ratings, comparisons, metrics):
            connection.execute(table.delete().where(table.c.setup == gone.setup))
        for table in (study_answers, study_raters):
            connection.execute(table.delete().where(table.c.study == name, table.c.rater == rater))
        connection.execute(setups.delete().where(setups.c.id == gone.setup))
        store.upsert(connection, study_raters, dict(StudyRater(name, seat, token_hash(token), setup, body).__dict__))

    store.write(operation)
    if store.file is not None:
        # Deleted rows stay readable in free pages and in the log until both are rewritten.
        with closing(sqlite3.connect(store.file, timeout=BUSY_S, isolation_level=None)) as file:
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return seat, token


def leave_out(study: OpenStudy, least: float) -> list[RaterProgress]:
    """Leave out the results of raters who passed a smaller share of attention checks, and return these raters.

    Their answers stay: those of raters who pass are taken in again.
    """
    failed = [rater for rater in progress_of(study).raters if rater.checks and rater.passed < least * rater.checks]
    names = {rater.rater for rater in failed}
    for rater in load_raters(study.store, study.name):
        out = rater.rater in names
        if out == bool(rater.body.get(LEFT_OUT)):
            continue
        body = {key: value for key, value in rater.body.items() if key != LEFT_OUT} | ({LEFT_OUT: True} if out else {})
        changed = save_rater(study.store, replace(rater, body=body))

        def operation(connection: sa.Connection, changed: StudyRater = changed) -> None:
            for place in places_of(changed):
                save_clicks(connection, study, changed, place, [])

        study.store.write(operation)
    return failed


def _free_names(taken: set[str], people: int) -> list[str]:
    free = (name for n in count(1) if (name := f"r{n}") not in taken and f"r{n:02}" not in taken)
    return [next(free) for _ in range(people)]
