"""The budget: an upper bound is reserved before each attempt and settled by what it really cost.

Purses are budgets kept in the store and shared by every process, machine and later run that names them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import LimnerError, UsageError
from ..store import Store
from ..store.schema import attempts, calls, purses, reservations
from .keys import Owner, this_host
from .usage import TOO_DEAR

EXACT = 1e-9
"""Tolerance in dollars for rounding errors in sums."""


class BudgetReached(LimnerError):
    """The error raised when nothing more fits into the budget and no call in flight can free any of it."""

    exit_code = 4


class Budget:
    """The dollars that one command may spend; without a limit it only counts.

    The cost of an attempt is sometimes unknown (a dropped connection, a dead process). Its whole bound then counts as
    spent, so that the limit holds whatever the service charged.

    Attributes:
        purse: The purse in the store that holds the limit instead; see `limner.calls.budget`.
    """

    def __init__(self, limit: float | None = None, purse: str | None = None) -> None:
        # Not "limit <= 0": every comparison with "nan" is false, and such a limit would never be reached.
        if limit is not None and not limit > 0:
            raise UsageError(f"--budget takes dollars above 0, not {limit:g}")
        self.limit = limit if purse is None else None
        self.purse = purse
        self.spent = 0.0
        self.reserved = 0.0
        self._flying = 0
        self._freed = asyncio.Event()

    async def reserve(self, bound: float | None, target: str) -> float:
        """Wait until `bound` fits and reserve it; the caller must `settle` it.

        Raises:
            BudgetReached: It does not fit, and no call in flight can free enough.
            UsageError: There is a limit, and the cost of this call has no known bound.
        """
        if bound is None and (self.limit is not None or self.purse is not None):
            raise UsageError(f"--budget needs to know what a call to {target} can cost; {HELP}")
        if self.limit is None or bound is None:
            return bound or 0.0
        while self.spent + self.reserved + bound > self.limit + EXACT:
            if not self._flying:
                left = max(0.0, self.limit - self.spent)
                raise BudgetReached(
                    f"budget reached: ${self.spent:.4f} of ${self.limit:g} spent, and a call to {target} "
                    f"may cost ${bound:.4f} where ${left:.4f} is left; run again with a higher --budget to go on"
                )
            await self._freed.wait()
        self.reserved += bound
        self._flying += 1
        return bound

    def fits(self, bound: float | None) -> bool:
        """Return whether the bound could be reserved at once."""
        return self.limit is None or bound is None or self.spent + self.reserved + bound <= self.limit + EXACT

    def hold(self, bound: float | None) -> float:
        """Reserve the bound of a call that an earlier process submitted, even over the limit."""
        if self.limit is not None:
            self.reserved += bound or 0.0
            self._flying += 1
        return bound or 0.0

    def is_beyond(self, bound: float | None, cost: float | None, doubt: str | None) -> bool:
        """Return whether an attempt cost more than was reserved for it; without a limit, nothing is reserved."""
        limited = self.limit is not None or self.purse is not None
        return limited and ((doubt or "").startswith(TOO_DEAR) or (cost or 0.0) > (bound or 0.0) + EXACT)

    def check_cost(self, bound: float | None, cost: float | None, doubt: str | None, target: str) -> None:
        """Check that a stored attempt cost no more than was reserved for it.

        Raises:
            BudgetReached: It cost more, so the bounds of further calls to this service cannot be relied on.
        """
        if not self.is_beyond(bound, cost, doubt):
            return
        reported = f"${cost:.4f}" if doubt is None else doubt.removeprefix(TOO_DEAR)
        raise BudgetReached(
            f"{target} reports {reported} for a call that can cost ${bound or 0.0:.4f} at most by the price list. "
            "Stopped. The call is counted and its result is stored. Check the service's bill, and correct its prices "
            "in limner.toml before you run the same command again"
        )

    def settle(self, bound: float, cost: float | None) -> None:
        """Release the reservation and count the cost; an unknown cost counts as the bound.

        This never waits, so that a cancelled task cannot leave a reservation behind.
        """
        if self.limit is None:
            self.spent += cost or 0.0
            return
        self._flying -= 1
        # Sums of fractions drift: with no call in flight, nothing is reserved.
        self.reserved = self.reserved - bound if self._flying else 0.0
        self.spent += counted(bound, cost)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()


def counted(bound: float, cost: float | None) -> float:
    """Return the amount an attempt counts for: its cost, or its bound if the cost is unknown."""
    return bound if cost is None else cost


HELP = "add its prices to limner.toml, and for chat models a token limit (--judge-arg max_completion_tokens=N)"
# Made once: they are executed for every call.
PURSE = purses.update().where(purses.c.name == sa.bindparam("purse_"))
FULLER = purses.c.reserved + sa.bindparam("bound_")
TAKE = PURSE.where(purses.c.spent + FULLER <= purses.c.budget + EXACT).values(reserved=FULLER)
MOVE = PURSE.values(
    spent=purses.c.spent + sa.bindparam("spent_"), reserved=purses.c.reserved + sa.bindparam("reserved_")
)
FLYING = (
    reservations.c.call == sa.bindparam("call_"),
    reservations.c.token == sa.bindparam("token_"),
    reservations.c.counted.is_(None),
)
COUNT = reservations.update().where(*FLYING).values(counted=sa.bindparam("counted_"))
REMOVE = reservations.delete().where(*FLYING)
LOST = sa.select(reservations).where(reservations.c.call == sa.bindparam("call_"), reservations.c.counted.is_(None))


@dataclass(frozen=True)
class Reservation:
    """The bound of one call's attempts, and the purse it is set aside in."""

    purse: str
    bound: float

    def take(self, connection: sa.Connection) -> bool:
        """Reserve the bound if it fits; the caller must then `enter` it or `put_back` it."""
        return bool(connection.execute(TAKE, {"purse_": self.purse, "bound_": self.bound}).rowcount)

    def put_back(self, connection: sa.Connection) -> None:
        """Return the reserved bound to the purse unused."""
        self._move(connection, 0.0, -self.bound)

    def enter(self, connection: sa.Connection, store: Store, attempt: dict[str, Any]) -> None:
        """Record which attempt the bound is reserved for: call, n, token, host, pid, process_start, created."""
        if not store.is_new(connection, reservations, {**attempt, "purse": self.purse, "bound": self.bound}):
            self.put_back(connection)  # Entered before, by the same claim.

    def settle(self, connection: sa.Connection, call: str, token: str, cost: float | None) -> None:
        """Count the cost of the attempt; an unknown cost counts as the bound."""
        amount = counted(self.bound, cost)
        self._move(connection, amount, -self.bound)
        if not connection.execute(COUNT, {"call_": call, "token_": token, "counted_": amount}).rowcount:
            # Counted before, or taken over from us and counted as lost.
            self._move(connection, -amount, self.bound)

    def charge(self, connection: sa.Connection, store: Store, attempt: dict[str, Any], cost: float) -> None:
        """Count the cost of an attempt that was expected to be free and had nothing reserved."""
        row = {**attempt, "purse": self.purse, "bound": 0.0, "counted": cost}
        self._move(connection, cost, 0.0)
        if not store.is_new(connection, reservations, row):
            self._move(connection, -cost, 0.0)

    def release(self, connection: sa.Connection, call: str, token: str) -> None:
        """Return the bound of an attempt for which nothing was sent."""
        self.put_back(connection)
        if not connection.execute(REMOVE, {"call_": call, "token_": token}).rowcount:
            self._move(connection, 0.0, self.bound)

    def _move(self, connection: sa.Connection, spent: float, reserved: float) -> None:
        connection.execute(MOVE, {"purse_": self.purse, "spent_": spent, "reserved_": reserved})


def count_lost(connection: sa.Connection, call: str) -> None:
    """Count the bounds reserved by a dead process for this call as spent."""
    for row in connection.execute(LOST, {"call_": call}).all():
        Reservation(row.purse, row.bound).settle(connection, call, row.token, None)


MAX_NAME_LENGTH = 200
"""The most characters that a purse's name may have."""
ALIKE = 1e-12
"""Limits that differ by less than this are equal."""


def check_purse(store: Store, name: str, limit: float | None, *, change: bool = False) -> None:
    """Raise an error if the purse cannot be used as requested; store nothing.

    Raises:
        UsageError: No name, no limit, or another limit than the purse has without `change`.
    """
    Budget(limit)
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise UsageError(
            f"--purse takes a name of 1 to {MAX_NAME_LENGTH} printable characters, not {name[:MAX_NAME_LENGTH]!r}"
        )
    with store.reading() as connection:
        stored_limit = connection.scalar(sa.select(purses.c.budget).where(purses.c.name == name))
    if limit is None and (stored_limit is None or change):
        why = "--change-purse needs its new limit" if change else f"{store.url} has no purse {name!r} yet"
        raise UsageError(f"{why}; add --budget DOLLARS")
    if stored_limit is not None and limit is not None and abs(stored_limit - limit) > ALIKE and not change:
        raise UsageError(
            f"the purse {name!r} has a limit of ${stored_limit:g}, not ${limit:g}; leave out --budget to keep it, "
            "or add --change-purse to change it for everyone who shares it"
        )


def open_purse(store: Store, name: str, limit: float | None, *, change: bool = False) -> str | None:
    """Create the purse or change its limit; return a message for the user.

    Raises:
        UsageError: See `check_purse`.
    """
    check_purse(store, name, limit, change=change)
    if limit is None:
        return None

    def operation(connection: sa.Connection) -> float | None:
        at = store.now()
        fresh = {"name": name, "budget": limit, "spent": 0.0, "reserved": 0.0, "created": at, "updated": at}
        if store.is_new(connection, purses, fresh):
            return None
        mine = purses.c.name == name
        stored_limit = float(connection.execute(sa.select(purses.c.budget).where(mine).with_for_update()).scalar_one())
        if change and abs(stored_limit - limit) > ALIKE:
            connection.execute(purses.update().where(mine).values(budget=limit, updated=at))
        return stored_limit

    stored_limit = store.write(operation)
    if stored_limit is None:
        return f"created purse {name!r}: ${limit:g} for all runs that name it"
    if abs(stored_limit - limit) <= ALIKE:
        return None
    if not change:  # Made by another process a moment ago.
        check_purse(store, name, limit)
    verb = "raised" if limit > stored_limit else "lowered"
    return f"purse {name!r}: limit {verb} from ${stored_limit:g} to ${limit:g}"


@dataclass(frozen=True)
class Holder:
    """A process that spent money from a purse.

    Attributes:
        running: Whether it still runs; None for a process on another host that does not renew its claims.
        at_bound: The part of `spent` that counts at the bound because the cost is unknown.
        reserved: Reserved for attempts in flight, or left behind by them.
    """

    host: str
    pid: int
    running: bool | None
    attempts: int
    spent: float
    at_bound: float
    reserved: float


@dataclass(frozen=True)
class PurseState:
    """The state of a purse, and the processes that spent from it.

    Attributes:
        lost: The part of `reserved` whose processes are dead. It stays reserved until the call is made again, and
            counts as spent, at its bound, from then on.
        beyond: The part of `spent` that services reported beyond what was reserved for their calls.
    """

    purse: str
    limit: float
    spent: float
    reserved: float
    lost: float
    left: float
    beyond: float
    by: Sequence[Holder]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def read_purses(store: Store, name: str | None = None) -> list[PurseState]:
    """Return all purses of a store by name, or the named one.

    Raises:
        UsageError: No purse has this name.
    """
    at = store.now()
    with store.reading() as connection:
        query = sa.select(purses).order_by(purses.c.name)
        rows = connection.execute(query if name is None else query.where(purses.c.name == name)).all()
        if name is not None and not rows:
            names = connection.scalars(sa.select(purses.c.name).order_by(purses.c.name)).all()
            hint = f"it has: {', '.join(names)}" if names else "add `--budget 5 --purse NAME` to a run to create one"
            raise UsageError(f"{store.url} has no purse {name!r}; {hint}")
        return [_state(connection, row, at) for row in rows]


def wait_or_stop(store: Store, reservation: Reservation, target: str) -> None:
    """Return if a call in flight may still free enough for the reservation.

    Raises:
        BudgetReached: No call in flight can free enough.
    """
    mine, at = purses.c.name == reservation.purse, store.now()
    with store.reading() as connection:
        row = connection.execute(sa.select(purses).where(mine)).one()
        held = {"processes that ended in flight": 0.0, "calls in batches": 0.0}
        for _, bound, alive, batched in _flying(connection, row.name, at):
            held["calls in batches"] += bound if batched else 0.0
            held["processes that ended in flight"] += 0.0 if alive else bound
    lost = sum(held.values())
    if row.spent + lost + reservation.bound <= row.budget + EXACT:
        return
    left = max(0.0, row.budget - row.spent - lost)
    gone = "".join(f" and ${amount:.4f} held for {whom}" for whom, amount in held.items() if amount)
    raise BudgetReached(
        f"purse {row.name!r} reached: ${row.spent:.4f} of ${row.budget:g} spent{gone}, and a call to {target} may cost "
        f"${reservation.bound:.4f} where ${left:.4f} is left; raise it with --budget DOLLARS --change-purse to go on"
    )


def _flying(connection: sa.Connection, purse: str, at: float) -> Iterable[tuple[Owner, float, bool, bool]]:
    """Yield each reservation: owner, amount, whether it can still be settled, and whether it is in a batch."""
    whose = (calls.c.key == reservations.c.call) & (calls.c.token == reservations.c.token)
    joined = reservations.join(calls, whose, isouter=True)
    query = sa.select(reservations, calls.c.lease_until, calls.c.status).select_from(joined)
    dead = dict[Owner, bool]()
    for row in connection.execute(query.where(reservations.c.purse == purse, reservations.c.counted.is_(None))):
        owner = Owner.of(row)
        if owner not in dead:
            dead[owner] = owner.is_dead_here()
        # A call in a batch is settled by the process that fetches its result, even if this one is dead.
        batched = row.status == "submitted"
        yield owner, row.bound, batched or (not dead[owner] and (row.lease_until or 0.0) > at), batched


def _state(connection: sa.Connection, row: Any, at: float) -> PurseState:
    process = (reservations.c.host, reservations.c.pid, reservations.c.process_start)
    tried = (attempts.c.call == reservations.c.call) & (attempts.c.n == reservations.c.n)
    unknown = sa.case((attempts.c.cost.is_(None), reservations.c.counted), else_=0.0)
    query = (
        sa.select(*process, sa.func.count(), sa.func.sum(reservations.c.counted), sa.func.sum(unknown))
        .select_from(reservations.join(attempts, tried, isouter=True))
        .where(reservations.c.purse == row.name)
        .group_by(*process)
    )
    sums = {Owner(*sums_row[:3]): sums_row[3:] for sums_row in connection.execute(query)}
    held, lost, alive = dict[Owner, float](), 0.0, set[Owner]()
    for owner, bound, living, batched in _flying(connection, row.name, at):
        held[owner] = held.get(owner, 0.0) + bound
        alive |= {owner} if living and not batched else set()
        lost += 0.0 if living else bound
    by = [
        Holder(
            owner.host.partition("|")[0], owner.pid, _runs(owner, owner in alive),
            count, spent or 0.0, at_bound or 0.0, held.get(owner, 0.0),
        )
        for owner, (count, spent, at_bound) in sums.items()
    ]  # fmt: skip
    # Not the row's own sum of reservations, which has rounding errors.
    reserved = sum(held.values())
    left = max(0.0, row.budget - row.spent - reserved)
    by.sort(key=lambda holder: (-holder.spent - holder.reserved, holder.host, holder.pid))
    over = reservations.c.counted - reservations.c.bound
    mine = reservations.c.purse == row.name, over > EXACT
    beyond = float(connection.scalar(sa.select(sa.func.sum(over)).where(*mine)) or 0.0)
    return PurseState(row.name, row.budget, row.spent, reserved, lost, left, beyond, by)


def _runs(owner: Owner, sign: bool) -> bool | None:
    if owner.host == this_host():
        return not owner.is_dead_here()
    return True if sign else None
