"""Reads the one JSON object a chat model was asked for: tolerant of its form, never of its content.

Fences, prose, thinking, comments, trailing commas, Python literals and typographic quotes are form.
Nothing is closed, guessed or dropped: a reply that ends inside its object, or whose last attempt at one is
broken, is `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .asks import Unreadable
from .json_literals import Ended, Reader, is_gap

__all__ = ["MAX_CHARS", "Unreadable", "check_length", "loads"]

MAX_CHARS = 400_000

_MARK = re.compile(r"(?P<think><think(?:ing)?>)|(?P<fence>(?:`{3,}+|~{3,}+)[^\S\n]*+[\w+.-]*+)|\{|\[[\s\[]*+", re.I)
_FENCE_END = re.compile(r"\s*+(?:```|~~~|\Z)")
_FENCE_LINE = re.compile(r"\n[ \t]*+(?=```|~~~)")
_THINK = re.compile(r"<think(?:ing)?>", re.I)
_THOUGHT = re.compile(r"</think(?:ing)?>", re.I)
_LONE_THOUGHT = re.compile(r"</think(?:ing)?>(?=\s*+\Z|[^\S\n]*+[\n{`])", re.I)
_BRACES = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)


def loads(text: str) -> dict[str, object]:
    """The object in a model's reply: the last fenced one, or without fences the last one in the text.

    Args:
        text: The reply, with whatever surrounds the object.

    Returns:
        The object, equal to what `json.loads` gives for the same object written strictly. Tuples are lists.

    Raises:
        Unreadable: There is no object, it is cut off, or the last attempt at one is broken, repeats a key,
            holds NaN or Infinity, or is too deep or too long.
    """
    check_length(text)
    fenced: dict[str, object] | None = None
    loose: dict[str, object] | None = None
    fault: Unreadable | None = None
    fault_at = 0
    for attempt, at, in_fence in _attempts(text):
        if isinstance(attempt, Unreadable):
            if in_fence or fenced is None:
                fault, fault_at = attempt, at
        elif in_fence:
            fenced, fault = attempt, None
        elif fenced is None and (attempt or loose is None):  # a {} in prose after the answer is no newer answer
            loose, fault = attempt, None
    if fault:
        column = fault_at - text.rfind("\n", 0, fault_at)
        raise Unreadable(f"{fault.args[0]} (line {text.count(chr(10), 0, fault_at) + 1}, column {column})")
    found = loose if fenced is None else fenced
    if found is None:
        raise Unreadable("no JSON object found")
    return found


def check_length(text: str) -> None:
    """Refuse a reply beyond all length, before anything looks into it.

    Raises:
        Unreadable: It is longer than `MAX_CHARS`.
    """
    if len(text) > MAX_CHARS:
        raise Unreadable(f"the reply is longer than {MAX_CHARS} characters")


def _attempts(text: str) -> Iterator[tuple[dict[str, object] | Unreadable, int, bool]]:
    """Every object written or begun: its value or fault, where that ends, whether a fenced block holds it."""
    reader = Reader(text)
    at = _after_lone_thought(text)
    opening: int | None = at
    fence, work = False, 0
    while mark := _MARK.search(text, at):
        at, start = mark.end(), mark.start()
        if mark["think"]:
            at = _after_thought(text, at)
        if mark["think"] or mark["fence"]:
            opening, fence = at, bool(mark["fence"])
            continue
        opens = opening is not None and is_gap(text, opening, start)
        opening = None
        try:
            value = reader.read(start)
        except Unreadable as error:
            work += reader.at - start
            if work > 2 * len(text) + 10_000:  # failed readings can overlap, and add up to quadratic work
                raise Unreadable("too many brackets that hold no JSON") from None
            if not reader.keyed and not (opens and mark[0] == "{"):
                at = _after_braces(text, start) if mark[0] == "{" else at
                continue
            if isinstance(error, Ended):
                raise
            yield error, reader.at, opens and fence
            # A whole object inside a broken one looks like an answer, so only a new fence starts afresh.
            line = _FENCE_LINE.search(text, at)
            at = line.end() if line else len(text)
        else:
            at = reader.at
            if isinstance(value, dict):
                yield value, at, bool(opens and fence and _FENCE_END.match(text, at))


def _after_thought(text: str, at: int) -> int:
    if thought := _THOUGHT.search(text, at):
        return thought.end()
    raise Unreadable("the reply ends inside its thinking")


def _after_lone_thought(text: str) -> int:
    """Where the answer starts when the chat template has kept the opening tag of the thinking to itself."""
    if _THINK.search(text):
        return 0
    return max((m.end() for m in _LONE_THOUGHT.finditer(text)), default=0)


def _after_braces(text: str, start: int) -> int:
    """Past the brace that closes the one at `start`, so that nothing inside it is taken for the answer."""
    depth = 0
    for mark in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if not depth:
            return mark.end()
    raise Ended
