"""Turns a store of made-up GenExam marks into one of replies, as model judges leave it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from limner.exams.genexam.protocol import RATINGS
from limner.store import Store
from limner.store.schema import attempts, calls, markings

AT_ONCE = 1000


def _reply(marks: Sequence[dict[str, Any]]) -> str:
    """What a judge writes who gives these marks."""
    points = [one for one in marks if one["criterion"] not in RATINGS]
    rated = {RATINGS[one["criterion"]][0]: one for one in marks if one["criterion"] in RATINGS}
    body = {
        "answers": [{"reasoning": one["reason"], "answer": one["value"]} for one in points],
        "global_evaluation": {name: {"reasoning": one["reason"], "score": one["value"]} for name, one in rated.items()},
    }
    return json.dumps(body, indent=2)


def as_replies(store: Store) -> None:
    """Put calls with replies in the place of marks; a marking with something undecided stays as it is."""
    listed = sa.select(markings.c.id, markings.c.marks, markings.c.created).where(markings.c.status == "done")
    with store.reading() as connection:
        found = connection.execute(listed).all()
    made = [row for row in found if all(mark["value"] is not None for mark in row.marks)]

    def write(connection: sa.Connection) -> None:
        same = {"kind": "chat", "target": "fake/judge", "request": {}, "status": "done", "tries": 1, "accepted": 1}
        for start in range(0, len(made), AT_ONCE):
            some = made[start : start + AT_ONCE]
            asked = [{**same, "key": row.id, "created": row.created, "updated": row.created} for row in some]
            tried = [
                {"call": row.id, "n": 1, "started": row.created, "seconds": 2.0, "result": {"text": _reply(row.marks)}}
                for row in some
            ]
            store.insert_new(connection, calls, *asked)
            store.insert_new(connection, attempts, *({**row, "cost": 0.012} for row in tried))
            change = markings.update().where(markings.c.id == sa.bindparam("of"))
            connection.execute(
                change.values(replies=sa.bindparam("said"), marks=None),
                [{"of": row.id, "said": [["mark", row.id]]} for row in some],
            )

    store.write(write)
