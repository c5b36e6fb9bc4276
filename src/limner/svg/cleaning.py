"""Makes an SVG safe and plain: what is not shown goes, what cannot be shown is refused, the rest is written one way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from . import names, references
from .attributes import Attributes
from .limits import LIMITS, BadSvg, Limits
from .parse import FOREIGN, SVG, Node, decode, parse, write

_HOLDS_WORDS = names.TEXT | {"title", "desc", "style"}


@dataclass(frozen=True)
class Cleaned:
    """A clean picture and what was found on the way."""

    svg: str
    width: float
    height: float
    words: str
    """Everything written in it, piece by piece."""
    left_out: dict[str, int]
    """What the file held and the picture does not show, with how often."""


def clean(svg: str | bytes, limits: Limits = LIMITS) -> str:
    """The same picture without anything that could reach outside or harm, in one plain form.

    Cleaning what is clean changes nothing.

    Raises:
        BadSvg: It is broken, beyond the limits, or part of the picture could not be shown.
    """
    return cleaned(svg, limits).svg


def cleaned(svg: str | bytes, limits: Limits = LIMITS) -> Cleaned:
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
    attributes = Attributes(root, limits, left_out)
    for node in root.walk():
        attributes.clean(node)
    references.check(root, attributes.rules, limits)
    size = attributes.size
    return Cleaned(write(root), size.width, size.height, "\n".join(words), dict(sorted(left_out.items())))


def _prune(node: Node, in_text: bool, words: list[str], left_out: Counter[str]) -> None:
    """Drop or refuse elements, and text where none is drawn."""
    in_text = in_text or node.name in names.TEXT
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
    if child.name in names.KEPT:
        return True
    if child.name.startswith(FOREIGN) or child.name == "metadata":
        return False
    if child.name in names.DROPPED:
        left_out[f"<{child.name}>"] += 1
        return False
    if child.name == "foreignObject" and parent.name == "switch" and len(list(parent.elements())) > 1:
        left_out["<foreignObject> with another choice beside it"] += 1
        return False
    reason = names.REFUSED.get(child.name, "no such element is drawn in SVG")
    raise BadSvg(f"<{child.name[:40]}>: {reason}", child.line)
