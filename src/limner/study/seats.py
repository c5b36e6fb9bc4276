"""Changes to who takes part in a study: seats are added, people forgotten, and inattentive raters left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.redaction import new_token, token_hash
from ..store import Store
from ..store.schema import comparisons, markings, metrics, ratings, read_marks, setups, study_answers, study_raters
from ..store.store import BUSY_S
from .answers import LEFT_OUT, save_clicks
from .new import rater_names
from .open import OpenStudy, open_study, places_of
from .places import named_place, plan_places
from .progress import RaterProgress, progress_of
from .records import StudyRater, load_rater, load_raters, save_person, save_rater


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
