"""The interface of chat models, the loop that asks until a reply is readable, and stored replies as a model."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.asks import Contract, Part, Reply, Unreadable
from ..core.errors import DataError, UsageError
from ..core.json_text import parse_json

BYTES_PER_TOKEN, PICTURE_TOKENS = 4, 800
"""Rules of thumb, for estimates."""
USUAL_REPLY = 2500
"""The usual number of tokens of a reply if nothing better is known."""
REPLY_SHOWN = 200
"""Characters of an unreadable reply that a message shows."""
RESENT = 50_000
"""Characters of an unreadable reply that are sent back with the objection."""


@dataclass(frozen=True)
class Context:
    """The subject of a request.

    Attributes:
        schema: The shape of the reply, for services that take a description of it.
        system: The system message.
        usual: The usual number of tokens of a reply, thinking included; a limit on replies is derived from it.
    """

    exam: str
    question: str
    painter: str
    ask: str
    repeat: int = 0
    round: int = 0
    schema: Mapping[str, Any] | None = None
    system: str | None = None
    usual: int = USUAL_REPLY


class Model(Protocol):
    """A chat model: text and pictures in, text out."""

    name: str
    settings: dict[str, Any]

    async def turn(
        self, shown: tuple[Part, ...], earlier: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        """Make one call with the `earlier` pairs of reply and objection; return text, call key and cost."""
        ...


@dataclass(frozen=True)
class Answer:
    """A reply and the cost of all its turns.

    Attributes:
        fault: How a reply that is not required breaks its contract.
        value: The reply as parsed by the contract.
    """

    reply: Reply
    turns: int
    cost: float | None
    fault: str | None = None
    value: Any = None


async def complete(
    model: Model, shown: tuple[Part, ...], contract: Contract[Any], context: Context, calls: Calls
) -> Answer:
    """Ask until the reply keeps the contract, naming the fault each time.

    Raises:
        Fault: A call failed, or a required reply broke the contract in every turn (``unreadable``).
    """
    context = replace(context, schema=contract.schema)
    earlier: list[tuple[str, str]] = []
    reasons: list[str] = []
    keys: list[str] = []
    cost: float | None = 0.0
    for turn in range(1, contract.tries + 1):
        try:
            text, key, price = await model.turn(shown, tuple(earlier), context, calls)
        except Fault as fault:
            if earlier and not contract.required and fault.kind == "missing":
                break  # There are no further stored replies: keep the last one.
            # The turns before it were made and paid for too.
            paid = None if cost is None or fault.cost is None else cost + fault.cost
            raise Fault(fault.kind, fault.detail, calls=(*keys, *fault.calls), cost=paid) from fault
        keys.append(key)
        cost = None if cost is None or price is None else cost + price
        try:
            value = await asyncio.to_thread(contract.parse, text) if contract.heavy else contract.parse(text)
        except (Unreadable, RecursionError) as error:
            wrong = str(error) if isinstance(error, Unreadable) else "it is nested too deep"
            reasons.append(wrong)
            earlier.append((shortened(text), objection(wrong)))
            continue
        return Answer(Reply(context.ask, text, key), turn, cost, value=value)
    faults = "; ".join(f"try {n}: {wrong}" for n, wrong in enumerate(reasons, 1)).replace("\n", " ")
    if not contract.required:
        return Answer(Reply(context.ask, text, keys[-1]), len(earlier), cost, faults)
    raise Fault("unreadable", f"{faults}; the last reply begins: {beginning(text)}", calls=tuple(keys), cost=cost)


def beginning(text: str) -> str:
    """Return the first characters of a reply in one line, for messages.

    >>> beginning(" I see\na cell. "), beginning("x" * 300) == '"' + "x" * 200 + '…"', beginning("")
    ('"I see a cell."', True, 'nothing: the reply is empty')
    """
    words = " ".join(text.split())
    if not words:
        return "nothing: the reply is empty"
    return f'"{words}"' if len(words) <= REPLY_SHOWN else f'"{words[:REPLY_SHOWN]}…"'


def shortened(text: str) -> str:
    """Return a reply as it is sent back with the objection, cut to `RESENT` characters.

    >>> shortened("fine"), shortened("x" * 60_000)[49_998:]
    ('fine', 'xx … (10000 characters more)')
    """
    over = len(text) - RESENT
    return text if over <= 0 else f"{text[:RESENT]} … ({over} characters more)"


def objection(reason: str) -> str:
    """Return the message to a model about a reply that breaks the contract."""
    return f"That reply cannot be used: {reason}. Send the whole reply again, in the format asked for and complete."


ROUNDS = 10
"""Most rounds, over all runs, in which a model is asked again for a readable reply."""


async def complete_afresh(
    model: Model, shown: tuple[Part, ...], contract: Contract[Any], about: Context, calls: Calls
) -> Answer:
    """Like `complete`, but with `retry_failed` ask again for unreadable replies of earlier runs.

    Raises:
        Fault: A call failed, or the reply could not be read, in this run or (unless it is to be retried) earlier.
    """
    for round in range(ROUNDS):
        try:
            return await complete(model, shown, contract, replace(about, round=round), calls)
        except Fault as fault:
            # A new request needs a new key.
            again = fault.kind == "unreadable" and calls.retry_failed and await _is_old(fault, calls)
            if not again or round == ROUNDS - 1:
                raise
    raise AssertionError("the last round either returns or raises")


async def _is_old(fault: Fault, calls: Calls) -> bool:
    """Return whether the unreadable replies are from an earlier run."""
    import sqlalchemy as sa

    from ..store.schema import calls as table

    def look() -> bool:
        with calls.store.reading() as connection:
            query = sa.select(sa.func.max(table.c.updated)).where(table.c.key.in_(fault.calls))
            return bool((connection.scalar(query) or 0.0) < calls.since)

    return await asyncio.to_thread(look)


class ReplayModel:
    """Stored replies instead of a model: ``replay/FILE``, by question id.

    The file holds JSON lines ``{"id": …, "reply": …}``; ``reply`` is text or the reply's JSON object, ``replies`` a
    list of them for one turn after another. ``painter``, ``ask`` and ``repeat`` may narrow a line down.
    """

    def __init__(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"replay/{path}: cannot be read: {error}") from error
        self.name = f"replay/{path}"
        self.settings: dict[str, Any] = {"file": hashlib.sha256(data).hexdigest()}
        self._lines: dict[str, list[dict[str, Any]]] = {}
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                entry = _entry(path, number, line)
                self._lines.setdefault(entry["id"], []).append(entry)

    def check(self) -> None:
        """Do nothing: the file was read when the model was opened."""

    def unpriced(self) -> str | None:
        """Return None: stored replies cost nothing."""
        return None

    async def turn(
        self, shown: tuple[Part, ...], earlier: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        """Return the stored reply for this turn; see `limner.models.base.Model`."""
        replies = self._find(context)
        if len(earlier) >= len(replies):
            tried = f" after {len(earlier)} unreadable" if earlier else ""
            raise Fault("missing", f"{self.name} has no reply for {context.question}{tried}")
        text = replies[len(earlier)]
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        body: dict[str, Any] = {"exam": context.exam, "question": context.question, "painter": context.painter}
        body |= {"ask": context.ask, "turn": len(earlier), "sha256": sha256}

        async def perform(_attempt: Attempt) -> Result:
            return Result({"text": text})

        outcome = await calls.do(Request("replay", self.name, body, context.repeat, context.round), perform)
        return outcome.payload["text"], outcome.key, outcome.cost

    def _find(self, context: Context) -> list[str]:
        wanted = {"painter": context.painter, "ask": context.ask, "repeat": context.repeat}
        fitting = [
            entry
            for entry in self._lines.get(context.question, [])
            if all(entry.get(name, value) == value for name, value in wanted.items())
        ]
        return fitting[-1]["replies"] if fitting else []


def _entry(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = parse_json(line)
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=path, line=number) from error
    if not (isinstance(entry, dict) and isinstance(entry.get("id"), str)):
        raise DataError('a line must be an object with a text "id"', file=path, line=number)
    replies = entry.get("replies", [entry["reply"]] if "reply" in entry else None)
    if not isinstance(replies, list) or not replies:
        raise DataError('"reply" or a list "replies" is missing', file=path, line=number, id=entry["id"])
    entry["replies"] = [r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in replies]
    return entry
