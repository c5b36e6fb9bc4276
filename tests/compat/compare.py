"""Finds every difference between two JSON documents, records matched by what they are about, not where they stand."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

IDENTITY: tuple[tuple[str, ...], ...] = (
    # rows of scores, in JSON and CSV; a judge that stands there in several ways is told apart by its setup
    ("painter", "strategy", "judge"),
    ("painter", "strategy", "judge", "setup"),
    ("painter", "strategy", "judge", "by", "category", "score"),
    # rows of exports; drawings and their marks
    ("id", "painter", "strategy", "judge", "variant", "seed", "repeat"),
    ("painter", "strategy", "judge", "setup", "seed", "repeat"),
    ("painter", "strategy", "seed"),
    # comparisons, places and pairs, in JSON and CSV
    ("judge", "score", "by", "category", "row", "painter", "other"),
    ("exam", "judge"),
    ("judge", "category"),
    ("judge", "setup", "category"),
    ("painter", "strategy"),
    ("first", "second"),
    ("better", "worse"),
    # how judges agree, in CSV
    ("first", "second", "sort", "measure"),
    # rows of papers' tables
    ("group", "row", "source", "painter", "strategy", "judge"),
    ("group", "row", "source", "painter", "strategy", "judge", "Ground truth"),
    # rows of spending
    ("group",),
    # everything else that has a name
    ("judge",),
    ("painter",),
    ("id",),
    ("key",),
    ("name",),
    ("criterion",),
    ("atoms",),
    # rows of the site's tables: a painter by its number
    ("p",),
)
"""What tells records of one list apart: the first of these that every record has and that no two share.

Where some apply but none is unique, the longest is taken and records alike are numbered. A list of anything else, or
of records to which none applies, is compared place by place.
"""
TOLERANCE = 1e-9
Change = Literal["added", "changed", "removed"]


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        path: Keys as they are; list items as ``[3]`` or ``[painter=x,judge=y]``.
    """

    path: tuple[str, ...]
    change: Change
    old: Any = None
    new: Any = None

    @property
    def place(self) -> str:
        """The path as it is written in ``intended.toml``."""
        return written(self.path)


def written(path: Sequence[str]) -> str:
    """A path as text.

    >>> written(("[judge=ocr]", "scores", "a.b"))
    '[judge=ocr].scores."a.b"'
    """
    parts = [part if part.startswith("[") else json.dumps(part) if set(part) & set('."') else part for part in path]
    return ".".join(parts).replace(".[", "[")


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every difference from `old` to `new`, outermost where a whole part is added or removed."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _fields(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        before, after = _items(old, new)
        yield from _fields(before, after, path)
    elif not same(old, new):
        yield Difference(path, "changed", old, new)


def same(old: Any, new: Any) -> bool:
    """Whether two plain values are alike; numbers within a tolerance, in text too where both are numbers."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(old - new) <= TOLERANCE * max(1.0, abs(old), abs(new))
    if isinstance(old, str) and isinstance(new, str) and old != new:
        try:
            return same(float(old), float(new))
        except ValueError:
            return False
    return bool(old == new and type(old) is type(new))


def _fields(old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...]) -> Iterator[Difference]:
    for key, value in old.items():
        if key in new:
            yield from differences(value, new[key], (*path, key))
        else:
            yield Difference((*path, key), "removed", old=value)
    for key, value in new.items():
        if key not in old:
            yield Difference((*path, key), "added", new=value)


def _items(old: list[Any], new: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both lists by the names of their items."""
    names = _identity(old, new)
    return (_by(old, names), _by(new, names)) if names else (_numbered(old), _numbered(new))


def _numbered(items: list[Any]) -> dict[str, Any]:
    return {f"[{n}]": item for n, item in enumerate(items)}


def _identity(old: list[Any], new: list[Any]) -> tuple[str, ...] | None:
    records = [*old, *new]
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    fitting = [names for names in IDENTITY if all(name in record for record in records for name in names)]
    for names in fitting:
        if all(len({_label(record, names) for record in items}) == len(items) for items in (old, new)):
            return names
    return max(fitting, key=len, default=None)


def _by(items: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    found, seen = {}, Counter[str]()
    for item in items:
        label = _label(item, names)
        seen[label] += 1
        found[f"[{label}]" if seen[label] == 1 else f"[{label},#{seen[label]}]"] = item
    return found


def _label(record: dict[str, Any], names: tuple[str, ...]) -> str:
    return ",".join(f"{name}={_short(record[name])}" for name in names)


def _short(value: Any) -> str:
    """A value as it stands in a path; what is long or has parts, such as a setup, by its hash."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if isinstance(value, dict | list) or len(text) > 60:
        return hashlib.sha256(text.encode()).hexdigest()[:8]
    return text
