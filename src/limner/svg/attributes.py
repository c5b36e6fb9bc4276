"""The attributes of each element: known and harmless ones stay, references lead into the file, styles are plain."""

from __future__ import annotations

import re
from collections import Counter

from . import css, names
from .limits import BadSvg, Limits
from .parse import Node
from .pictures import embedded
from .units import size
from .values import REFERENCE, tidy

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_IMPORTANT = re.compile(r"\s*!\s*important$", re.IGNORECASE)
_LINKING = names.words("use textPath linearGradient radialGradient pattern filter feImage")
_FILTER_REACH = 10
"""A filter may reach this many times as far as the element, or the picture, that it belongs to."""


class Attributes:
    """Cleans the elements of one file, one after another; collects the rules of its style sheets."""

    def __init__(self, root: Node, limits: Limits, left_out: Counter[str]) -> None:
        self.limits, self.left_out = limits, left_out
        self.rules: list[css.Rule] = []
        self.ids = {_plain(node.attributes.get("id", "")) for node in root.walk()} - {""}
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
                kept[name] = _plain(value)
            elif name == "href":
                self._href(node, value.strip(), kept)
            elif name in names.ATTRIBUTES and name not in kept:
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
            kept = {name: value for name, value in kept.items() if name not in names.GEOMETRY} | self.size.attributes()
        self._filter(node, kept)
        node.attributes = {name: value for name, value in sorted(kept.items()) if value}

    def _style(self, node: Node, kept: dict[str, str]) -> None:
        said = css.declarations(node.attributes.get("style", ""), node.line, self.left_out)
        stay = [(name, value) for name, value in said if not self._lost_filter(name, value)]
        # Here browsers want units in transforms and the renderer wants none; as an attribute both take the same.
        moved = {"transform"} if node.name in names.TEXT else names.GEOMETRY | {"transform"}
        kept |= {name: _IMPORTANT.sub("", value) for name, value in stay if name in moved}
        unmoved = [each for each in stay if each[0] not in names.GEOMETRY and each[0] != "transform"]
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
        rules = css.sheet(text, node.line, self.left_out)
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
            kept["href"], size = embedded(href, self.limits, node.line)
            self.image_bytes += size
            if self.image_bytes > self.limits.image_bytes:
                raise BadSvg(f"image: more than {self.limits.image_bytes:,} bytes of pictures", node.line)
        elif node.name in _LINKING and href:
            raise BadSvg(f"<{node.name}>: href={href[:60]!r} leads outside the file; only #id is taken", node.line)

    def _filter(self, node: Node, kept: dict[str, str]) -> None:
        for name, value in kept.items():
            most = names.FILTER_LIMITS.get((node.name, name))
            if name in ("x", "y", "width", "height") and (node.name == "filter" or node.name in names.PRIMITIVES):
                of_element = node.name == "filter" and kept.get("filterUnits") != "userSpaceOnUse"
                unit = 100 if value.endswith("%") else 1 if of_element else max(self.size.view[2:])
                most = _FILTER_REACH * unit
            if most is not None and any(abs(float(each)) > most for each in _NUMBER.findall(value)):
                raise BadSvg(f"<{node.name}>: {name}={value[:40]!r} is too large; at most {most:g}", node.line)


def _plain(text: str) -> str:
    return " ".join(text.split())
