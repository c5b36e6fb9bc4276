"""Tells whether two recordings of an output have the same numbers, whatever their fields are called."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tools.recordings.normal import NUMBER, rounded
from tools.recordings.store import NAMES

Verdict = Literal["same", "fields", "names", "numbers"]
Number = tuple[tuple[str, ...], float]
"""A number with the painters, judges and people that it is about."""
SHOWN = 8
WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(re.escape(name) for name in NAMES)})(?![\w-])")


@dataclass(frozen=True)
class Difference:
    """What differs in one output.

    Attributes:
        verdict: same; fields (numbers are the same); names (numbers are the same, but of other painters or judges);
            numbers.
        lines: What differs, in words; the first few.
    """

    output: str
    verdict: Verdict
    lines: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict in ("same", "fields")


def compare(output: str, old: Any, new: Any) -> Difference:
    """Compare two contents that are normalised: exactly first, then by their numbers."""
    if old == new:
        return Difference(output, "same")
    before, after = Counter(numbers(old)), Counter(numbers(new))
    if before == after:
        return Difference(output, "fields", _first(_changed_paths(old, new)))
    bare_before, bare_after = (Counter(number for _, number in found.elements()) for found in (before, after))
    verdict: Verdict = "names" if bare_before == bare_after else "numbers"
    gone, came = before - after, after - before
    head = f"{gone.total()} of {before.total()} numbers are gone, {came.total()} are new"
    changed = [f"{path}: {one} -> {other}" for path, one, other in _changes(old, new) if _numeric(one, other)]
    listed = [f"gone: {_say(one)}" for one in sorted(gone)] + [f"new: {_say(one)}" for one in sorted(came)]
    return Difference(output, verdict, (head, *_first(changed or listed)))


def numbers(content: Any, names: frozenset[str] = frozenset()) -> Iterator[Number]:
    """Every number in the content, with the names that stand beside it or above it."""
    if isinstance(content, bool) or content is None:
        return
    if isinstance(content, int | float):
        yield tuple(sorted(names)), rounded(content)
    elif isinstance(content, str):
        # Words are no numbers; an interval such as [0.1, 0.4] in a cell is.
        if not re.search(r"[A-Za-z]", content):
            yield from ((tuple(sorted(names)), rounded(float(one))) for one in NUMBER.findall(content))
    elif isinstance(content, dict):
        here = names | _named(value for value in content.values() if isinstance(value, str))
        for name, value in content.items():
            yield from numbers(value, here | _named([name]))
    else:
        flat = all(not isinstance(each, list | dict) for each in content)
        here = names | _named(each for each in content if isinstance(each, str)) if flat else names
        for each in content:
            yield from numbers(each, here)


def _named(texts: Any) -> frozenset[str]:
    return frozenset(name for text in texts for name in WORD.findall(text))


def _leaves(content: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _leaves(value, f"{path}/{name}")
    elif isinstance(content, list):
        for n, value in enumerate(content):
            yield from _leaves(value, f"{path}/{n}")
    else:
        yield path, content


def _changes(old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Path, old and new value of what stands in both and differs."""
    after = dict(_leaves(new))
    return ((path, value, after[path]) for path, value in _leaves(old) if path in after and after[path] != value)


def _changed_paths(old: Any, new: Any) -> list[str]:
    before, after = dict(_leaves(old)), dict(_leaves(new))
    said = [f"{path}: {json.dumps(one)} -> {json.dumps(other)}" for path, one, other in _changes(old, new)]
    return [*said, *(f"gone: {p}" for p in before if p not in after), *(f"new: {p}" for p in after if p not in before)]


def _numeric(*values: Any) -> bool:
    return any(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


def _say(one: Number) -> str:
    return f"{one[1]:.9g}" + (f" of {', '.join(one[0])}" if one[0] else "")


def _first(lines: Sequence[str]) -> tuple[str, ...]:
    more = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return (*lines[:SHOWN], *more)
