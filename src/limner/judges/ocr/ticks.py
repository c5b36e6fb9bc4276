"""Criteria about the numbers along an axis: read from the words, and decided by numbers in a row or in a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.evidence import TextLine
from .axes import AXES, axis_label
from .labels import Label
from .patterns import LABELED, any_of
from .spelling import EXACT_LENGTH, tokens

LEAST = 3
"""As many numbers make a scale."""

_NUMBER = r"[-+−–]?\d+(?:[.,]\d+)*"
_AXIS = rf"(?P<axis>{any_of(AXES)})[- ]axis"
_SPAN = r"(?:cover|span|range|run|extend|go|scale|mark|number|graduate)(?:s|d|ed|ing|ning)?"
_SIGN = r"(?: ?(?:%|°[CFK]?))?"
_UNIT = r"(?: ?(?:%|°[CFK]?|(?P<unit>(?!range)[a-z]{1,15})))?"
_RANGE = rf"(?:from )?(?P<low>{_NUMBER}){_SIGN} ?(?:to|through|-|–|—) ?(?P<high>{_NUMBER}){_UNIT}"
_LISTED = rf"(?P<list>{_NUMBER}(?:(?:,? and |, ?){_NUMBER})+)"
_TAIL = r"(?: range)?(?: in (?:increasing|ascending|chronological|numerical) order)?"
_NAME = r"(?P<name>[^,?]+?)"
_WHAT = r"(?:the |full |range |years |values |ticks |of |(?P<yearly>yearly |annual ))*"
_ASKED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:does|is) the {_AXIS} (?:clearly |{LABELED} )*{_SPAN} {_WHAT}{_RANGE}{_TAIL}",
        rf"is the {_AXIS} (?:clearly )?(?:{LABELED}|numbered|scaled|marked) (?:with )?{_WHAT}{_RANGE}{_TAIL}",
        rf"(?:does|is) the {_AXIS} (?:include|have|show|display)(?:s|ing)? "
        rf"(?:tick ?marks|tick labels|ticks?|labels|values|numbers) (?:for |at |of |labeled |the |years |values )*"
        rf"{_LISTED}{_TAIL}",
        rf"is the {_AXIS} (?:{LABELED}|marked|numbered) (?:with |at |the )*(?:years |values |ticks )?{_LISTED}{_TAIL}",
        rf"is the {_AXIS} an? {_NAME} axis,? (?:and |that )?{_SPAN} {_WHAT}{_RANGE}{_TAIL}",
        rf"(?:does|is) the {_AXIS} (?:represent|show|{LABELED} as|{LABELED} with|{LABELED}|titled) (?:the )?{_NAME},? "
        rf"(?:and |with |that )?{_SPAN} {_WHAT}{_RANGE}{_TAIL}",
    )
)


@dataclass(frozen=True, slots=True)
class TickClaim:
    """Numbers that must stand along an axis.

    Attributes:
        axis: ``x`` or ``y``.
        numbers: All that are listed, or the two ends of a range.
        name: The name of the axis, where one is asked for.
        unit: What is counted, where it is told: a word that must stand somewhere in the drawing.
    """

    axis: str
    numbers: tuple[float, ...]
    name: Label | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number and where its middle stands."""

    value: float
    x: float
    y: float
    height: float


def tick_claim(text: str) -> TickClaim | None:
    """The numbers an axis must have, where a criterion asks for them and for nothing else.

    >>> tick_claim("Does the x-axis cover the range from 0 to 8 workers")
    TickClaim(axis='x', numbers=(0.0, 8.0), name=None, unit='workers')
    >>> tick_claim("Does the x-axis include ticks for the years 1875, 1885, and 1895 in chronological order")
    TickClaim(axis='x', numbers=(1875.0, 1885.0, 1895.0), name=None, unit='')
    """
    for pattern in _ASKED:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            texts = re.findall(_NUMBER, parts["list"]) if "list" in parts else [parts["low"], parts["high"]]
            numbers = tuple(map(_value, texts))
            if parts.get("yearly"):
                numbers = tuple(map(float, range(int(numbers[0]), int(numbers[-1]) + 1)))
            name = axis_label(parts["name"]) if parts.get("name") else None
            if list(numbers) == sorted(set(numbers)) and (name or not parts.get("name")):
                return TickClaim(AXES[match["axis"].lower()], numbers, name, _unit(parts.get("unit")))
    return None


def _unit(word: str | None) -> str:
    """What is counted, in plain form; short units may be left out at the numbers."""
    plain = "".join(tokens(word or ""))
    return plain if len(plain) > EXACT_LENGTH else ""


def scale(claim: TickClaim, lines: Sequence[TextLine]) -> tuple[float, ...] | None:
    """The numbers of a row (x, growing to the right) or column (y, growing upwards) that has all that are asked for."""
    ticks = list(_ticks(lines))
    for start in ticks:
        level = [tick for tick in ticks if _in_line(claim.axis, start, tick)]
        level.sort(key=lambda tick: tick.x if claim.axis == "x" else -tick.y)
        for run in _rising([tick.value for tick in level]):
            if len(run) >= LEAST and set(claim.numbers) <= set(run):
                return tuple(run)
    return None


def _rising(values: Sequence[float]) -> list[list[float]]:
    """The values cut where they stop growing: the first number of x may stand in the column of y."""
    runs: list[list[float]] = [[]]
    for value in values:
        if runs[-1] and value <= runs[-1][-1]:
            runs.append([])
        runs[-1].append(value)
    return runs


def _in_line(axis: str, one: Tick, other: Tick) -> bool:
    reach = 0.6 * min(one.height, other.height)
    # Numbers beside an axis are flush right or centred, so that a column is wider than a row is high.
    return abs(one.y - other.y) <= reach if axis == "x" else abs(one.x - other.x) <= 2.5 * reach


def _ticks(lines: Sequence[TextLine]) -> Iterator[Tick]:
    """The numbers that stand alone, or side by side in one line."""
    for line in lines:
        words = [word for word in tokens(line.text) if word not in {"%", "°", "$"}]
        if not words or not all(re.fullmatch(_NUMBER, word) for word in words):
            continue
        left, top, right, bottom = line.bounds
        width = (right - left) / len(words)
        for place, word in enumerate(words):
            yield Tick(_value(word), left + (place + 0.5) * width, (top + bottom) / 2, bottom - top)


def _value(text: str) -> float:
    """A number; a comma before three figures parts thousands."""
    plain = re.sub(r"[−–]", "-", text)
    plain = re.sub(r",(?=\d{3}\b)", "", plain).replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return float("nan")
