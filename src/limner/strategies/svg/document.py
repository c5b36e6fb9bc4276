"""SVG files: their extraction from a reply, their limits, a strict parser that builds a small tree, and a writer."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
XML = "http://www.w3.org/XML/1998/namespace"
FOREIGN = "?"
"""The prefix for names of elements and attributes from other namespaces."""

ALLOWED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("allowed.toml").read_text("utf-8"))

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": " ", "\n": " ", "\t": " "})


def allowed(table: str, *lists: str) -> frozenset[str]:
    """Return the names in some lists of one table of ``allowed.toml``."""
    return frozenset(name for key in lists for name in ALLOWED[table][key].split())


class BadSvg(ValueError):
    """An error: a reply has no SVG, or SVG that is broken or not allowed; the message helps a model to correct it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}" if line else message)


@dataclass(frozen=True)
class SvgLimits:
    """The limits of a file and its rendering. Sides are in pixels of 1/96 inch, or units of the viewBox."""

    bytes: int = 2 * 2**20
    elements: int = 20_000
    depth: int = 100
    path_chars: int = 400_000
    """The most characters in the path data or points of one element."""
    text_chars: int = 20_000
    css_chars: int = 1_000_000
    """The most characters in all style sheets, different style attributes and values of properties together."""
    longest_side: float = 100_000
    shortest_side: float = 0.01
    proportion: float = 50
    """The greatest ratio of the picture's longer side to the shorter one."""
    seconds: int = 4
    """The most seconds of processor time for one rendering."""
    memory: int = 2**30
    """The most bytes of address space for the rendering process."""


LIMITS = SvgLimits()


@dataclass(eq=False, slots=True)
class Node:
    """An element. XLink attributes are stored without their prefix; ``xml:`` attributes keep theirs."""

    name: str
    attributes: dict[str, str]
    line: int | None = None
    children: list[Node | str] = field(default_factory=list)

    def elements(self) -> Iterator[Node]:
        """Return the child elements."""
        return (child for child in self.children if isinstance(child, Node))

    def words(self) -> str:
        """Return the element's own text, without that of its children."""
        return "".join(child for child in self.children if isinstance(child, str))

    def walk(self) -> Iterator[Node]:
        """Yield this element and all its descendants, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.elements())))


def parse(svg: str | bytes, limits: SvgLimits) -> Node:
    """Return the root element of a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        BadSvg: It is not well-formed, declares anything in a DTD, or is too large or too deep.
    """
    # The file is already decoded, so the encoding that it declares is overridden.
    reader = _Reader(limits, expat.ParserCreate("utf-8", "\n"))
    try:
        reader.parser.Parse(_utf8(svg, limits), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            reason += ": write the character itself"
        raise BadSvg(f"not well-formed XML, column {error.offset + 1}: {reason}", error.lineno) from None
    assert reader.root is not None
    return reader.root


def _utf8(svg: str | bytes, limits: SvgLimits) -> bytes:
    try:
        if isinstance(svg, bytes):
            svg = svg.decode("utf-16" if svg[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        if "xlink:" in svg and "xmlns:xlink" not in svg:
            # Many files do not declare the prefix, which HTML allows.
            svg = svg.replace("<svg", f'<svg xmlns:xlink="{XLINK}"', 1)
        data = svg.removeprefix("\ufeff").strip().encode()
    except UnicodeError as error:
        raise BadSvg(f"the text is neither UTF-8 nor UTF-16 with a byte order mark ({type(error).__name__})") from None
    if len(data) > limits.bytes:
        raise BadSvg(f"the file has {len(data):,} bytes; at most {limits.bytes:,} are taken")
    return data


class _Reader:
    """The handlers of an expat parser, and the tree that they build."""

    def __init__(self, limits: SvgLimits, parser: Any) -> None:
        self.limits, self.parser = limits, parser
        self.root: Node | None = None
        self.count = 0
        self.open: list[Node] = []
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.declared
        parser.SkippedEntityHandler = self.skipped

    def bad(self, message: str) -> BadSvg:
        return BadSvg(message, self.parser.CurrentLineNumber)

    def doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise self.bad("a DOCTYPE that declares things is not taken: leave it out")

    def declared(self, *of: object) -> None:
        raise self.bad("entity declarations are not taken: write the text itself")

    def skipped(self, name: str, parameter: bool) -> None:
        raise self.bad(f"the entity &{name}; is not known in SVG: write the character itself")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.limits.elements:
            raise self.bad(f"more than {self.limits.elements:,} elements")
        if len(self.open) >= self.limits.depth:
            raise self.bad(f"elements are nested more than {self.limits.depth} deep")
        own: dict[str, str] = {}
        # Attributes without a namespace come first, so that href takes precedence over xlink:href.
        for key in sorted(attributes, key=lambda key: "\n" in key):
            own.setdefault(_plain_name(key, {XLINK: "", XML: "xml:"}), attributes[key])
        node = Node(_plain_name(name, {SVG: ""}), own, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def end(self, name: str) -> None:
        self.open.pop()

    def text(self, text: str) -> None:
        self.open[-1].children.append(text)


def _plain_name(name: str, prefixes: dict[str, str]) -> str:
    """Return the name of an element or attribute without its namespace; no namespace means SVG, as in HTML."""
    uri, _, local = name.rpartition("\n")
    return prefixes.get(uri, FOREIGN if uri else "") + local


def write(node: Node) -> str:
    """Return the element as text; equal trees give equal text."""
    parts: list[str] = []
    _write(node, parts, f' xmlns="{SVG}"')
    return "".join(parts) + "\n"


def _write(node: Node, parts: list[str], namespace: str = "") -> None:
    parts.append(f"<{node.name}{namespace}")
    parts.extend(f' {name}="{value.translate(_VALUE)}"' for name, value in node.attributes.items())
    if not node.children:
        parts.append("/>")
        return
    parts.append(">")
    for child in node.children:
        if isinstance(child, str):
            parts.append(child.translate(_TEXT))
        else:
            _write(child, parts)
    parts.append(f"</{node.name}>")


MAX_CHARS = 8 * 2**20

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.IGNORECASE | re.DOTALL)
_LONE_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_TAG = re.compile(
    r"""<!--(?s:.*?)(?:-->|\Z)|<!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)"""
    r"""|<(?:[\w.-]+:)?svg(?=[\s/>])(?P<attributes>(?:[^>"']++|"[^"]*+"|'[^']*+')*+)(?:>|\Z|["'](?s:.*))"""
    r"""|(?P<close></(?:[\w.-]+:)?svg\s*>)"""
)


def extract(reply: str) -> str:
    """Return the SVG element in a model's reply, without the text around it.

    The last one inside a fence is taken; if there is none in fences, the last one in the text. A nested picture is part
    of the outer one. SVG in a model's thinking does not count.

    Raises:
        BadSvg: There is none, or the last one is never closed.
    """
    if len(reply) > MAX_CHARS:
        raise BadSvg(f"the reply has {len(reply):,} characters; at most {MAX_CHARS:,} are taken")
    text = _THOUGHT.sub("\n", reply)
    if thoughts := list(_LONE_THOUGHT_END.finditer(text)):
        # Some chat templates contain the opening tag, so it is missing from the reply.
        text = text[thoughts[-1].end() :]
    # Fence lines alternate: one opens, the next one closes.
    parts = _FENCE.split(text)
    pictures = [*_pictures(parts[0::2]), *_pictures(parts[1::2])]
    if not pictures:
        raise BadSvg("there is no <svg> element in the reply: write one whole SVG file, from <svg to </svg>")
    if pictures[-1] is None:
        raise BadSvg("the SVG is cut off: </svg> is missing. Write the whole file, shorter if need be")
    return pictures[-1]


def _pictures(parts: list[str]) -> list[str | None]:
    return [picture for part in parts for picture in _in_part(part)]


def _in_part(text: str) -> Iterator[str | None]:
    """Yield every outermost picture in order; finally None if one is never closed."""
    depth = start = 0
    for tag in _TAG.finditer(text):
        attributes, around = tag["attributes"], text[max(0, tag.start() - 1) : tag.end() + 1]
        mentioned = around[0] == around[-1] == "`" or not (attributes or "").strip(" /")
        if not depth and (tag["close"] or mentioned):
            continue  # Prose that mentions a tag, or a comment.
        if not depth:
            start = tag.start()
        if tag["close"]:
            depth -= 1
        elif attributes is not None:
            depth += not attributes.endswith("/")
        if not depth:
            yield text[start : tag.end()]
    if depth:
        yield None
