"""Which misnamed files are meant for which questions: only where there is one answer both ways. Pure."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable

ALIKE = 0.8
"""From this ratio on, letters count as misspelt rather than as other words."""
MOST = 200_000
"""So many pairs are compared letter by letter, not more."""


def near_names(ids: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The id that each of the names stands for, where exactly one does and no other name stands for it.

    First those that differ in capitals, signs, leading zeros or folders alone, then those that have the id within them,
    then misspelt ones. Numbers must always be the same: ``Biology_1`` is not near to ``Biology_11``.

    >>> near_names(["Biology_1", "Biology_11"], ["biology-01", "biolgy 11", "notes"])
    {'biology-01': 'Biology_1', 'biolgy 11': 'Biology_11'}
    """
    left, free = list(dict.fromkeys(ids)), list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for fits in (_same, _same_at_the_end, _within, _alike):
        found |= _pairs(left, free, fits)
        left = [id for id in left if id not in found.values()]
        free = [name for name in free if name not in found]
    return found


Fits = Callable[[tuple[str, ...], tuple[str, ...]], bool]


def _pairs(ids: list[str], names: list[str], fits: Fits) -> dict[str, str]:
    """Name and id of all that fit each other and nobody else."""
    by_numbers: dict[frozenset[str], list[str]] = defaultdict(list)
    for name in names:
        by_numbers[_numbers(name)].append(name)
    of_id: dict[str, list[str]] = defaultdict(list)
    of_name: dict[str, list[str]] = defaultdict(list)
    left = MOST
    for id in ids:
        own, pieces = _numbers(id), _pieces(id)
        for numbers, some in by_numbers.items():
            # What has further numbers may have the id within, but not the other way round.
            if not own <= numbers or (left := left - len(some)) < 0:
                continue
            for name in some:
                if fits(pieces, _pieces(name)):
                    of_id[id].append(name)
                    of_name[name].append(id)
    return {some[0]: id for id, some in of_id.items() if len(some) == 1 and len(of_name[some[0]]) == 1}


def _pieces(text: str) -> tuple[str, ...]:
    """Letters and numbers in turn, without signs, capitals and leading zeros."""
    found = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return tuple(piece.lstrip("0") or "0" if piece.isdecimal() else piece for piece in found)


def _numbers(text: str) -> frozenset[str]:
    return frozenset(piece for piece in _pieces(text) if piece.isdecimal())


def _same(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and "".join(id) == "".join(name)


def _same_at_the_end(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and (name[-len(id) :] == id or id[-len(name) :] == name != ())


def _within(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and any(name[n : n + len(id)] == id for n in range(len(name) - len(id) + 1))


def _alike(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    numbers = [[piece for piece in pieces if piece.isdecimal()] for pieces in (id, name)]
    one, other = ("".join(piece for piece in pieces if not piece.isdecimal()) for pieces in (id, name))
    if numbers[0] != numbers[1] or not (one and other):
        return False
    matcher = difflib.SequenceMatcher(None, one, other)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE
