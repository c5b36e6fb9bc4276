"""Rows of one store brought into another, table by table: one rule for each, and calls with their money."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sqlalchemy as sa

from ..calls.budget import counted
from ..calls.claims import Owner, lost_attempt
from ..store import Store, now
from ..store.schema import attempts, calls, metadata, purses, reservations

Row = Mapping[str, Any]
Verdict = Literal["same", "settled", "contradiction"]


def _never(_row: Row) -> bool:
    return False


@dataclass(frozen=True)
class Rule:
    """How two rows with the same primary key become one.

    Attributes:
        same: Columns that must agree; where they do not, the rows contradict each other.
        by: The column with the time by which one of the two stands.
        later: The later of two that agree stands, not the earlier: its state has moved on.
        final: Statuses with a result: such a row takes the place of one without; of two without, the later stands.
        revised: Rows that somebody may have changed on purpose: of two that differ the later stands.
        united: Columns with lists that are put together.
        sums: Columns that the target keeps itself, nought in a row that is new there.
        travels: Whether the rows are brought along at all.
        journal: Whether they are brought along with their call, by `journal`.
        fix: What to do about a contradiction.
    """

    same: tuple[str, ...] = ()
    by: str = "created"
    later: bool = False
    final: tuple[str, ...] = ()
    revised: Callable[[Row], bool] = field(default=_never, repr=False)
    united: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    travels: bool = True
    journal: bool = False
    fix: str = "leave out the store whose row is wrong"


OWN = Rule(travels=False)
"""Rows that mean something in their own store alone."""
JOURNAL = Rule(journal=True)
DONE = ("done",)
RENAME = "export it from one of the stores and bring it in under another name"
RULES: dict[str, Rule] = {
    "meta": OWN,
    "batches": OWN,
    "read_marks": OWN,
    "exams": Rule(same=("kind",), fix="run one of the two exams under another name"),
    "questions": Rule(same=("id", "body", "reference"), united=("subsets",)),
    "drawings": Rule(
        same=("image",),
        final=DONE,
        fix="the slot was drawn twice: name the painter otherwise in one store and draw there",
    ),
    "setups": Rule(same=("judge", "body", "kind")),
    "markings": Rule(same=("replies", "marks"), final=DONE, revised=lambda row: row["origin"] == "study"),
    "evidence": Rule(same=("value",), fix="measure it anew in one of the stores"),
    "calls": JOURNAL,
    "attempts": JOURNAL,
    "reservations": JOURNAL,
    "purses": Rule(
        same=("budget",), sums=("spent", "reserved"), fix="make the limits alike: --budget DOLLARS --change-purse"
    ),
    "studies": Rule(same=("exam", "body"), by="updated", later=True, fix=RENAME),
    "study_items": Rule(same=("kind", "question_id", "drawings", "stratum", "probability"), by="n", fix=RENAME),
    "study_raters": Rule(same=("token", "setup"), by="updated", later=True, fix=RENAME),
    "study_answers": Rule(same=("value", "reason"), by="at", revised=lambda _: True),
    "ratings": Rule(same=("value", "reason"), revised=lambda row: row["study"] is not None),
    "comparisons": Rule(same=("choice", "reason", "first"), revised=lambda row: row["study"] is not None),
    "metrics": Rule(same=("value", "n", "body"), fix="take the metric again once the stores are one"),
    "certificates": Rule(same=("body",), fix="examine the judge again once the stores are one"),
    "builds": Rule(same=("recipe", "body"), by="updated", later=True, fix="give one of the builds another name"),
    "build_items": Rule(
        same=("given", "status", "reason", "body"), final=("done", "dropped"), fix="give one of the builds another name"
    ),
    "build_reviews": Rule(same=("build", "item", "reviewer", "action", "base", "body", "comment")),
}
"""Table -> its rule. Whoever adds a table to the schema adds a line here; a test counts them."""


@dataclass(frozen=True)
class Contradiction:
    """Two rows that cannot both be right.

    Attributes:
        id: The rows' primary key.
        source: The store whose row differs from the one that is there.
        columns: What differs.
        fix: What to do about it.
    """

    table: str
    id: str
    source: str
    columns: tuple[str, ...]
    fix: str

    def __str__(self) -> str:
        return f"{self.source}: {self.table} {self.id}: another {' and '.join(self.columns)}; {self.fix}"


def stands(rule: Rule, mine: Row, theirs: Row) -> tuple[Row, Verdict]:
    """Return the row that stands of two with one key, whichever store is looked at first.

    In a contradiction it is the earlier.
    """
    if mine == theirs:
        return mine, "same"
    first, last = sorted((mine, theirs), key=lambda row: (row[rule.by], json.dumps(dict(row), sort_keys=True)))
    if rule.final:
        ended = [row for row in (first, last) if row["status"] in rule.final]
        if len(ended) < 2:
            return (ended or [last])[0], "settled"
    verdict: Verdict = "same"
    found = last if rule.later else first
    if any(mine[name] != theirs[name] for name in rule.same):
        revised = rule.revised(first) and rule.revised(last) and first[rule.by] != last[rule.by]
        found, verdict = (last, "settled") if revised else (first, "contradiction")
    elif rule.later:
        verdict = "settled"
    joined = {name: sorted({*mine[name], *theirs[name]}) for name in rule.united}
    return {**found, **joined}, verdict


def differing(rule: Rule, mine: Row, theirs: Row) -> tuple[str, ...]:
    """Return the columns in which two rows contradict each other."""
    return tuple(name for name in rule.same if mine[name] != theirs[name])


MANY = 400
"""So many rows are looked at together."""
Rows = list[dict[str, Any]]


@dataclass
class Brought:
    """What became of one source's rows.

    Attributes:
        new: Table -> rows that were not there.
        changed: Table -> rows that took the place of the one that was there.
        same: Table -> rows that were there.
        flying: Calls that somebody may be making, with who: they are left out.
        twice: Keys of calls with different answers: both are kept, the earlier stands.
        dollars: What the attempts that are new cost.
    """

    new: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    flying: dict[str, str] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    dollars: float = 0.0
    contradictions: list[Contradiction] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether nothing is to be written."""
        return not (self.new or self.changed)


def bring(target: Store, writing: sa.Connection, source: Store, reading: sa.Connection) -> Brought:
    """Bring every row of the source into the target; contradictions are told, and the earlier row stands."""
    brought = Brought()
    for table in metadata.sorted_tables:
        rule = RULES[table.name]
        if rule.travels and not rule.journal:
            _table(target, writing, source, reading, table, rule, brought)
    _journal(target, writing, source, reading, brought)
    return brought


def _table(
    target: Store,
    writing: sa.Connection,
    source: Store,
    reading: sa.Connection,
    table: sa.Table,
    rule: Rule,
    brought: Brought,
) -> None:
    names = [column.name for column in table.primary_key]
    for rows in _batches(reading, table):
        there = {tuple(row[name] for name in names): row for row in _found(writing, table, rows)}
        fresh: Rows = []
        for row in rows:
            key = tuple(row[name] for name in names)
            if (mine := there.get(key)) is None:
                fresh.append(row | dict.fromkeys(rule.sums, 0.0))
                continue
            theirs = row | {name: mine[name] for name in rule.sums}
            found, verdict = stands(rule, mine, theirs)
            if verdict == "contradiction":
                id, columns = "/".join(map(str, key)), differing(rule, mine, theirs)
                brought.contradictions.append(Contradiction(table.name, id, source.url, columns, rule.fix))
            if found != mine:
                target.upsert(writing, table, _to_write(table, found))
            (brought.same if found == mine else brought.changed)[table.name] += 1
        _insert(writing, table, fresh, brought)


def _journal(target: Store, writing: sa.Connection, source: Store, reading: sa.Connection, brought: Brought) -> None:
    at = now()
    for rows in _batches(reading, calls):
        keys = [row["key"] for row in rows]
        there = {record.call["key"]: record for record in _records(writing, _found(writing, calls, rows), keys)}
        fresh = _Fresh()
        for theirs in _records(reading, rows, keys):
            key, mine = theirs.call["key"], there.get(theirs.call["key"])
            rested, mine_rested = at_rest(theirs, at), None if mine is None else at_rest(mine, at)
            if rested is None or (mine is not None and mine_rested is None):
                brought.flying[key] = _maker(theirs if rested is None or mine is None else mine)
                continue
            if mine is None or mine_rested is None:
                fresh.add(None, rested)
                continue
            joined = join(mine_rested, rested, source.url)
            brought.contradictions += joined.contradictions
            brought.twice += [key] if joined.twice else []
            if joined.record.call != mine.call:
                target.upsert(writing, calls, _to_write(calls, joined.record.call))
            brought.same["attempts"] += len(rested.attempts) + len(mine.attempts) - len(joined.record.attempts)
            (brought.same if joined.record == mine else brought.changed)["calls"] += 1
            fresh.add(mine, joined.record)
        _insert(writing, calls, fresh.calls, brought)
        _insert(writing, attempts, fresh.attempts, brought)
        _insert(writing, reservations, fresh.reservations, brought)
        brought.dollars += sum(row["cost"] or 0.0 for row in fresh.attempts)
        for settled in fresh.settled:
            same = (reservations.c.call == settled["call"]) & (reservations.c.n == settled["n"])
            writing.execute(reservations.update().where(same).values(counted=settled["counted"]))
        for purse, (spent, reserved) in fresh.money.items():
            more = {"spent": purses.c.spent + spent, "reserved": purses.c.reserved + reserved}
            writing.execute(purses.update().where(purses.c.name == purse).values(more))


class _Fresh:
    """What a batch of calls adds to the journal."""

    def __init__(self) -> None:
        self.calls: Rows = []
        self.attempts: Rows = []
        self.reservations: Rows = []
        self.settled: Rows = []
        self.money: dict[str, tuple[float, float]] = {}

    def add(self, mine: CallRecord | None, record: CallRecord) -> None:
        if mine is None:
            self.calls.append(record.call)
        tried = {row["n"] for row in mine.attempts} if mine else set()
        held = {row["n"]: row for row in mine.reservations} if mine else {}
        self.attempts += [row for row in record.attempts if row["n"] not in tried]
        for row in record.reservations:
            there = held.get(row["n"])
            if there is None:
                self.reservations.append(row)
                self._move(row["purse"], row["counted"] or 0.0, 0.0)
            elif there != row:  # Of a process of the target that is gone: now it counts.
                self.settled.append(row)
                self._move(row["purse"], row["counted"] or 0.0, -row["bound"])

    def _move(self, purse: str, spent: float, reserved: float) -> None:
        before = self.money.get(purse, (0.0, 0.0))
        self.money[purse] = (before[0] + spent, before[1] + reserved)


def _maker(record: CallRecord) -> str:
    """Who may be making a call."""
    call = record.call
    if call["status"] != "claimed":
        return str(call["status"])
    owner = Owner(call["host"], call["pid"], call["process_start"])
    return f"process {owner.pid} on {owner.host.partition('|')[0]}"


def _records(connection: sa.Connection, rows: Rows, keys: Sequence[str]) -> Iterator[CallRecord]:
    """Yield the calls with what belongs to them."""
    tried, aside = _by_call(connection, attempts, keys), _by_call(connection, reservations, keys)
    for row in rows:
        yield CallRecord(row, tried.get(row["key"], []), aside.get(row["key"], []))


def _by_call(connection: sa.Connection, table: sa.Table, keys: Sequence[str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    query = sa.select(table).where(table.c.call.in_(keys)).order_by(table.c.call, table.c.n)
    for row in connection.execute(query).mappings():
        found.setdefault(row["call"], []).append(dict(row))
    return found


def _batches(connection: sa.Connection, table: sa.Table) -> Iterator[Rows]:
    query = sa.select(table).order_by(*table.primary_key).execution_options(yield_per=MANY)
    for rows in connection.execute(query).mappings().partitions(MANY):
        yield [dict(row) for row in rows]


def _found(connection: sa.Connection, table: sa.Table, rows: Rows) -> Rows:
    """Return the rows that are there under the same primary keys."""
    columns = list(table.primary_key)
    if len(columns) == 1:
        wanted: sa.ColumnElement[bool] = columns[0].in_([row[columns[0].name] for row in rows])
    else:
        wanted = sa.tuple_(*columns).in_([tuple(row[column.name] for column in columns) for row in rows])
    return [dict(row) for row in connection.execute(sa.select(table).where(wanted)).mappings()]


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]], brought: Brought) -> None:
    fresh = [_to_write(table, row) for row in rows]
    if fresh:
        connection.execute(table.insert(), fresh)
        brought.new[table.name] += len(fresh)


def _to_write(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it is written: what is not there is the database's own nothing, not JSON's."""
    empty = {column.name: sa.null() for column in table.columns if isinstance(column.type, sa.JSON)}
    return {name: empty.get(name) if value is None else value for name, value in row.items()}


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
    """Return the call when nobody is making it; None while somebody may be.

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
    """Return the call's own row, and whether it was answered differently."""
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
