"""Criteria that name the axes of a graph: which words must stand at which axis."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .labels import Label, LabelClaim
from .patterns import DRAWING, LABELED, QUOTED, any_of
from .phrases import MAX_WORDS, names_something
from .spelling import SIGN_LENGTH, tokens

AXES = {"x": "x", "horizontal": "x", "bottom": "x", "y": "y", "vertical": "y", "left": "y"}
"""Words for an axis, and the axis."""

_AXIS = rf"(?:the )?{any_of(AXES)}(?:[- ]axis)"
_NAME = r"(?:'[^']+'|\"[^\"]+\"|(?:(?! and |'|\"|[,;:?]|\baxis\b).)+?)"
_AS = r"(?:as |with |by |to be )?(?:the )?"
_SAYS = (
    rf"(?:(?:is |are |clearly |correctly |properly |explicitly )*(?:{LABELED}|titled|representing|represents|showing)"
    rf" {_AS}|as |for |: ?|= ?)"
)
_PAIRS = (
    rf"(?P<name>{_NAME}) (?:is )?(?:on|along|at) (?P<axis>{_AXIS})",
    rf"(?P<axis>{_AXIS}) {_SAYS}(?P<name>{_NAME})",
    rf"(?P<name>{_NAME}) \((?:on )?(?P<axis>(?:the )?{any_of(AXES)}(?:[- ]axis)?)\)",
)
"""Ways to say which name an axis has."""

_OPENING = (
    rf"(?:(?:is|are|does|do) )?(?:there )?(?:(?:the|an?|both|its) )?"
    rf"(?:(?:\w+[- ])?{DRAWING} )?(?:(?:is|has|have|having|show|shows|include|includes|use|uses|display|displays|drawn|"
    rf"plotted|shown|set up) )*(?:(?:the|an?|both) )?(?:(?:\w+[- ])?{DRAWING} )?(?:with )?(?:(?:the|its|both) )?"
    rf"(?:(?:\w+ )?axes (?:are |present |clearly |correctly |properly |drawn |shown |included |and )*"
    rf"(?:{LABELED} )?(?:as |with |by )?)?(?:the )?"
)
_BOTH = tuple(
    re.compile(
        rf"{_OPENING}{pair.replace('<name>', '<name1>').replace('<axis>', '<axis1>')}(?:,? and |, (?:with )?)(?:is )?"
        rf"(?:the )?{pair.replace('<name>', '<name2>').replace('<axis>', '<axis2>')}(?: {LABELED})?"
        rf"(?: (?:in|on) the {DRAWING})?",
        re.IGNORECASE,
    )
    for pair in _PAIRS
)
_ONE = tuple(re.compile(rf"{_OPENING}{pair}(?: {LABELED})?", re.IGNORECASE) for pair in _PAIRS[1:2])
_RESPECTIVELY = re.compile(
    rf"are the (?P<axis1>{any_of(AXES)})(?:-|-axis| axis)? and (?:the )?(?P<axis2>{any_of(AXES)})[- ]ax[ei]s "
    rf"(?:clearly |correctly |properly )*{LABELED} {_AS}(?P<name1>{_NAME}) and (?:the )?(?P<name2>{_NAME})"
    rf"(?:,? respectively)?",
    re.IGNORECASE,
)
_UNIT = re.compile(r"^(?P<what>.+?) (?:in|\(in) (?P<unit>[^()]+)\)?$")
_LOOSE = re.compile(
    r"\b(?:or|e\.g|such as|appropriate|units?|values?|correct|something|similar|its|their|quantities)\b"
)


def axis_claim(text: str) -> LabelClaim | None:
    """The names that one or both axes must have, where a criterion asks for them and for nothing else.

    >>> found = axis_claim("Are the axes labeled with wage on the vertical axis and employment on the horizontal axis")
    >>> [(label.text, axis) for label, axis in zip(found.labels, found.axes)]
    [('wage', 'y'), ('employment', 'x')]
    >>> axis_claim("Is the curve drawn along the x-axis") is None
    True
    """
    if match := _RESPECTIVELY.fullmatch(text):
        labels = [axis_label(match[f"name{n}"]) for n in (1, 2)]
        axes = tuple(_axis(match[f"axis{n}"]) for n in (1, 2))
        return _named(labels, axes)
    matches = [match for pattern in (*_BOTH, *_ONE) if (match := pattern.fullmatch(text))]
    for match in matches:
        parts = match.groupdict()
        count = 2 if "name2" in parts else 1
        ends = [str(n) for n in range(1, count + 1)] if count == 2 else [""]
        axes = tuple(_axis(parts[f"axis{end}"]) for end in ends)
        if found := _named([axis_label(parts[f"name{end}"]) for end in ends], axes):
            return found
    return None


def _named(labels: Sequence[Label | None], axes: tuple[str, ...]) -> LabelClaim | None:
    known = tuple(label for label in labels if label)
    complete = len(known) == len(set(axes)) == len(labels)
    return LabelClaim(known, "all", True, axes) if complete else None


def _axis(words: str) -> str:
    return AXES[re.split(r"[- ]", words.lower().removeprefix("the "))[0]]


def axis_label(name: str) -> Label | None:
    """The name of an axis as a label, with its unit where one is asked for."""
    quoted = bool(QUOTED.fullmatch(name.strip()))
    text = name.strip().strip("'\" ")
    if not quoted and (_LOOSE.search(text.lower()) or len(text.split()) > MAX_WORDS):
        return None
    unit = _UNIT.match(text)
    if unit and not quoted:
        text = f"{unit['what']} ({unit['unit']})"
    if len("".join(tokens(text))) <= SIGN_LENGTH:
        return None
    return Label(text, firm=names_something(text.partition("(")[0], quoted=quoted))
