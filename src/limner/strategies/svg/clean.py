"""Cleaning of SVG: invisible parts are dropped, parts that cannot be shown are refused, the rest is normalised.

Elements and text are checked first, then attributes, style sheets and embedded pictures, and finally the amount that is
drawn once all references are followed. ``allowed.toml`` lists everything that is allowed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ...core.images import BadImage, inspect
from . import values
from .document import ALLOWED, FOREIGN, LIMITS, SVG, BadSvg, Node, SvgLimits, allowed, parse, write
from .values import GEOMETRY, IMPORTANT, NUMBER, REFERENCE

SHAPES, TEXT, PRIMITIVES = (allowed("elements", kind) for kind in ("shapes", "text", "primitives"))
KEPT = allowed("elements", "shapes", "text", "primitives", "others")
DROPPED = allowed("elements", "dropped")
ATTRIBUTES = allowed("attributes", "properties", "geometry", "others")
FILTER_REACH = 10
"""The maximum extent of a filter, in multiples of the size of its element or of the picture."""
PRIMITIVE_COST = 200
"""The number of elements that one step of a filter counts as, because it processes every pixel."""

_LINKING = allowed("elements", "linking")
_SILENT = frozenset(("title", "desc", "style"))
_INHERITED = ("fill", "stroke", "marker", "marker-start", "marker-mid", "marker-end")
_REFERRING_RULES = 50
_EACH_NUMBER = re.compile(NUMBER)
_PROPERTY = re.compile(r"(?:^|;)([\w-]+):([^;]*)")
_DATA = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/=\s]*)", re.IGNORECASE)


@dataclass(frozen=True)
class CleanSvg:
    """A cleaned picture, its size in pixels, and its text."""

    svg: str
    width: float
    height: float
    words: str
    """All text drawn in it, one piece per line."""


def clean(svg: str | bytes, limits: SvgLimits = LIMITS) -> str:
    """Return the picture in a normalised form, without anything harmful and without references outside the file.

    Cleaning a cleaned picture changes nothing.

    Raises:
        BadSvg: It is broken or exceeds the limits, or part of the picture could not be shown.
    """
    return clean_with_notes(svg, limits).svg


def clean_with_notes(svg: str | bytes, limits: SvgLimits = LIMITS) -> CleanSvg:
    """Clean a picture like `clean`, and return it with its size and its text."""
    root = parse(svg, limits)
    if root.name != "svg":
        name = root.name.removeprefix(FOREIGN)[:40]
        raise BadSvg(f'<{name}> is the outermost element; it must be <svg xmlns="{SVG}">', root.line)
    words: list[str] = []
    _prune(root, False, words)
    if sum(map(len, words)) > limits.text_chars:
        raise BadSvg(f"more than {limits.text_chars:,} characters of text")
    cleaner = _Cleaner(root, limits)
    for node in root.walk():
        cleaner.clean(node)
    _check_drawn(root, cleaner.rules, limits)
    size = cleaner.size
    return CleanSvg(write(root), size.width, size.height, "\n".join(words))


def _prune(node: Node, in_text: bool, words: list[str]) -> None:
    """Drop or refuse elements that are not allowed, and drop text that would not be drawn; collect the rest of it."""
    in_text = in_text or node.name in TEXT
    holds_words = node.name in TEXT or node.name in _SILENT or (in_text and node.name == "a")
    kept: list[Node | str] = []
    for child in node.children:
        if isinstance(child, Node):
            if _stays(child, node):
                _prune(child, in_text, words)
                kept.append(child)
        elif holds_words:
            kept.append(child)
            if in_text and node.name not in _SILENT:
                words.append(child)
    node.children = kept


def _stays(child: Node, parent: Node) -> bool:
    if child.name in KEPT:
        return True
    if child.name.startswith(FOREIGN) or child.name in DROPPED:
        return False
    if child.name == "foreignObject" and parent.name == "switch" and len(list(parent.elements())) > 1:
        return False  # The switch offers an alternative.
    reason = ALLOWED["refused"].get(child.name, "no such element is drawn in SVG")
    raise BadSvg(f"<{child.name[:40]}>: {reason}", child.line)


class _Cleaner:
    """A cleaner of the elements of one file, which collects the rules of its style sheets."""

    def __init__(self, root: Node, limits: SvgLimits) -> None:
        self.limits = limits
        self.rules: list[values.CssRule] = []
        self.styles: dict[str, values.Declarations] = {}
        self.ids = {_single_spaced(node.attributes.get("id", "")) for node in root.walk()} - {""}
        self.image_bytes = self.css_chars = 0
        self.root = root
        self.size = values.Size(0, 0, (0, 0, 0, 0))

    def clean(self, node: Node) -> None:
        """Replace the element's attributes by the allowed ones, and a style sheet's text by its normalised form."""
        try:
            if node.name == "style":
                self._sheet(node)
            else:
                self._attributes(node)
        except BadSvg as error:
            raise BadSvg(str(error), node.line) from None

    def _attributes(self, node: Node) -> None:
        kept = self._style(node)
        for name, value in node.attributes.items():
            if name in ("id", "class"):
                kept[name] = _single_spaced(value)
            elif name == "href":
                kept[name] = self._href(node, value.strip())
            elif name in ATTRIBUTES and name not in kept:
                if len(value) > self.limits.path_chars:
                    raise BadSvg(f"<{node.name}>: {name} has more than {self.limits.path_chars:,} characters")
                if name in values.PROPERTIES or "(" in value:
                    self._count_css(value)
                kept[name] = self._filtered(name, values.tidy(name, value))
        if node is self.root:
            self.size = values.size(kept | node.attributes, self.limits)
            kept = {name: value for name, value in kept.items() if name not in GEOMETRY} | self.size.attributes()
        self._check_filter(node, kept)
        node.attributes = {name: value for name, value in sorted(kept.items()) if value}

    def _style(self, node: Node) -> dict[str, str]:
        """Return the cleaned style attribute, and the properties that are moved to attributes."""
        text = node.attributes.get("style", "")
        if text not in self.styles:
            self._count_css(text)
            self.styles[text] = values.declarations(text)
        rows = [row for row in self.styles[text] if self._filtered(*row)]
        # In styles, browsers require units in transforms and the renderer refuses them; attributes work in both.
        moved = {"transform"} if node.name in TEXT else GEOMETRY | {"transform"}
        kept = {name: value.removesuffix(IMPORTANT) for name, value in rows if name in moved}
        unmoved = [row for row in rows if row[0] not in GEOMETRY and row[0] != "transform"]
        return kept | {"style": values.write_declarations(unmoved)}

    def _sheet(self, node: Node) -> None:
        text = node.words()
        kind, media = (node.attributes.get(name, "").strip().lower() for name in ("type", "media"))
        node.attributes, node.children = {}, []
        self._count_css(text)
        if kind not in ("", "text/css") or media not in ("", "all", "screen"):
            return
        rules = []
        for rule in values.parse_sheet(text):
            if rows := [row for row in rule.declarations if self._filtered(*row)]:
                rules.append(values.CssRule(rule.selectors, rows))
        self.rules += rules
        if len(self.rules) > self.limits.css_rules:
            raise BadSvg(f"style: more than {self.limits.css_rules:,} rules")
        if rules:
            node.children = [values.write_sheet(rules)]

    def _count_css(self, text: str) -> None:
        self.css_chars += len(text)
        if self.css_chars > self.limits.css_chars:
            raise BadSvg(f"style: styles and values have more than {self.limits.css_chars:,} characters")

    def _filtered(self, name: str, value: str) -> str:
        """Return the value; empty for a filter that is not in the file.

        Some renderers hide an element with such a filter; browsers ignore the filter.
        """
        if name == "filter" and any(target not in self.ids for target in REFERENCE.findall(value)):
            return ""
        return value

    def _href(self, node: Node, href: str) -> str:
        if node.name in _LINKING and href.startswith("#"):
            return href
        if node.name in ("image", "feImage"):
            picture, size = _embedded_picture(href, self.limits)
            self.image_bytes += size
            if self.image_bytes > self.limits.image_bytes:
                raise BadSvg(f"image: more than {self.limits.image_bytes:,} bytes of pictures")
            return picture
        if node.name in _LINKING and href:
            raise BadSvg(f"<{node.name}>: href={href[:60]!r} leads outside the file; only #id is taken")
        return ""

    def _check_filter(self, node: Node, kept: dict[str, str]) -> None:
        limits: dict[str, float] = dict(ALLOWED["filter_limits"].get(node.name, {}))
        if node.name == "filter" or node.name in PRIMITIVES:
            of_element = node.name == "filter" and kept.get("filterUnits") != "userSpaceOnUse"
            for side in ("x", "y", "width", "height"):
                unit = 100 if kept.get(side, "").endswith("%") else 1 if of_element else max(self.size.view[2:])
                limits[side] = FILTER_REACH * unit
        for name, most in limits.items():
            value = kept.get(name, "")
            if any(abs(float(each)) > most for each in _EACH_NUMBER.findall(value)):
                raise BadSvg(f"<{node.name}>: {name}={value[:40]!r} is too large; at most {most:g}")


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _embedded_picture(href: str, limits: SvgLimits) -> tuple[str, int]:
    """Return the data URL of an embedded picture in normalised form, and the picture's number of bytes."""
    address = _DATA.fullmatch(href)
    if not address:
        advice = "draw it with shapes, or write it as data:image/png;base64,…"
        raise BadSvg(f"image: {href[:40]!r} is not taken: {advice}")
    try:
        data = base64.b64decode("".join(address[2].split()), validate=True)
        info = inspect(data)
    except (binascii.Error, BadImage) as error:
        raise BadSvg(f"image: {error}") from None
    kind = address[1].lower().replace("jpg", "jpeg")
    if info.format.lower() != kind:
        raise BadSvg(f"image: called {kind}, but it is {info.format}")
    if info.width * info.height > limits.image_pixels:
        raise BadSvg(f"image: {info.width} x {info.height}; at most {limits.image_pixels:,} pixels are taken")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}", len(data)


def _check_drawn(root: Node, rules: list[values.CssRule], limits: SvgLimits) -> None:
    """Check how many elements are drawn once every reference inside the file is expanded.

    Raises:
        BadSvg: There are too many, or an element refers to itself, directly or through others.
    """
    referring = [rule for rule in rules if any("url(" in value for _, value in rule.declarations)]
    if len(referring) > _REFERRING_RULES:
        raise BadSvg(f"style: more than {_REFERRING_RULES} rules with url(#id); write it as an attribute")
    uses = _Uses(root, referring)
    graph = {node: list(uses.of(node)) for node in root.walk()}
    sorter = TopologicalSorter({node: [target for target, _ in targets] for node, targets in graph.items()})
    cost: dict[Node, int] = {}
    try:
        for node in sorter.static_order():
            cost[node] = _own_cost(node) + sum(cost[target] * times for target, times in graph[node])
            if cost[node] > limits.drawn:
                reason = f"with every use, marker, pattern and filter written out this is more than {limits.drawn:,}"
                raise BadSvg(f"<{node.name}>: {reason} elements", node.line)
    except CycleError as error:
        cycle: list[Node] = error.args[1]
        target, node = next(pair for pair in pairwise(cycle) if pair[0] not in pair[1].children)
        raise BadSvg(f"<{node.name}>: #{target.attributes['id']} is used inside itself", node.line) from None


def _own_cost(node: Node) -> int:
    words = len(node.words()) if node.name != "style" else 0
    path = len(node.attributes.get("d", "")) + len(node.attributes.get("points", ""))
    filters = (value for name, value in _function_values(node) if name == "filter" and "url(" not in value)
    steps = sum(value.count("(") for value in filters) + (node.name in PRIMITIVES)
    return 1 + words // 4 + path // 50 + PRIMITIVE_COST * steps


class _Uses:
    """The elements that are drawn because of another one: its children and the targets of its references."""

    def __init__(self, root: Node, rules: list[values.CssRule]) -> None:
        self.rules = rules
        self.ids: dict[str, Node] = {}
        self.shapes: dict[Node, int] = {}
        self.in_marker: set[Node] = set()
        for node in root.walk():
            self.ids.setdefault(node.attributes.get("id", ""), node)
            if node.name == "marker":
                self.in_marker.update(node.walk())
        for node in reversed(list(root.walk())):
            inside = sum(self.shapes[child] for child in node.elements())
            self.shapes[node] = inside + (node.name in SHAPES or node.name == "text")

    def of(self, node: Node) -> Iterator[tuple[Node, int]]:
        """Yield each element that is drawn because of this one, and how often."""
        for child in node.elements():
            yield child, 1
        href = node.attributes.get("href", "")
        if href.startswith("#") and href[1:] in self.ids:
            yield self.ids[href[1:]], 1
        rows = list(_function_values(node))
        for rule in self.rules:
            if rule.concerns(node):
                rows += rule.declarations
        for name, value in rows:
            for target in REFERENCE.findall(value):
                # Shapes inside a marker have no markers themselves.
                if target in self.ids and not (name.startswith("marker") and node in self.in_marker):
                    yield self.ids[target], self._times(node, name)

    def _times(self, node: Node, name: str) -> int:
        times = max(1, self.shapes[node]) if name in _INHERITED else 1
        if name.startswith("marker"):
            paths = (each.attributes.get("d", "") + each.attributes.get("points", "") for each in node.walk())
            times += sum(len(re.findall(r"\d+", path)) // 2 for path in paths)
        return times


def _function_values(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the names and values of attributes and style declarations that contain a function."""
    for name, value in node.attributes.items():
        if name == "style":
            yield from ((each[1], each[2]) for each in _PROPERTY.finditer(value) if "(" in each[2])
        elif name not in ("id", "class", "href", "d", "points") and "(" in value:
            yield name, value
