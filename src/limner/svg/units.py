"""Lengths in pixels, and the size of the whole picture."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .limits import BadSvg, Limits

PIXELS = {
    "": 1.0, "px": 1.0, "pt": 96 / 72, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6,
    "em": 16.0, "rem": 16.0, "ex": 8.0,
}  # fmt: skip
"""Pixels of 1/96 inch in one of each unit; letters are 16 pixels high where the file has said nothing yet."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LENGTH = re.compile(rf"({_NUMBER})\s*([A-Za-z]*|%)")
_VIEW_BOX = re.compile(rf"({_NUMBER})" + rf"(?:\s*,\s*|\s+)({_NUMBER})" * 3)


@dataclass(frozen=True)
class Size:
    """The picture's width and height in pixels, and the part of the plane it shows: x, y, width, height."""

    width: float
    height: float
    view: tuple[float, float, float, float]

    def attributes(self) -> dict[str, str]:
        """As the root element carries them."""
        view = " ".join(map(number, self.view))
        return {"width": number(self.width), "height": number(self.height), "viewBox": view}


def number(value: float) -> str:
    """A number as it is written: at most six decimals, no exponent, no trailing noughts."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if round(value, 6) else "0"


def pixels(text: str, what: str, line: int | None = None) -> float | None:
    """A length in pixels; nothing for a share (``50%``) or ``auto``.

    Raises:
        BadSvg: It is no length, or its unit depends on things that a still picture has not.
    """
    text = text.strip()
    if text == "auto":
        return None
    found = _LENGTH.fullmatch(text)
    if not found:
        raise BadSvg(f'{what}="{text[:40]}" is no length', line)
    if found[2] == "%":
        return None
    unit = found[2].lower()
    if unit not in PIXELS:
        raise BadSvg(f'{what}="{text[:40]}": the unit {found[2]} is not taken; write plain numbers', line)
    return float(found[1]) * PIXELS[unit]


def size(attributes: dict[str, str], limits: Limits, line: int | None = None) -> Size:
    """The size that a root element asks for.

    What is missing, or a percentage, follows from the viewBox; a missing viewBox from width and height.

    Raises:
        BadSvg: Nothing tells the size, or it is nought, negative, too large or too long.
    """
    view = _view(attributes["viewBox"], limits, line) if attributes.get("viewBox", "").strip() else None
    width, height = (
        pixels(attributes[side], side, line) if attributes.get(side, "").strip() else None
        for side in ("width", "height")
    )
    for side, value in (("width", width), ("height", height)):
        if value is not None:
            _check(side, value, limits, line)
    if view is None:
        if width is None or height is None:
            raise BadSvg('the size is not said: give the svg element viewBox="0 0 WIDTH HEIGHT"', line)
        view = (0.0, 0.0, width, height)
    if width is None and height is None:
        width, height = view[2:]
    elif width is None:
        assert height is not None
        width = height * view[2] / view[3]
    elif height is None:
        height = width * view[3] / view[2]
    assert height is not None
    if max(width, height) > limits.proportion * min(width, height):
        raise BadSvg(
            f"{number(width)} by {number(height)} is too long: one side may be {limits.proportion:g} times the other",
            line,
        )
    x, y, across, down = (round(each, 6) for each in view)
    return Size(round(width, 6), round(height, 6), (x, y, across, down))


def _view(text: str, limits: Limits, line: int | None) -> tuple[float, float, float, float]:
    found = _VIEW_BOX.fullmatch(text.strip())
    if not found:
        raise BadSvg(f'viewBox="{text[:60]}": four numbers are needed, x y width height', line)
    x, y, width, height = map(float, found.groups())
    if not max(abs(x), abs(y)) <= 10 * limits.longest_side:
        raise BadSvg(f'viewBox="{text[:60]}": it lies too far off', line)
    _check("the viewBox's width", width, limits, line)
    _check("the viewBox's height", height, limits, line)
    return x, y, width, height


def _check(side: str, value: float, limits: Limits, line: int | None) -> None:
    if not (math.isfinite(value) and limits.shortest_side <= value <= limits.longest_side):
        raise BadSvg(
            f"{side} is {value:g}; it must be from {limits.shortest_side:g} to {limits.longest_side:,.0f}", line
        )
