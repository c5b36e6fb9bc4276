"""Rows of one store brought into another, table by table, within one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ...calls.claims import Owner
from ...store import Store, now
from ...store.schema import attempts, calls, metadata, purses, reservations
from .journal import CallRecord, at_rest, join
from .rules import RULES, Contradiction, Rule, differing, stands

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
    """The calls with what belongs to them."""
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
    """The rows that are there under the same primary keys."""
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
    """A row as it is written: what is not there is the database's own nothing, not JSON's."""
    empty = {column.name: sa.null() for column in table.columns if isinstance(column.type, sa.JSON)}
    return {name: empty.get(name) if value is None else value for name, value in row.items()}
