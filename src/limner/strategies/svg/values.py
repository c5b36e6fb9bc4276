"""Conversion of sizes, values and style sheets to the forms that the renderer understands.

CSS is parsed by tinycss2, so that escapes, comments or brackets cannot hide anything, and written again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tinycss2
from tinycss2.color4 import parse_color

from .document import ALLOWED, BadSvg, SvgLimits, allowed

PROPERTIES = allowed("attributes", "properties")
GEOMETRY = allowed("attributes", "geometry")
CSS = ALLOWED["css"]
FUNCTIONS = {name.lower(): name for name in allowed("css", "functions")}
PASSING = allowed("css", "passing")
PIXELS: dict[str, float] = CSS["pixels"] | {"": 1.0}
DEGREES: dict[str, float] = CSS["degrees"] | {"": 1.0}

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
REFERENCE = re.compile(r"url\(#([^\s\"'()<>]+)\)")
"""A reference to an element of the file, in the form in which values are written."""
IMPORTANT = " !important"

_LENGTH = re.compile(rf"({NUMBER})\s*([A-Za-z]*|%)")
_VIEW_BOX = re.compile(rf"({NUMBER})" + rf"(?:\s*,\s*|\s+)({NUMBER})" * 3)
_NUMBERS = re.compile(r"[\d\s.,+-]*")
_GENERAL = re.compile(r"(?:^|[\s,])(?:sans-serif|serif|monospace|cursive|fantasy|inherit)$", re.IGNORECASE)
_MONO = re.compile(r"mono|courier|consol|menlo|\bcode\b", re.IGNORECASE)
_SERIF = re.compile(
    r"times|georgia|garamond|palatino|cambria|antiqua|baskerville|roman|(?<!sans)[ -]serif|simsun|song", re.IGNORECASE
)
_PLAIN_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}|[A-Za-z]+|rgba?\([^()]*\)")
_SELECTOR = re.compile(r"[\w\s.#*>+~:-]+")
_ATTRIBUTE = re.compile(r"""\[[\w-]+(?:[~|^$*]?=(?:"[\w\s.#-]*"|[\w-]+))?\]""")
_PSEUDO = re.compile(r"::?[\w-]+")
_LAST_RULE = "#last"

Tokens = Iterable[Any]
Declarations = list[tuple[str, str]]


@dataclass(frozen=True)
class Size:
    """The picture's width and height in pixels, and its viewBox: x, y, width, height."""

    width: float
    height: float
    view: tuple[float, float, float, float]

    def attributes(self) -> dict[str, str]:
        """Return the size as attributes of the root element."""
        view = " ".join(map(number, self.view))
        return {"width": number(self.width), "height": number(self.height), "viewBox": view}


def number(value: float) -> str:
    """Write a number with at most six decimals, without an exponent or trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if round(value, 6) else "0"


def pixels(text: str, what: str) -> float | None:
    """Return a length in pixels; None for a percentage or ``auto``.

    Raises:
        BadSvg: It is not a length, or its unit cannot be converted to pixels.
    """
    length = _LENGTH.fullmatch(text)
    if text == "auto" or (length and length[2] == "%"):
        return None
    if not length:
        raise BadSvg(f'{what}="{text[:40]}" is not a length')
    if length[2].lower() not in PIXELS:
        raise BadSvg(f'{what}="{text[:40]}": the unit {length[2]} is not taken; write plain numbers')
    return float(length[1]) * PIXELS[length[2].lower()]


def size(attributes: dict[str, str], limits: SvgLimits) -> Size:
    """Return the size that the root element's attributes specify.

    A width or height that is missing or a percentage is derived from the viewBox, a missing viewBox from width and
    height.

    Raises:
        BadSvg: There is no size, or it is zero, negative or too large, or one side is too long for the other.
    """
    given = {name: text for name in ("width", "height", "viewBox") if (text := attributes.get(name, "").strip())}
    view = _view(given["viewBox"], limits) if "viewBox" in given else None
    width, height = (pixels(given.get(side, "auto"), side) for side in ("width", "height"))
    for side, value in (("width", width), ("height", height)):
        if value is not None:
            _check_side(side, value, limits)
    if view is None:
        if width is None or height is None:
            raise BadSvg('the size is missing: give the svg element viewBox="0 0 WIDTH HEIGHT"')
        view = (0.0, 0.0, width, height)
    if width is None:
        width = view[2] if height is None else height * view[2] / view[3]
    if height is None:
        height = width * view[3] / view[2]
    if max(width, height) > limits.proportion * min(width, height):
        sides = f"{number(width)} by {number(height)}"
        raise BadSvg(f"{sides} is too long: one side may be {limits.proportion:g} times the other")
    x, y, across, down = (round(each, 6) for each in view)
    return Size(round(width, 6), round(height, 6), (x, y, across, down))


def _view(text: str, limits: SvgLimits) -> tuple[float, float, float, float]:
    box = _VIEW_BOX.fullmatch(text)
    if not box:
        raise BadSvg(f'viewBox="{text[:60]}": four numbers are needed, x y width height')
    x, y, width, height = map(float, box.groups())
    if max(abs(x), abs(y)) > 10 * limits.longest_side:
        raise BadSvg(f'viewBox="{text[:60]}": it lies too far off')
    _check_side("the viewBox's width", width, limits)
    _check_side("the viewBox's height", height, limits)
    return x, y, width, height


def _check_side(side: str, value: float, limits: SvgLimits) -> None:
    if not limits.shortest_side <= value <= limits.longest_side:
        raise BadSvg(f"{side} is {value:g}; it must be from {limits.shortest_side:g} to {limits.longest_side:,.0f}")


def tidy(name: str, text: str) -> str:
    """Return the cleaned value of an attribute.

    Raises:
        BadSvg: It refers to something outside the file, hides something, or would not be drawn as intended.
    """
    text = " ".join(text.split())
    if "\\" in text or "/*" in text:
        raise BadSvg(f"{name}: backslashes and comments are not taken in values")
    of_css = name in PROPERTIES or name in GEOMETRY
    if "(" not in text and (not of_css or _NUMBERS.fullmatch(text)):
        return text
    return write_value(name, tinycss2.parse_component_value_list(text))


def write_value(name: str, tokens: Tokens) -> str:
    """Return the value of an attribute or property in the form that the renderer understands; see `tidy`."""
    try:
        text = _write_tokens(tokens, is_transform=name.lower().endswith("transform"))
    except BadSvg as error:
        raise BadSvg(f"{name}: {error}") from None
    if name.endswith("color") or name in ("fill", "stroke"):
        return str(CSS["colours"].get(text.lower(), text))
    if name == "baseline-shift":
        return str(CSS["shifts"].get(text.lower(), text))
    if name == "font-family" or (name == "font" and " " in text):
        return _family(text)
    return text


def _write_tokens(tokens: Tokens, is_transform: bool = False, inside: bool = False) -> str:
    return " ".join("".join(_write_token(token, is_transform, inside) for token in tokens).split())


def _write_token(token: Any, is_transform: bool, inside: bool) -> str:
    match token.type:
        case "whitespace" | "comment":
            return " "
        case "number" | "percentage" | "ident" | "hash" | "literal":
            return str(token.serialize())
        case "string":
            quote = '"' if "'" in token.value else "'"
            return f"{quote}{token.value}{quote}"
        case "dimension" if token.lower_unit == "rem":
            return f"{number(token.value * PIXELS['rem'])}px"
        case "dimension" if token.lower_unit in PIXELS or token.lower_unit in DEGREES:
            return str(token.serialize())
        case "dimension":
            raise BadSvg(f"the unit of {token.serialize()[:40]} is not taken; write px or plain numbers")
        case "url":
            return _reference(token.value)
        case "function":
            return _function(token, is_transform, inside)
    raise BadSvg("a bracket or quote is not closed, or is not taken in a value")


def _reference(address: str) -> str:
    if not REFERENCE.fullmatch(f"url({address})"):
        raise BadSvg(f"url({address[:60]}) leads outside the file; only url(#id) is taken")
    return f"url({address})"


def _function(token: Any, is_transform: bool, inside: bool) -> str:
    kind = token.lower_name
    is_colour = kind in ("rgb", "rgba", "hsl", "hsla")
    if kind not in FUNCTIONS or (inside and not is_colour):
        raise BadSvg(f"{token.name[:40]}() is not drawn here; write the plain value")
    if kind == "url":
        arguments = [each for each in token.arguments if each.type != "whitespace"]
        is_string = [each.type for each in arguments] == ["string"]
        return _reference(arguments[0].value if is_string else "")
    if is_colour:
        return _colour(token)
    if is_transform:
        return _transform(token)
    return f"{FUNCTIONS[kind]}({_write_tokens(token.arguments, inside=True)})"


def _colour(token: Any) -> str:
    """Return a colour in the older form with commas, which every renderer understands."""
    colour = parse_color(token)
    if colour is None or None in colour.coordinates:
        raise BadSvg(f"{token.name}() with these values is not a colour; write it as #rrggbb")
    rgb = colour.to("srgb")
    channels = [number(255 * channel) for channel in rgb.coordinates]
    if rgb.alpha == 1:
        return f"rgb({', '.join(channels)})"
    return f"rgba({', '.join(channels)}, {number(rgb.alpha)})"


def _transform(token: Any) -> str:
    """Return a transform without units, which the renderer would not accept, and with both axes."""
    kind = token.lower_name
    amounts: list[str] = []
    for each in token.arguments:
        if each.type == "whitespace" or each == ",":
            continue
        units = DEGREES if kind in ("rotate", "skewx", "skewy") and not amounts else PIXELS
        unit = {"number": "", "percentage": "%"}.get(each.type) if each.type != "dimension" else each.lower_unit
        if unit not in units:
            raise BadSvg(f"{token.name}() takes plain numbers; write them without {unit or 'other words'}")
        amounts.append(number(each.value * units[unit]) if unit else each.representation)
    if kind in CSS["one_axis"] and len(amounts) == 1:
        return str(CSS["one_axis"][kind].format(amounts[0]))
    return f"{FUNCTIONS[kind]}({' '.join(amounts)})"


def _family(fonts: str) -> str:
    """Return the list of fonts, ending in a generic family, so that an unknown font is replaced by a similar one."""
    if _GENERAL.search(fonts) or not fonts:
        return _GENERAL.sub(lambda general: general[0].lower(), fonts)
    first = fonts.partition(",")[0]
    kind = "monospace" if _MONO.search(first) else "serif" if _SERIF.search(first) else "sans-serif"
    return f"{fonts.rstrip(', ')}, {kind}"


def declarations(source: str | Tokens) -> Declarations:
    """Return the allowed properties and their values from text or tokens of the form ``name: value; …``, in order."""
    if isinstance(source, str) and "\\" in source:
        raise BadSvg("style: backslashes are not taken")
    rows: Declarations = []
    for item in tinycss2.parse_blocks_contents(source, skip_comments=True, skip_whitespace=True):
        if item.type == "qualified-rule":
            raise BadSvg("style: a rule is inside another, or inside a style attribute")
        if item.type == "declaration" and (value := _declared(item.lower_name, item.value)):
            name = "background-color" if item.lower_name == "background" else item.lower_name
            rows.append((name, value + IMPORTANT if item.important else value))
    names = dict(rows)
    if "transform" in names and "view" not in names.get("transform-box", "view"):
        raise BadSvg("style: transform-box is not drawn here; write transform with the centre itself")
    return [row for row in rows if row[0] != "transform-box"]


def _declared(name: str, tokens: Tokens) -> str:
    """Return the value of a property; empty if the property has no effect on the drawing."""
    if name not in PROPERTIES and name not in GEOMETRY and name not in ("background", "transform-box"):
        return ""
    value = write_value(name, tokens)
    # A brace in a string could end a rule for one parser and not for another.
    if re.search(r"[{}@]", value):
        raise BadSvg(f"style: {name}: {value[:40]}: braces and @ are not taken in values")
    return value if name != "background" or _PLAIN_COLOUR.fullmatch(value) else ""


def write_declarations(rows: Declarations) -> str:
    """Return the declarations as the text of a style attribute."""
    return ";".join(f"{name}:{value}" for name, value in rows)


@dataclass(frozen=True)
class CssRule:
    """A rule of a style sheet: its selectors and declarations."""

    selectors: tuple[str, ...]
    declarations: Declarations


def parse_sheet(text: str) -> list[CssRule]:
    """Return the rules of a style sheet that apply to a still picture.

    Raises:
        BadSvg: It is broken, or contains something that would not be drawn.
    """
    if "\\" in text:
        raise BadSvg("style: backslashes are not taken")
    # tinycss2 closes open blocks at the end of the text: this added last rule would then be inside another one.
    rules = tinycss2.parse_stylesheet(f"{text};{_LAST_RULE}{{}}", skip_comments=True, skip_whitespace=True)
    rules = [rule for rule in rules if rule.type != "at-rule"]
    if not rules or rules[-1].type == "error" or _head(rules[-1]).lstrip("; ") != _LAST_RULE:
        raise BadSvg("style: the last rule is not closed, or is not a rule; write selector { name: value; }")
    return [rule for rule in map(_rule, rules[:-1]) if rule.selectors and rule.declarations]


def _rule(rule: Any) -> CssRule:
    if rule.type == "error":
        raise BadSvg(f"style: {rule.message[:60]}; write selector {{ name: value; }}")
    head = _head(rule)
    selectors = tuple(filter(None, map(_selector, head.split(","))))
    rows = declarations(rule.content)
    whole_picture = all(re.fullmatch(r"svg|\*|html|body", each) for each in selectors)
    if not whole_picture and (geometry := [name for name, _ in rows if name in GEOMETRY]):
        raise BadSvg(f"style: {head[:40]}: {geometry[0]} is not drawn from a style sheet; write it as an attribute")
    return CssRule(selectors, [row for row in rows if row[0] not in GEOMETRY])


def _head(rule: Any) -> str:
    """Return the selectors of a rule as text without comments."""
    return " ".join(re.sub(r"/\*.*?\*/", " ", tinycss2.serialize(rule.prelude), flags=re.DOTALL).split())


def _selector(text: str) -> str | None:
    """Return a selector in the form that the renderer understands; None if it never applies to a still picture."""
    text = text.strip()
    plain = _ATTRIBUTE.sub("*", text)
    if not _SELECTOR.fullmatch(plain):
        raise BadSvg(f"style: {text[:40]!r} is not a selector that is taken")
    for pseudo in _PSEUDO.findall(plain):
        if pseudo in PASSING:
            return None
        if pseudo not in (":root", ":first-child"):
            raise BadSvg(f"style: {pseudo} is not drawn here; give the elements a class")
    return text.replace("svg:root", "svg").replace(":root", "svg")


def write_sheet(rules: list[CssRule]) -> str:
    """Return the rules as the text of a style sheet, one rule per line."""
    return "\n".join(f"{', '.join(rule.selectors)} {{{write_declarations(rule.declarations)}}}" for rule in rules)
