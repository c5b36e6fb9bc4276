"""Calls with their attempts and their money, from two journals into one.

An attempt is known by its call and the moment it began: what two stores have of the same attempt is one, and what each
of them paid for counts. A call that was answered in both keeps both answers as attempts; the earlier is the one that
stands, as it would be had one store made all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...calls.budget import counted
from ...calls.claims import Owner, lost_attempt
from .rules import Contradiction

SAME = ("kind", "target", "request")
"""What a call's key is the hash of."""
REST = frozenset({"done", "failed", "open"})
"""What a call can be while nobody makes it. Claims are looked at; whatever else there is belongs to its own store."""
FIX = "leave out the store whose journal is wrong; `limner verify` looks through it"


@dataclass(frozen=True)
class CallRecord:
    """A call with its attempts and what they set aside, as rows."""

    call: dict[str, Any]
    attempts: Sequence[dict[str, Any]] = ()
    reservations: Sequence[dict[str, Any]] = ()


@dataclass
class Joined:
    """What became of a call that two stores have.

    Attributes:
        twice: Whether they have different answers to it.
        contradictions: What cannot both be right.
    """

    record: CallRecord
    twice: bool = False
    contradictions: list[Contradiction] = field(default_factory=list)


def at_rest(record: CallRecord, at: float) -> CallRecord | None:
    """The call when nobody is making it; None while somebody may be.

    What a process that is gone had begun counts as it does when a run takes the call over: an attempt that was
    interrupted, at its bound where money was set aside.
    """
    call = record.call
    if call["status"] in REST:
        return record
    if call["status"] != "claimed":
        return None
    alive = (call["lease_until"] or 0.0) > at and not Owner(
        call["host"], call["pid"], call["process_start"]
    ).is_dead_here()
    if alive:
        return None
    lost = {"result": None, "cost": None, "doubt": None} | lost_attempt(call, call["updated"])
    ended = {
        "status": "failed",
        "tries": lost["n"],
        "fault": lost["fault"],
        "detail": lost["detail"],
        "lease_until": None,
    }
    aside = [
        row if row["counted"] is not None else row | {"counted": counted(row["bound"], None)}
        for row in record.reservations
    ]
    return CallRecord(call | ended, [*record.attempts, lost], aside)


def join(mine: CallRecord, theirs: CallRecord, source: str) -> Joined:
    """One call of two; both are at rest. What is in `mine` keeps its numbers."""
    key = mine.call["key"]
    wrong = []
    if differ := tuple(name for name in SAME if mine.call[name] != theirs.call[name]):
        wrong.append(Contradiction("calls", key, source, differ, FIX))
    tried = {row["started"]: row for row in mine.attempts}
    free = 1 + max([0, *(row["n"] for row in (*mine.attempts, *mine.reservations))])
    numbers, added = dict[int, int](), list[dict[str, Any]]()
    for row in sorted(theirs.attempts, key=lambda row: (row["started"], row["n"])):
        there = tried.get(row["started"])
        if there is None:
            numbers[row["n"]] = free
            added.append(row | {"n": free})
            free += 1
            continue
        numbers[row["n"]] = there["n"]
        if differ := tuple(name for name in ("result", "cost", "fault") if row[name] != there[name]):
            wrong.append(Contradiction("attempts", f"{key}/{there['n']}", source, differ, FIX))
    aside = {(row["token"], row["created"]) for row in mine.reservations}
    held = []
    for row in theirs.reservations:
        if (row["token"], row["created"]) not in aside:
            number = numbers.get(row["n"], free)
            free = max(free, number + 1)
            held.append(row | {"n": number})
    attempts = [*mine.attempts, *added]
    call, twice = _call(mine, replace(theirs, call=theirs.call | _accepted(theirs, numbers)), attempts)
    return Joined(CallRecord(call, attempts, [*mine.reservations, *held]), twice, wrong)


def _accepted(record: CallRecord, numbers: dict[int, int]) -> dict[str, Any]:
    number = record.call["accepted"]
    return {"accepted": None if number is None else numbers.get(number, number)}


def _call(mine: CallRecord, theirs: CallRecord, attempts: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """The call's own row, and whether it was answered differently."""
    both, by = [mine.call, theirs.call], {row["n"]: row for row in attempts}
    done = [call for call in both if call["status"] == "done"]
    twice = False
    if done:
        answers = [by[call["accepted"]] for call in done]
        twice = any(row["result"] != answers[0]["result"] for row in answers)
        base = min(zip(done, answers, strict=True), key=lambda pair: (pair[1]["started"], pair[0]["updated"]))[0]
    else:
        failed = [call for call in both if call["status"] == "failed"]
        base = max(failed or both, key=lambda call: call["updated"])
    asker = min(both, key=lambda call: (call["created"], str(call["exam"]), str(call["painter"])))
    of = {name: asker[name] for name in ("exam", "painter", "created")}
    return base | of | {"tries": max([base["tries"], *by])}, twice
