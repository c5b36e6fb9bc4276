"""Values of attributes and properties: lengths in pixels, the size of the whole picture, all else fit to be written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .allowed import FUNCTIONS, GEOMETRY, PROPERTIES, BadSvg, SvgLimits

PIXELS = {
    "": 1.0, "px": 1.0, "pt": 96 / 72, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6,
    "em": 16.0, "rem": 16.0, "ex": 8.0,
}  # fmt: skip
"""Pixels of 1/96 inch in one of each unit; letters are 16 pixels high where the file has said nothing yet."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LENGTH = re.compile(rf"({NUMBER})\s*([A-Za-z]*|%)")
_VIEW_BOX = re.compile(rf"({NUMBER})" + rf"(?:\s*,\s*|\s+)({NUMBER})" * 3)

REFERENCE = re.compile(r"url\(#([^\s\"'()<>]+)\)")
"""A reference into the file, as `tidy` leaves it."""

_CALL = re.compile(r"([A-Za-z_][\w-]*)\s*\(")
_URL = re.compile(r"""url\s*\(\s*(?P<quote>["']?)#(?P<id>[^\s"'()<>]+)(?P=quote)\s*\)""", re.IGNORECASE)
_ANY_URL = re.compile(r"url\s*\(", re.IGNORECASE)
_COLOUR = re.compile(r"\b(rgb|hsl)a?\(([^()]*)\)", re.IGNORECASE)
_TRANSFORM = re.compile(r"([A-Za-z]+)\s*\(([^()]*)\)")
_AMOUNT = re.compile(rf"({NUMBER})([A-Za-z%]*)")
_REM = re.compile(r"(?<![\w.#-])(\d*\.?\d+)rem\b", re.IGNORECASE)
_UNKNOWN_UNIT = re.compile(r"(?<![\w.#-])\d*\.?\d+(?:[sld]?v(?:w|h|i|b|min|max)|ch|cap|ic|r?lh|cq\w+)\b", re.IGNORECASE)
IMPORTANT = re.compile(r"\s*!\s*important$", re.IGNORECASE)
_GENERAL = re.compile(r"(?:^|[\s,])(?:sans-serif|serif|monospace|cursive|fantasy|inherit)$", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|\bcode\b", re.IGNORECASE)
_SERIF = re.compile(
    r"times|georgia|garamond|palatino|cambria|antiqua|baskerville|roman|(?<!sans)[ -]serif|simsun|song", re.IGNORECASE
)
_COLOUR_NAMES = {"currentcolor": "currentColor", "none": "none", "rebeccapurple": "#663399"}
"""Names that the renderer knows in this form only."""
_SHIFTS = {"sub": "-0.33em", "super": "0.5em"}
"""As far as browsers shift small letters; the font's own measure, which the renderer takes, is hardly seen."""
_DEGREES = {"": 1.0, "deg": 1.0, "grad": 0.9, "turn": 360.0, "rad": 180 / math.pi}
_ONE_AXIS = {
    "translatex": "translate({})",
    "translatey": "translate(0 {})",
    "scalex": "scale({} 1)",
    "scaley": "scale(1 {})",
}


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


def size(attributes: dict[str, str], limits: SvgLimits, line: int | None = None) -> Size:
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


def _view(text: str, limits: SvgLimits, line: int | None) -> tuple[float, float, float, float]:
    found = _VIEW_BOX.fullmatch(text.strip())
    if not found:
        raise BadSvg(f'viewBox="{text[:60]}": four numbers are needed, x y width height', line)
    x, y, width, height = map(float, found.groups())
    if not max(abs(x), abs(y)) <= 10 * limits.longest_side:
        raise BadSvg(f'viewBox="{text[:60]}": it lies too far off', line)
    _check("the viewBox's width", width, limits, line)
    _check("the viewBox's height", height, limits, line)
    return x, y, width, height


def _check(side: str, value: float, limits: SvgLimits, line: int | None) -> None:
    if not (math.isfinite(value) and limits.shortest_side <= value <= limits.longest_side):
        raise BadSvg(
            f"{side} is {value:g}; it must be from {limits.shortest_side:g} to {limits.longest_side:,.0f}", line
        )


def tidy(name: str, text: str, line: int | None = None) -> str:
    """The value of an attribute or property, fit to be written.

    Raises:
        BadSvg: It points outside the file, hides something, or uses what would not be drawn as it is meant.
    """
    text = " ".join(text.split())
    if "\\" in text or "/*" in text:
        raise BadSvg(f"{name}: backslashes and comments are not taken in values", line)
    if "(" in text:
        text = _functions(name, text, line)
    if name.lower().endswith("transform"):
        text = _TRANSFORM.sub(lambda found: _transform(name, found, line), text)
    if name.endswith("color") or name in ("fill", "stroke"):
        text = _COLOUR_NAMES.get(text.lower(), text)
    if name == "baseline-shift":
        return _SHIFTS.get(text.lower(), text)
    if name == "font-family" or (name == "font" and " " in text):
        return _family(text)
    if name in PROPERTIES or name in GEOMETRY:
        if unknown := _UNKNOWN_UNIT.search(text):
            raise BadSvg(f"{name}: the unit of {unknown[0]} is not taken; write px or plain numbers", line)
        text = _REM.sub(lambda found: f"{number(float(found[1]) * PIXELS['rem'])}px", text)
    return text


def _family(text: str) -> str:
    """The list of fonts with a general kind at its end, so that an unknown font is replaced by one like it."""
    ending = IMPORTANT.search(text)
    fonts = text[: ending.start()] if ending else text
    if not fonts:
        return text
    if _GENERAL.search(fonts):
        return _GENERAL.sub(lambda found: found[0].lower(), fonts) + text[len(fonts) :]
    first = fonts.partition(",")[0]
    kind = "monospace" if _MONO.search(first) else "serif" if _SERIF.search(first) else "sans-serif"
    return f"{fonts.rstrip(', ')}, {kind}{' !important' if ending else ''}"


def _functions(name: str, text: str, line: int | None) -> str:
    for call in _CALL.finditer(text):
        if call[1].lower() not in FUNCTIONS:
            raise BadSvg(f"{name}: {call[1]}() is not drawn here; write the plain value", line)
    inside = _URL.sub(lambda found: f"url(#{found['id']})", text)
    for start in _ANY_URL.finditer(inside):
        if not REFERENCE.match(inside, start.start()):
            place = inside[start.end() :].strip()[:60]
            raise BadSvg(f"{name}: url({place} leads outside the file; only url(#id) is taken", line)
    return _COLOUR.sub(lambda found: _colour(name, found, line), inside)


def _colour(name: str, found: re.Match[str], line: int | None) -> str:
    """The older form with commas, which every renderer knows."""
    parts = [part for part in re.split(r"[\s,/]+", found[2].strip()) if part]
    if len(parts) not in (3, 4) or "none" in parts:
        raise BadSvg(f"{name}: {found[0]} is no colour; write it as #rrggbb", line)
    kind = found[1].lower()
    if kind == "hsl":
        hue = _AMOUNT.fullmatch(parts[0])
        if not hue or hue[2].lower() not in _DEGREES:
            raise BadSvg(f"{name}: {found[0]} is no colour; write it as #rrggbb", line)
        parts[0] = number(float(hue[1]) * _DEGREES[hue[2].lower()]) if hue[2] else hue[1]
    if parts[3:] and (share := _AMOUNT.fullmatch(parts[3])) and share[2] == "%":
        parts[3] = number(float(share[1]) / 100)
    return f"{kind}{'a' if len(parts) == 4 else ''}({', '.join(parts)})"


def _transform(name: str, found: re.Match[str], line: int | None) -> str:
    """Without units, which the renderer would take for a mistake, and with both axes."""
    kind = found[1].lower()
    angle = kind in ("rotate", "skewx", "skewy")
    amounts = []
    for at, part in enumerate(re.split(r"[\s,]+", found[2].strip())):
        amount = _AMOUNT.fullmatch(part)
        if not amount or not math.isfinite(float(amount[1])):
            return found[0]
        units = _DEGREES if angle and at == 0 else PIXELS
        if amount[2].lower() not in units:
            raise BadSvg(f"{name}: {found[0]}: the unit {amount[2]} is not taken; write plain numbers", line)
        amounts.append(number(float(amount[1]) * units[amount[2].lower()]) if amount[2] else amount[1])
    if kind in _ONE_AXIS and len(amounts) == 1:
        return _ONE_AXIS[kind].format(amounts[0])
    return f"{FUNCTIONS.get(kind, found[1])}({' '.join(amounts)})"
