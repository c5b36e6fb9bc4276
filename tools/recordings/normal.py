"""Drops what may change from an output: hashes, times, paths, versions. Numbers and names stay."""

from __future__ import annotations

import re
from typing import Any

DROPPED = frozenset(
    {"image", "reference", "templates", "template", "store", "seconds", "seconds_per_image", "created", "detail"}
)
"""Fields of JSON, columns of CSV, and measures that rows of CSV are about."""
CHANGING = re.compile(r"\b(?=[a-z]*\d)[0-9a-f]{8,}\b|\b\d+\.\d+\.\d+\b|\b127\.0\.0\.1:\d+\b|/tmp/\S+")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
DIGITS = 9
"""Significant digits that are kept."""
NOTHING = 1e-12
"""Numbers nearer to 0 than this are what rounding leaves of 0."""


def normalise(content: Any) -> Any:
    """Return the content without what may change, numbers rounded and fields in the order of their names."""
    if isinstance(content, dict):
        kept = {name: value for name, value in content.items() if name not in DROPPED}
        return {name: normalise(kept[name]) for name in sorted(kept)}
    if isinstance(content, list):
        if content and all(isinstance(row, list) for row in content):
            return _table(content)
        return [normalise(each) for each in content]
    if isinstance(content, str):
        return _text(content)
    return rounded(content) if isinstance(content, float) else content


def rounded(number: float) -> float:
    """Round to the digits that are kept; a whole number becomes the same as an int."""
    return 0.0 if abs(number) < NOTHING else float(f"{number:.{DIGITS}g}")


def _table(rows: list[list[str]]) -> list[list[Any]]:
    dropped = {n for n, name in enumerate(rows[0]) if name in DROPPED}
    kept = [row for n, row in enumerate(rows) if n == 0 or not DROPPED.intersection(row)]
    return [[_cell(cell) for n, cell in enumerate(row) if n not in dropped] for row in kept]


def _cell(cell: str) -> Any:
    return rounded(float(cell)) if NUMBER.fullmatch(cell) else _text(cell)


def _text(text: str) -> str:
    return CHANGING.sub("#", text)
