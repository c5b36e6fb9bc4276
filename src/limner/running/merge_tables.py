"""The merging of rows from one store into another, table by table, with one rule for each table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sqlalchemy as sa

from ..calls.budget import counted
from ..calls.claims import lost_attempt
from ..calls.keys import Owner
from ..store import Store, now
from ..store.schema import attempts, calls, content_columns, metadata, purses, reservations

Row = Mapping[str, Any]
Verdict = Literal["same", "settled", "contradiction"]


def _never(_row: Row) -> bool:
    return False


@dataclass(frozen=True)
class Rule:
    """The rule by which two rows with the same primary key become one.

    Attributes:
        same: Columns that must agree; if they differ, the rows contradict each other.
        by: The column with the time that decides which of the two is kept.
        later: Whether the later of two agreeing rows is kept, not the earlier, because its state has moved on.
        final: Statuses with a result: such a row replaces one without; of two without, the later is kept.
        revised: Selects rows that somebody may have changed on purpose: of two that differ, the later is kept.
        united: Columns with lists that are combined.
        sums: Columns that the target computes itself, 0 in a new row.
        travels: Whether the rows are merged at all.
        journal: Whether they are merged together with their call, by `_journal`.
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
"""The rule of rows that have a meaning only in their own store."""
JOURNAL = Rule(journal=True)
DONE = ("done",)
RENAME = "export it from one of the stores and import it under another name"
RULES: dict[str, Rule] = {
    "meta": OWN,
    "batches": OWN,
    "read_marks": OWN,
    "exams": Rule(same=("kind",), fix="run one of the two exams under another name"),
    "questions": Rule(same=("id", "body", "reference"), united=("subsets",)),
    "drawings": Rule(
        same=("image",), final=DONE, fix="the drawing was made twice: draw it in one store under another painter name"
    ),
    "setups": Rule(same=("judge", "body", "kind")),
    "markings": Rule(same=("replies", "marks"), final=DONE, revised=lambda row: row["origin"] == "study"),
    "evidence": Rule(same=("value",), fix="measure it again in one of the stores"),
    "calls": JOURNAL,
    "attempts": JOURNAL,
    "reservations": JOURNAL,
    "purses": Rule(
        same=("budget",), sums=("spent", "reserved"), fix="set the same limit in both: --budget DOLLARS --change-purse"
    ),
    "studies": Rule(same=("exam", "body"), by="updated", later=True, fix=RENAME),
    "study_items": Rule(same=("kind", "question_id", "drawings", "stratum", "probability"), by="n", fix=RENAME),
    "study_raters": Rule(same=("token", "setup"), by="updated", later=True, fix=RENAME),
    "study_answers": Rule(same=("value", "reason"), by="at", revised=lambda _: True),
    "ratings": Rule(same=("value", "reason"), revised=lambda row: row["study"] is not None),
    "comparisons": Rule(same=("choice", "reason", "first"), revised=lambda row: row["study"] is not None),
    "metrics": Rule(same=("value", "n", "body"), fix="compute the metric again after merging"),
    "certificates": Rule(same=("body",), fix="examine the judge again after merging"),
    "builds": Rule(same=("recipe", "body"), by="updated", later=True, fix="give one of the builds another name"),
    "build_items": Rule(
        same=("given", "status", "reason", "body"), final=("done", "dropped"), fix="give one of the builds another name"
    ),
    "build_reviews": Rule(same=("build", "item", "step", "reviewer", "action", "base", "body", "comment")),
}
"""The rule of each table. A new table of the schema needs a line here; a test checks that."""


@dataclass(frozen=True)
class Contradiction:
    """Two rows that cannot both be right.

    Attributes:
        id: The rows' primary key.
        source: The store whose row differs from the target's.
        columns: The columns that differ.
        fix: What to do about it.
    """

    table: str
    id: str
    source: str
    columns: tuple[str, ...]
    fix: str

    def __str__(self) -> str:
        return f"{self.source}: {self.table} {self.id}: another {' and '.join(self.columns)}; {self.fix}"


def pick_row(rule: Rule, mine: Row, theirs: Row) -> tuple[Row, Verdict]:
    """Return which of two rows with the same key is kept, and why; the order of the stores does not matter.

    If they contradict each other, it is the earlier.
    """
    if mine == theirs:
        return mine, "same"
    first, last = sorted((mine, theirs), key=lambda row: (row[rule.by], json.dumps(dict(row), sort_keys=True)))
    if rule.final:
        ended = [row for row in (first, last) if row["status"] in rule.final]
        if len(ended) < 2:
            return (ended or [last])[0], "settled"
    verdict: Verdict = "same"
    winner = last if rule.later else first
    if any(mine[name] != theirs[name] for name in rule.same):
        revised = rule.revised(first) and rule.revised(last) and first[rule.by] != last[rule.by]
        winner, verdict = (last, "settled") if revised else (first, "contradiction")
    elif rule.later:
        verdict = "settled"
    joined = {name: sorted({*mine[name], *theirs[name]}) for name in rule.united}
    return {**winner, **joined}, verdict


def differing(rule: Rule, mine: Row, theirs: Row) -> tuple[str, ...]:
    """Return the columns in which two rows contradict each other."""
    return tuple(name for name in rule.same if mine[name] != theirs[name])


MANY = 400
"""The number of rows compared at a time."""
Rows = list[dict[str, Any]]


@dataclass
class MergeCount:
    """The counts of one source's rows.

    Attributes:
        new: Table -> rows that the target lacked.
        changed: Table -> rows that replaced the target's.
        same: Table -> rows that the target already had.
        flying: Key of a call that a process may be making -> that process; such calls are left out.
        twice: Keys of calls with different answers: both are kept, and the earlier counts.
        dollars: The cost of new attempts.
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
        """Whether there is nothing to write."""
        return not (self.new or self.changed)


def bring(target: Store, writing: sa.Connection, source: Store, reading: sa.Connection) -> MergeCount:
    """Merge every row of the source into the target; contradictions are reported, and the earlier row is kept."""
    brought = MergeCount()
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
    brought: MergeCount,
) -> None:
    names = [column.name for column in table.primary_key]
    for rows in _batches(reading, table):
        present = {tuple(row[name] for name in names): row for row in _stored_rows(writing, table, rows)}
        fresh: Rows = []
        for row in rows:
            key = tuple(row[name] for name in names)
            if (mine := present.get(key)) is None:
                fresh.append(row | dict.fromkeys(rule.sums, 0.0))
                continue
            theirs = row | {name: mine[name] for name in rule.sums}
            winner, verdict = pick_row(rule, mine, theirs)
            if verdict == "contradiction":
                id, columns = "/".join(map(str, key)), differing(rule, mine, theirs)
                brought.contradictions.append(Contradiction(table.name, id, source.url, columns, rule.fix))
            if winner != mine:
                target.upsert(writing, table, _to_write(table, winner))
            (brought.same if winner == mine else brought.changed)[table.name] += 1
        _insert(writing, table, fresh, brought)


def _journal(target: Store, writing: sa.Connection, source: Store, reading: sa.Connection, brought: MergeCount) -> None:
    at = now()
    for rows in _batches(reading, calls):
        keys = [row["key"] for row in rows]
        present = {record.call["key"]: record for record in _records(writing, _stored_rows(writing, calls, rows), keys)}
        fresh = _Fresh()
        for theirs in _records(reading, rows, keys):
            key, mine = theirs.call["key"], present.get(theirs.call["key"])
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
    """The rows that a chunk of calls adds to the journal."""

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
            earlier = held.get(row["n"])
            if earlier is None:
                self.reservations.append(row)
                self._move(row["purse"], row["counted"] or 0.0, 0.0)
            elif earlier != row:  # Reserved by a dead process of the target: now it counts as spent.
                self.settled.append(row)
                self._move(row["purse"], row["counted"] or 0.0, -row["bound"])

    def _move(self, purse: str, spent: float, reserved: float) -> None:
        before = self.money.get(purse, (0.0, 0.0))
        self.money[purse] = (before[0] + spent, before[1] + reserved)


def _maker(record: CallRecord) -> str:
    """Return the process that may be making a call."""
    call = record.call
    if call["status"] != "claimed":
        return str(call["status"])
    owner = Owner(call["host"], call["pid"], call["process_start"])
    return f"process {owner.pid} on {owner.host.partition('|')[0]}"


def _records(connection: sa.Connection, rows: Rows, keys: Sequence[str]) -> Iterator[CallRecord]:
    """Yield the calls with their attempts and reservations."""
    tried, aside = _by_call(connection, attempts, keys), _by_call(connection, reservations, keys)
    for row in rows:
        yield CallRecord(row, tried.get(row["key"], []), aside.get(row["key"], []))


def _by_call(connection: sa.Connection, table: sa.Table, keys: Sequence[str]) -> dict[str, Rows]:
    rows_by_call: dict[str, Rows] = {}
    query = sa.select(*content_columns(table)).where(table.c.call.in_(keys)).order_by(table.c.call, table.c.n)
    for row in connection.execute(query).mappings():
        rows_by_call.setdefault(row["call"], []).append(dict(row))
    return rows_by_call


def _batches(connection: sa.Connection, table: sa.Table) -> Iterator[Rows]:
    query = sa.select(*content_columns(table)).order_by(*table.primary_key).execution_options(yield_per=MANY)
    for rows in connection.execute(query).mappings().partitions(MANY):
        yield [dict(row) for row in rows]


def _stored_rows(connection: sa.Connection, table: sa.Table, rows: Rows) -> Rows:
    """Return the stored rows that have the same primary keys."""
    columns = list(table.primary_key)
    if len(columns) == 1:
        wanted: sa.ColumnElement[bool] = columns[0].in_([row[columns[0].name] for row in rows])
    else:
        wanted = sa.tuple_(*columns).in_([tuple(row[column.name] for column in columns) for row in rows])
    return [dict(row) for row in connection.execute(sa.select(*content_columns(table)).where(wanted)).mappings()]


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]], brought: MergeCount) -> None:
    fresh = [_to_write(table, row) for row in rows]
    if fresh:
        connection.execute(table.insert(), fresh)
        brought.new[table.name] += len(fresh)


def _to_write(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for writing, with None as SQL null rather than JSON null."""
    empty = {column.name: sa.null() for column in table.columns if isinstance(column.type, sa.JSON)}
    return {name: empty.get(name) if value is None else value for name, value in row.items()}


SAME = ("kind", "target", "request")
"""The columns that a call's key is a hash of."""
REST = frozenset({"done", "failed", "open"})
"""Statuses of calls that no process is making. Claims are examined; other statuses concern their own store only."""
FIX = "leave out the store whose journal is wrong; run `limner verify` to check it"


@dataclass(frozen=True)
class CallRecord:
    """A call with its attempts and reservations, as rows."""

    call: dict[str, Any]
    attempts: Sequence[dict[str, Any]] = ()
    reservations: Sequence[dict[str, Any]] = ()


@dataclass
class Joined:
    """The result of joining a call that both stores have.

    Attributes:
        twice: Whether the stores have different answers.
        contradictions: Differences that cannot both be right.
    """

    record: CallRecord
    twice: bool = False
    contradictions: list[Contradiction] = field(default_factory=list)


def at_rest(record: CallRecord, at: float) -> CallRecord | None:
    """Return the call if no process is making it; None if one may be.

    An attempt of a dead process counts as it does when a run takes the call over: as interrupted, at its bound if money
    was reserved.
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
    """Return one call made of two, both at rest; the attempts of `mine` keep their numbers."""
    key = mine.call["key"]
    wrong = []
    if differ := tuple(name for name in SAME if mine.call[name] != theirs.call[name]):
        wrong.append(Contradiction("calls", key, source, differ, FIX))
    tried = {row["started"]: row for row in mine.attempts}
    free = 1 + max([0, *(row["n"] for row in (*mine.attempts, *mine.reservations))])
    numbers, added = dict[int, int](), list[dict[str, Any]]()
    for row in sorted(theirs.attempts, key=lambda row: (row["started"], row["n"])):
        earlier = tried.get(row["started"])
        if earlier is None:
            numbers[row["n"]] = free
            added.append(row | {"n": free})
            free += 1
            continue
        numbers[row["n"]] = earlier["n"]
        if differ := tuple(name for name in ("result", "cost", "fault") if row[name] != earlier[name]):
            wrong.append(Contradiction("attempts", f"{key}/{earlier['n']}", source, differ, FIX))
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
    """Return the call's own row, and whether the two stores have different answers."""
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
