"""Reads XML strictly into a small tree, and writes such a tree in one way only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from .allowed import BadSvg, SvgLimits

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
XML = "http://www.w3.org/XML/1998/namespace"
FOREIGN = "?"
"""Stands before the names of elements and attributes of any other namespace."""

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": " ", "\n": " ", "\t": " "})


@dataclass(eq=False, slots=True)
class Node:
    """An element. Attributes of XLink are named as those without a prefix; ``xml:`` ones keep theirs."""

    name: str
    attributes: dict[str, str]
    line: int | None = None
    children: list[Node | str] = field(default_factory=list)

    def elements(self) -> Iterator[Node]:
        """The elements right inside."""
        return (child for child in self.children if isinstance(child, Node))

    def walk(self) -> Iterator[Node]:
        """This element and all below, in the order of the file."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.elements())))


def decode(svg: str | bytes, limits: SvgLimits) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte order mark."""
    if len(svg) > limits.bytes:
        raise BadSvg(f"the file has {len(svg):,} bytes; at most {limits.bytes:,} are taken")
    try:
        if isinstance(svg, str):
            if len(svg.encode()) > limits.bytes:
                raise BadSvg(f"the file has more than {limits.bytes:,} bytes")
            return svg.removeprefix("\ufeff")
        return svg.decode("utf-16" if svg[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeError as error:
        raise BadSvg(
            f"the text is neither UTF-8 nor UTF-16 with a byte order mark ({error.__class__.__name__})"
        ) from None


def parse(text: str, limits: SvgLimits) -> Node:
    """The root element.

    Raises:
        BadSvg: It is not well-formed, declares anything in a DTD, or is too large or too deep.
    """
    # An encoding that the file declares is past: it is text by now.
    reader = _Reader(limits, expat.ParserCreate("utf-8"))
    try:
        reader.parser.Parse(text.strip().encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
            reason += ": write the character itself"
        raise BadSvg(f"not well-formed XML, column {error.offset + 1}: {reason}", error.lineno) from None
    assert reader.root is not None
    return reader.root


class _Reader:
    def __init__(self, limits: SvgLimits, parser: Any) -> None:
        self.limits, self.parser = limits, parser
        self.root: Node | None = None
        self.count = 0
        self.open: list[Node] = []
        # Prefixes in scope, per open element. The two left undeclared by many are known, as they are to HTML.
        self.scopes: list[dict[str, str]] = [{"": SVG, "xlink": XLINK, "xml": XML}]
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.declared
        parser.SkippedEntityHandler = self.skipped

    @property
    def line(self) -> int:
        line: int = self.parser.CurrentLineNumber
        return line

    def doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise BadSvg("a DOCTYPE that declares things is not taken: leave it out", self.line)

    def declared(self, *of: object) -> None:
        raise BadSvg("entity declarations are not taken: write the text itself", self.line)

    def skipped(self, name: str, parameter: bool) -> None:
        raise BadSvg(f"the entity &{name}; is not known in SVG: write the character itself", self.line)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > self.limits.elements:
            raise BadSvg(f"more than {self.limits.elements:,} elements", self.line)
        if len(self.open) >= self.limits.depth:
            raise BadSvg(f"elements are nested more than {self.limits.depth} deep", self.line)
        scope = self.scopes[-1]
        declared = {key[6:]: uri for key, uri in attributes.items() if key == "xmlns" or key.startswith("xmlns:")}
        if declared:
            scope = {**scope, **declared}
        self.scopes.append(scope)
        # Own attributes come first, so that href wins over xlink:href.
        named = sorted(attributes.items(), key=lambda item: ":" in item[0])
        own: dict[str, str] = {}
        for key, value in named:
            if key != "xmlns" and not key.startswith("xmlns:"):
                own.setdefault(self.resolve(key, scope, attribute=True), value)
        node = Node(self.resolve(name, scope), own, self.line)
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def resolve(self, name: str, scope: dict[str, str], attribute: bool = False) -> str:
        prefix, colon, local = name.rpartition(":")
        if attribute and not colon:
            return name
        uri = scope.get(prefix)
        if uri is None or not local:
            raise BadSvg(f"{name}: the prefix {prefix}: is not declared", self.line)
        if uri == XML and attribute:
            return f"xml:{local}"
        if uri == SVG or (uri == XLINK and attribute):
            return local
        return FOREIGN + name

    def end(self, name: str) -> None:
        self.open.pop()
        self.scopes.pop()

    def text(self, text: str) -> None:
        self.open[-1].children.append(text)


def write(node: Node) -> str:
    """The element as text; of equal trees always the same."""
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
