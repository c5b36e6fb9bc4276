"""The merging of rows from one store into another, table by table, with one rule for each table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    if differing(rule.same, mine, theirs):
        revised = rule.revised(first) and rule.revised(last) and first[rule.by] != last[rule.by]
        winner, verdict = (last, "settled") if revised else (first, "contradiction")
    elif rule.later:
        verdict = "settled"
    joined = {name: sorted({*mine[name], *theirs[name]}) for name in rule.united}
    return {**winner, **joined}, verdict


def differing(columns: Sequence[str], mine: Row, theirs: Row) -> tuple[str, ...]:
    """Return which of these columns differ between two rows."""
    return tuple(name for name in columns if mine[name] != theirs[name])


MANY = 400
"""The number of rows compared at a time."""
Rows = list[dict[str, Any]]


@dataclass
class CopiedImages:
    """The outcome of copying a source's images.

    Attributes:
        new: The number that the target did not have.
        lost: Hash -> why the image could not be read.
    """

    new: int = 0
    same: int = 0
    lost: dict[str, str] = field(default_factory=dict)


@dataclass
class SourceReport:
    """The outcome of merging one source.

    Attributes:
        new: Table -> rows that the target lacked.
        changed: Table -> rows that replaced the target's.
        same: Table -> rows that the target already had.
        flying: Key of a call that a process may be making -> that process; such calls are left out.
        twice: Keys of calls with different answers: both are kept, and the earlier counts.
        dollars: The cost of new attempts.
    """

    source: str
    new: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    flying: dict[str, str] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    dollars: float = 0.0
    contradictions: list[Contradiction] = field(default_factory=list)
    images: CopiedImages = field(default_factory=CopiedImages)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.new or self.changed)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {
            "source": self.source, "new": dict(self.new), "changed": dict(self.changed), "same": dict(self.same),
            "dollars": self.dollars, "in_flight": self.flying, "answered_twice": self.twice,
            "images": vars(self.images),
        }  # fmt: skip


class TableMerge:
    """The merging of one source's rows into a target; contradictions are reported, and the earlier row is kept."""

    def __init__(self, target: Store, writing: sa.Connection, source: Store, reading: sa.Connection) -> None:
        self._target, self._writing, self._reading = target, writing, reading
        self._report = SourceReport(source.url)

    def merge(self) -> SourceReport:
        """Merge every row."""
        for table in metadata.sorted_tables:
            rule = RULES[table.name]
            if rule.travels and not rule.journal:
                self._table(table, rule)
        self._journal()
        return self._report

    def _table(self, table: sa.Table, rule: Rule) -> None:
        names, report = [column.name for column in table.primary_key], self._report
        for rows in _batches(self._reading, table):
            present = {tuple(row[name] for name in names): row for row in _stored_rows(self._writing, table, rows)}
            fresh: Rows = []
            for row in rows:
                key = tuple(row[name] for name in names)
                if (mine := present.get(key)) is None:
                    fresh.append(row | dict.fromkeys(rule.sums, 0.0))
                    continue
                theirs = row | {name: mine[name] for name in rule.sums}
                winner, verdict = pick_row(rule, mine, theirs)
                if verdict == "contradiction":
                    id, columns = "/".join(map(str, key)), differing(rule.same, mine, theirs)
                    report.contradictions.append(Contradiction(table.name, id, report.source, columns, rule.fix))
                if winner != mine:
                    self._target.upsert(self._writing, table, _to_write(table, winner))
                (report.same if winner == mine else report.changed)[table.name] += 1
            self._insert(table, fresh)

    def _journal(self) -> None:
        at, writing, report = now(), self._writing, self._report
        for rows in _batches(self._reading, calls):
            keys = [row["key"] for row in rows]
            stored = _records(writing, _stored_rows(writing, calls, rows), keys)
            present, fresh = {record.call["key"]: record for record in stored}, _Fresh()
            for theirs in _records(self._reading, rows, keys):
                key, mine = theirs.call["key"], present.get(theirs.call["key"])
                rested, mine_rested = at_rest(theirs, at), None if mine is None else at_rest(mine, at)
                if rested is None or (mine is not None and mine_rested is None):
                    report.flying[key] = _maker(theirs if rested is None or mine is None else mine)
                    continue
                if mine is None or mine_rested is None:
                    fresh.add(None, rested)
                    continue
                joined, twice, wrong = join(mine_rested, rested, report.source)
                report.contradictions += wrong
                report.twice += [key] if twice else []
                if joined.call != mine.call:
                    self._target.upsert(writing, calls, _to_write(calls, joined.call))
                report.same["attempts"] += len(rested.attempts) + len(mine.attempts) - len(joined.attempts)
                (report.same if joined == mine else report.changed)["calls"] += 1
                fresh.add(mine, joined)
            self._insert(calls, fresh.calls)
            self._insert(attempts, fresh.attempts)
            self._insert(reservations, fresh.reservations)
            report.dollars += sum(row["cost"] or 0.0 for row in fresh.attempts)
            for settled in fresh.settled:
                same = (reservations.c.call == settled["call"]) & (reservations.c.n == settled["n"])
                writing.execute(reservations.update().where(same).values(counted=settled["counted"]))
            for purse, (spent, reserved) in fresh.money.items():
                more = {"spent": purses.c.spent + spent, "reserved": purses.c.reserved + reserved}
                writing.execute(purses.update().where(purses.c.name == purse).values(more))

    def _insert(self, table: sa.Table, rows: Rows) -> None:
        if rows:
            self._writing.execute(table.insert(), [_to_write(table, row) for row in rows])
            self._report.new[table.name] += len(rows)


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
    owner = _owner(call)
    return f"process {owner.pid} on {owner.host.partition('|')[0]}"


def _owner(call: Row) -> Owner:
    return Owner(call["host"], call["pid"], call["process_start"])


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
    if (call["lease_until"] or 0.0) > at and not _owner(call).is_dead_here():
        return None
    lost = {"result": None, "cost": None, "doubt": None} | lost_attempt(call, call["updated"])
    ended = {"status": "failed", "tries": lost["n"], "lease_until": None}
    ended |= {name: lost[name] for name in ("fault", "detail")}
    aside = [
        row if row["counted"] is not None else row | {"counted": counted(row["bound"], None)}
        for row in record.reservations
    ]
    return CallRecord(call | ended, [*record.attempts, lost], aside)


def join(mine: CallRecord, theirs: CallRecord, source: str) -> tuple[CallRecord, bool, list[Contradiction]]:
    """Return one call made of two, both at rest; the attempts of `mine` keep their numbers.

    Returns:
        The call, whether the stores have different answers, and differences that cannot both be right.
    """
    key = mine.call["key"]
    wrong = []
    if differ := differing(SAME, mine.call, theirs.call):
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
        if differ := differing(("result", "cost", "fault"), row, earlier):
            wrong.append(Contradiction("attempts", f"{key}/{earlier['n']}", source, differ, FIX))
    aside = {(row["token"], row["created"]) for row in mine.reservations}
    held = []
    for row in theirs.reservations:
        if (row["token"], row["created"]) not in aside:
            number = numbers.get(row["n"], free)
            free = max(free, number + 1)
            held.append(row | {"n": number})
    attempts = [*mine.attempts, *added]
    accepted = theirs.call["accepted"]
    renumbered = theirs.call | {"accepted": numbers.get(accepted, accepted)}
    call, twice = _call([mine.call, renumbered], attempts)
    return CallRecord(call, attempts, [*mine.reservations, *held]), twice, wrong


def _call(both: Sequence[dict[str, Any]], attempts: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], bool]:
    """Return the call's own row, and whether the two stores have different answers."""
    by = {row["n"]: row for row in attempts}
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
