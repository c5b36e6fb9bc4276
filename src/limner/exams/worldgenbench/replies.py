"""Reads a judge's reply: exactly so many zeros and ones, whatever stands around the list, and nothing guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...core.asks import Unreadable, text_in
from ...core.json_text import Reader, check_length, loads

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_LONE_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(```|~~~)(.*?)\1", re.DOTALL)
_BARE = re.compile(r"[-+.\d]+(?:\s*,\s*[-+.\d]+)*")
_NUMBERS_BEGIN = re.compile(r"\[\s*[-+.]?\d")
_BRACKET = re.compile(r"[\[\]]")


def read_list(text: str, count: int) -> list[int]:
    """The one list of zeros and ones in a reply.

    Prose, fences, thinking or an object may stand around it. Lists in fences go before lists in prose. Several
    lists must agree, since nothing says which of them is meant.

    Raises:
        Unreadable: There is no list, there are different ones, one is broken, or it is not `count` zeros and ones.

    >>> read_list("Checked twice: [1, 0, 1].", 3)
    [1, 0, 1]
    """
    check_length(text)
    body = _THOUGHT.sub("\n", text)
    if _OPEN_THOUGHT.search(body):
        raise Unreadable("the reply ends inside its thinking")
    body = _LONE_THOUGHT.sub("", body).replace("\\[", "[").replace("\\]", "]")
    found = [numbers for fence in _FENCE.finditer(body) for numbers in _lists(fence[2])] or list(_lists(body))
    if not found and _BARE.fullmatch(body.strip()):
        found = list(_lists(f"[{body.strip()}]"))
    if not found:
        raise Unreadable(f"no list of {count} zeros and ones found")
    if any(other != found[0] for other in found):
        raise Unreadable("the reply holds different lists; one list alone is wanted")
    if len(found[0]) != count:
        raise Unreadable(f"the list has {len(found[0])} values; the checklist has {count} items")
    return [_mark(value, n) for n, value in enumerate(found[0], 1)]


def read_reasons(text: str, count: int) -> list[tuple[int, str]]:
    """Mark and reason of every item, from the object ``{"answers": [{"reason": …, "mark": …}]}``.

    Raises:
        Unreadable: The object is not there or not whole.
    """
    answers = loads(text).get("answers")
    if not isinstance(answers, list):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; the checklist has {count} items')
    found = []
    for n, answer in enumerate(answers, 1):
        if not isinstance(answer, Mapping) or "mark" not in answer:
            raise Unreadable(f'answer {n} must be an object with "mark"')
        found.append((_mark(answer["mark"], n), text_in(answer, "reason")))
    return found


def _mark(value: object, n: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value in (0, 1):
        return value
    raise Unreadable(f"value {n} must be 0 or 1, not {value!r}"[:200])


def _lists(text: str) -> Iterator[list[object]]:
    """Every list outside any other that holds a number; a list of numbers that breaks off or goes wrong is an error."""
    reader, at = Reader(text), 0
    while (at := text.find("[", at)) >= 0:
        try:
            value = reader.read(at)
        except Unreadable as error:
            if _NUMBERS_BEGIN.match(text, at):
                raise Unreadable(f"the list is broken: {error}") from error
            at = _after(text, at)
            continue
        at = reader.at
        if isinstance(value, list) and any(isinstance(one, int | float) for one in value):
            yield value


def _after(text: str, start: int) -> int:
    """Past the bracket that closes the one at `start`, so that nothing inside it is taken for the answer."""
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        depth += 1 if mark[0] == "[" else -1
        if not depth:
            return mark.end()
    raise Unreadable("a bracket is not closed")
