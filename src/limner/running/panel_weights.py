"""How much a panel's members count: by how often they are right, on a study's drawings or on faults of known effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import sqlalchemy as sa

from ..core.asks import Reply
from ..core.errors import UsageError
from ..core.marks import OF_CERTIFICATE, OF_STUDY, Mark, values
from ..exams import Kind
from ..judges import Judge, setup_id
from ..store import Store
from ..store.markings import Marking, load_markings
from ..store.records import evaluator_kinds, load_questions, load_replies, load_setups
from ..store.schema import certificates

LEAST, MOST = 0.51, 0.99
"""A member is never taken to be right less or more often: a weight must be above nothing and have an end."""


def panel_weights(source: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    """The weight of each member, the logarithm of its odds of being right, by which votes decide best (Nitzan and
    Paroush, 1982).

    Args:
        source: ``certificate`` or ``study:NAME``.
        members: Who marks.
        store: Where certificates and people's marks are.
        exam: The exam's name in the store.
        kind: Its kind.

    Raises:
        UsageError: A member has no certificate, or has marked none of the study's drawings.
    """
    if source == OF_CERTIFICATE:
        right = _by_certificate(members, store, exam)
    else:
        right = _by_study(source.removeprefix(OF_STUDY), members, store, exam, kind)
    shares = [min(max(share, LEAST), MOST) for share in right]
    return [round(log(share / (1 - share)), 3) for share in shares]


def _by_certificate(members: Sequence[Judge], store: Store, exam: str) -> list[float]:
    query = sa.select(certificates).where(certificates.c.exam == exam).order_by(certificates.c.created)
    with store.reading() as connection:
        newest = {row.setup: row.body for row in connection.execute(query)}
    found = []
    for member in members:
        if (body := newest.get(setup_id(member.setup))) is None:
            raise UsageError(f"{member.name} has no certificate for {exam}, to weigh it by")
        found.append(certified_right(body))
    return found


def certified_right(body: Mapping[str, Any]) -> float:
    """The mean of two shares of a certificate: of faults seen, and of clean references without a false alarm."""
    doses = [row for row in body["doses"] if row["seen"]["value"] is not None]
    must = sum(row["must_fall"] for row in doses)
    seen = sum(row["must_fall"] * row["seen"]["value"] for row in doses) / must if must else 0.5
    alarms = body["false_alarms"]["all"]["value"]
    return float((seen + (1 - (0.5 if alarms is None else alarms))) / 2)


def _by_study(study: str, members: Sequence[Judge], store: Store, exam: str, kind: Kind[Any]) -> list[float]:
    kinds, setups = evaluator_kinds(store), load_setups(store)
    people = {id for id, body in setups.items() if kinds[id] == "person" and body.get("study") == study}
    truth: dict[tuple[str, str], Counter[int]] = {}
    for drawing, marks in _marks(store, exam, kind, people):
        for criterion, value in values(marks).items():
            truth.setdefault((drawing, criterion), Counter())[value] += 1
    if not truth:
        raise UsageError(f"nobody has marked criteria of {exam} in the study {study}, to weigh a panel's members by")
    found = []
    for member in members:
        given = [
            truth[drawing, criterion][value] / truth[drawing, criterion].total()
            for drawing, marks in _marks(store, exam, kind, {setup_id(member.setup)})
            for criterion, value in values(marks).items()
            if (drawing, criterion) in truth
        ]
        if not given:
            said = f"{member.name} has marked none of the drawings of the study {study}"
            raise UsageError(
                f"{said}, to weigh it by; let it mark them first: limner mark {exam} --judge {member.name}"
            )
        found.append(sum(given) / len(given))
    return found


def _marks(store: Store, exam: str, kind: Kind[Any], setups: set[str]) -> list[tuple[str, Sequence[Mark]]]:
    """Drawing and marks of everything these evaluators marked."""
    done: list[Marking] = [one for one in load_markings(store, exam, setups) if one.status == "done"]
    questions = load_questions(store, exam, kind.rubric)
    texts = load_replies(store, [key for one in done if one.marks is None for _, key in one.replies])
    found: list[tuple[str, Sequence[Mark]]] = []
    for one in done:
        if one.marks is not None:
            found.append((one.drawing, [Mark.from_json(mark) for mark in one.marks]))
        else:
            replies = [Reply(ask, texts[key], key) for ask, key in one.replies if key in texts]
            found.append((one.drawing, kind.protocol.marks(questions[one.question_hash], replies, "careful")))
    return found
