"""Reads strict JSON that a service, a model or a file of replies wrote: bounded in depth and in parts."""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_DEPTH = 50
"""Levels of lists and objects within each other; what goes deeper is no reply."""
MAX_PARTS = 1_000_000
"""Lists, objects and their items in one text: each takes many times its bytes of memory."""

_NESTS = (dict, list, tuple)
_DEEP = f"nested more than {MAX_DEPTH} deep"
_TEXT = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class TooComplex(ValueError):
    """JSON beyond the bounds."""


def parse_json(data: bytes | str) -> Any:
    """The value; numbers that are none, such as NaN, and those beyond a float stay the words they were written with.

    Raises:
        ValueError: It is no JSON; `TooComplex` where it is nested too deep or has too many parts.
    """
    if isinstance(data, bytes):
        data = data.decode(json.detect_encoding(data), "surrogatepass")
    if sum(map(data.count, ",[{")) > MAX_PARTS and _parts(data) > MAX_PARTS:
        raise TooComplex(f"more than {MAX_PARTS:,} parts")
    try:
        found = json.loads(data, parse_constant=str, parse_float=_number)
    except RecursionError:
        raise TooComplex(_DEEP) from None
    check_depth(found)
    return found


def check_depth(value: Any) -> None:
    """Refuse what functions that call themselves could not walk through.

    Raises:
        TooComplex: It is nested more than `MAX_DEPTH` deep.
    """
    level = [value] if isinstance(value, _NESTS) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [item for items in inside for item in items if isinstance(item, _NESTS)]
    if level:
        raise TooComplex(_DEEP)


def _parts(data: str) -> int:
    """How many there are at most; signs inside texts count for nothing."""
    bare = _TEXT.sub("", data)
    return sum(map(bare.count, ",[{"))


def _number(word: str) -> float | str:
    number = float(word)
    return number if math.isfinite(number) else word
