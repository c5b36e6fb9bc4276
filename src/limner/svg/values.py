"""Values of attributes and style properties: nothing from outside, and written as the renderer understands them."""

from __future__ import annotations

import math
import re

from .limits import BadSvg
from .names import FUNCTIONS, GEOMETRY, PROPERTIES
from .units import PIXELS, number

REFERENCE = re.compile(r"url\(#([^\s\"'()<>]+)\)")
"""A reference into the file, as `tidy` leaves it."""

_CALL = re.compile(r"([A-Za-z_][\w-]*)\s*\(")
_URL = re.compile(r"""url\s*\(\s*(?P<quote>["']?)#(?P<id>[^\s"'()<>]+)(?P=quote)\s*\)""", re.IGNORECASE)
_ANY_URL = re.compile(r"url\s*\(", re.IGNORECASE)
_COLOUR = re.compile(r"\b(rgb|hsl)a?\(([^()]*)\)", re.IGNORECASE)
_TRANSFORM = re.compile(r"([A-Za-z]+)\s*\(([^()]*)\)")
_AMOUNT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([A-Za-z%]*)")
_REM = re.compile(r"(?<![\w.#-])(\d*\.?\d+)rem\b", re.IGNORECASE)
_UNKNOWN_UNIT = re.compile(r"(?<![\w.#-])\d*\.?\d+(?:[sld]?v(?:w|h|i|b|min|max)|ch|cap|ic|r?lh|cq\w+)\b", re.IGNORECASE)
_IMPORTANT = re.compile(r"\s*!\s*important$", re.IGNORECASE)
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
    ending = _IMPORTANT.search(text)
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
