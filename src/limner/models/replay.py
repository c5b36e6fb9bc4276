"""Stored replies instead of a model: ``replay/FILE``.

The file holds JSON lines ``{"id": …, "reply": …}``; ``reply`` is text or the reply's JSON object, ``replies`` a list
of them for one turn after another. ``painter``, ``ask`` and ``repeat`` may narrow a line down.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.asks import Part
from ..core.errors import DataError, UsageError
from ..core.json_text import parse_json
from .base import Context


class ReplayModel:
    """Replies from a file, by question id."""

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
