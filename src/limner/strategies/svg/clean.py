"""Cleaning of SVG: invisible parts are dropped, parts that cannot be shown are refused, the rest is normalised.

Elements and text are checked first, then attributes and style sheets. ``allowed.toml`` lists
everything that is allowed. How much may be drawn is limited where it is drawn, in the renderer's own process.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import values
from .document import ALLOWED, FOREIGN, LIMITS, SVG, BadSvg, Node, SvgLimits, allowed, parse, write
from .values import GEOMETRY, IMPORTANT, REFERENCE

TEXT = allowed("elements", "text")
KEPT = allowed("elements", "shapes", "text", "primitives", "others")
DROPPED = allowed("elements", "dropped")
ATTRIBUTES = allowed("attributes", "properties", "geometry", "others")

_LINKING = allowed("elements", "linking")
_SILENT = frozenset(("title", "desc", "style"))


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
    """A cleaner of the elements of one file."""

    def __init__(self, root: Node, limits: SvgLimits) -> None:
        self.limits = limits
        self.styles: dict[str, values.Declarations] = {}
        self.ids = {_single_spaced(node.attributes.get("id", "")) for node in root.walk()} - {""}
        self.css_chars = 0
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
        if node.name in _LINKING and href:
            raise BadSvg(f"<{node.name}>: href={href[:60]!r} leads outside the file; only #id is taken")
        return ""


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
