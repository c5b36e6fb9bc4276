"""Makes an SVG safe and plain: what is not shown goes, what cannot be shown is refused, the rest is written one way.

First elements and words are gone through, then attributes, style sheets and the pictures inside, then how much is drawn
once all references are followed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from dataclasses import dataclass

from ..core.images import BadImage, inspect
from . import allowed, css, references
from .allowed import LIMITS, BadSvg, SvgLimits
from .parse import FOREIGN, SVG, Node, decode, parse, write
from .values import IMPORTANT, NUMBER, REFERENCE, size, tidy

_HOLDS_WORDS = allowed.TEXT | {"title", "desc", "style"}
_LINKING = allowed.words("use textPath linearGradient radialGradient pattern filter feImage")
_FILTER_REACH = 10
"""A filter may reach this many times as far as the element, or the picture, that it belongs to."""
_EACH_NUMBER = re.compile(NUMBER)
_DATA = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/=\s]*)", re.IGNORECASE)


@dataclass(frozen=True)
class CleanSvg:
    """A clean picture and what was found on the way."""

    svg: str
    width: float
    height: float
    words: str
    """Everything written in it, piece by piece."""
    left_out: dict[str, int]
    """What the file held and the picture does not show, with how often."""


def clean(svg: str | bytes, limits: SvgLimits = LIMITS) -> str:
    """The same picture without anything that could reach outside or harm, in one plain form.

    Cleaning what is clean changes nothing.

    Raises:
        BadSvg: It is broken, beyond the limits, or part of the picture could not be shown.
    """
    return clean_with_notes(svg, limits).svg


def clean_with_notes(svg: str | bytes, limits: SvgLimits = LIMITS) -> CleanSvg:
    """As `clean`, with the size, the words, and what was left out."""
    root = parse(decode(svg, limits), limits)
    if root.name != "svg":
        found = root.name.removeprefix(FOREIGN)[:40]
        raise BadSvg(f'<{found}> is the outermost element; it must be <svg xmlns="{SVG}">', root.line)
    left_out: Counter[str] = Counter()
    words: list[str] = []
    _prune(root, False, words, left_out)
    if sum(map(len, words)) > limits.text_chars:
        raise BadSvg(f"more than {limits.text_chars:,} characters of text")
    attributes = AttributeCleaner(root, limits, left_out)
    for node in root.walk():
        attributes.clean(node)
    references.check(root, attributes.rules, limits)
    size = attributes.size
    return CleanSvg(write(root), size.width, size.height, "\n".join(words), dict(sorted(left_out.items())))


def _prune(node: Node, in_text: bool, words: list[str], left_out: Counter[str]) -> None:
    """Drop or refuse elements, and text where none is drawn."""
    in_text = in_text or node.name in allowed.TEXT
    kept: list[Node | str] = []
    for child in node.children:
        if isinstance(child, Node):
            if _stays(child, node, left_out):
                _prune(child, in_text, words, left_out)
                kept.append(child)
        elif node.name in _HOLDS_WORDS or (in_text and node.name == "a"):
            kept.append(child)
            if in_text and node.name not in ("title", "desc", "style"):
                words.append(child)
        elif child.strip():
            left_out["words outside text elements"] += 1
    node.children = kept


def _stays(child: Node, parent: Node, left_out: Counter[str]) -> bool:
    if child.name in allowed.KEPT:
        return True
    if child.name.startswith(FOREIGN) or child.name == "metadata":
        return False
    if child.name in allowed.DROPPED:
        left_out[f"<{child.name}>"] += 1
        return False
    if child.name == "foreignObject" and parent.name == "switch" and len(list(parent.elements())) > 1:
        left_out["<foreignObject> with another choice beside it"] += 1
        return False
    reason = allowed.REFUSED.get(child.name, "no such element is drawn in SVG")
    raise BadSvg(f"<{child.name[:40]}>: {reason}", child.line)


class AttributeCleaner:
    """Cleans the elements of one file, one after another; collects the rules of its style sheets."""

    def __init__(self, root: Node, limits: SvgLimits, left_out: Counter[str]) -> None:
        self.limits, self.left_out = limits, left_out
        self.rules: list[css.CssRule] = []
        self.ids = {_single_spaced(node.attributes.get("id", "")) for node in root.walk()} - {""}
        self.image_bytes = self.css_chars = 0
        self._root = root
        said = dict(css.declarations(root.attributes.get("style", ""), root.line, Counter()))
        sides = {side: said[side] for side in ("width", "height") if side in said}
        self.size = size(sides | root.attributes, limits, root.line)

    def clean(self, node: Node) -> None:
        """Replace the element's attributes by those that stay, and a style sheet's text by its plain form."""
        kept: dict[str, str] = {}
        if node.name == "style":
            self._sheet(node)
            return
        self._style(node, kept)
        for name, value in node.attributes.items():
            if name.lower().startswith("on"):
                self.left_out["event handlers"] += 1
            elif name in ("id", "class"):
                kept[name] = _single_spaced(value)
            elif name == "href":
                self._href(node, value.strip(), kept)
            elif name in allowed.ATTRIBUTES and name not in kept:
                if len(value) > self.limits.path_chars:
                    raise BadSvg(
                        f"<{node.name}>: {name} has more than {self.limits.path_chars:,} characters", node.line
                    )
                value = tidy(name, value, node.line)
                if not self._lost_filter(name, value):
                    kept[name] = value
            elif name == "vector-effect":
                self.left_out["vector-effect"] += 1
        if node is self._root:
            kept = {
                name: value for name, value in kept.items() if name not in allowed.GEOMETRY
            } | self.size.attributes()
        self._filter(node, kept)
        node.attributes = {name: value for name, value in sorted(kept.items()) if value}

    def _style(self, node: Node, kept: dict[str, str]) -> None:
        said = css.declarations(node.attributes.get("style", ""), node.line, self.left_out)
        stay = [(name, value) for name, value in said if not self._lost_filter(name, value)]
        # Here browsers want units in transforms and the renderer wants none; as an attribute both take the same.
        moved = {"transform"} if node.name in allowed.TEXT else allowed.GEOMETRY | {"transform"}
        kept |= {name: IMPORTANT.sub("", value) for name, value in stay if name in moved}
        unmoved = [each for each in stay if each[0] not in allowed.GEOMETRY and each[0] != "transform"]
        if style := css.write_declarations(unmoved):
            kept["style"] = style

    def _sheet(self, node: Node) -> None:
        text = "".join(child for child in node.children if isinstance(child, str))
        kind, media = (node.attributes.get(name, "").strip().lower() for name in ("type", "media"))
        node.attributes = {}
        self.css_chars += len(text)
        if self.css_chars > self.limits.css_chars:
            raise BadSvg(f"style: more than {self.limits.css_chars:,} characters", node.line)
        if kind not in ("", "text/css") or media not in ("", "all", "screen"):
            node.children = []
            return
        rules = css.parse_sheet(text, node.line, self.left_out)
        for rule in rules:
            rule.declarations[:] = [each for each in rule.declarations if not self._lost_filter(*each)]
        rules = [rule for rule in rules if rule.declarations]
        self.rules += rules
        if len(self.rules) > self.limits.css_rules:
            raise BadSvg(f"style: more than {self.limits.css_rules:,} rules", node.line)
        node.children = [css.write_sheet(rules)] if rules else []

    def _lost_filter(self, name: str, value: str) -> bool:
        """A filter that is not there hides the element in one renderer and does nothing in a browser: do nothing."""
        lost = name == "filter" and any(target not in self.ids for target in REFERENCE.findall(value))
        if lost:
            self.left_out["a filter that is not in the file"] += 1
        return lost

    def _href(self, node: Node, href: str, kept: dict[str, str]) -> None:
        if node.name in _LINKING and href.startswith("#"):
            kept["href"] = href
            if href[1:] not in self.ids:
                self.left_out[f"<{node.name}> of an id that is not in the file"] += 1
        elif node.name in ("image", "feImage"):
            kept["href"], size = embedded_picture(href, self.limits, node.line)
            self.image_bytes += size
            if self.image_bytes > self.limits.image_bytes:
                raise BadSvg(f"image: more than {self.limits.image_bytes:,} bytes of pictures", node.line)
        elif node.name in _LINKING and href:
            raise BadSvg(f"<{node.name}>: href={href[:60]!r} leads outside the file; only #id is taken", node.line)

    def _filter(self, node: Node, kept: dict[str, str]) -> None:
        for name, value in kept.items():
            most = allowed.FILTER_LIMITS.get((node.name, name))
            if name in ("x", "y", "width", "height") and (node.name == "filter" or node.name in allowed.PRIMITIVES):
                of_element = node.name == "filter" and kept.get("filterUnits") != "userSpaceOnUse"
                unit = 100 if value.endswith("%") else 1 if of_element else max(self.size.view[2:])
                most = _FILTER_REACH * unit
            if most is not None and any(abs(float(each)) > most for each in _EACH_NUMBER.findall(value)):
                raise BadSvg(f"<{node.name}>: {name}={value[:40]!r} is too large; at most {most:g}", node.line)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def embedded_picture(href: str, limits: SvgLimits, line: int | None) -> tuple[str, int]:
    """The address of a picture in its plain form, and how many bytes it holds.

    Raises:
        BadSvg: It lies elsewhere, is of another kind, broken or too large.
    """
    found = _DATA.fullmatch(href.strip())
    if not found:
        start = href.strip()[:40]
        raise BadSvg(
            f"image: {start!r} is not taken: draw it with shapes, or write it as data:image/png;base64,…", line
        )
    try:
        data = base64.b64decode("".join(found[2].split()), validate=True)
        info = inspect(data)
    except (binascii.Error, BadImage) as error:
        raise BadSvg(f"image: {error}", line) from None
    said = found[1].lower().replace("jpg", "jpeg")
    if info.format.lower() != said:
        raise BadSvg(f"image: called {said}, but it is {info.format}", line)
    if info.width * info.height > limits.image_pixels:
        raise BadSvg(f"image: {info.width} x {info.height}; at most {limits.image_pixels:,} pixels are taken", line)
    return f"data:image/{said};base64,{base64.b64encode(data).decode()}", len(data)
