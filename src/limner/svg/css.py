"""Style sheets and style attributes: simple rules with known properties stay, everything else goes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from .allowed import GEOMETRY, PROPERTIES, BadSvg, words
from .parse import Node
from .values import tidy

Declarations = list[tuple[str, str]]

_COMMENT = re.compile(r"""("[^"\n]*"|'[^'\n]*')|/\*.*?(?:\*/|\Z)""", re.DOTALL)
_PIECE = re.compile(r"""(?:[^;"']++|"[^"]*+"|'[^']*+'|["'])++""")
_PRELUDE = re.compile(r"""(?:[^{};"']++|"[^"]*+"|'[^']*+'|["'])*+""")
_BLOCK = re.compile(r"""(?:[^{}"']++|"[^"]*+"|'[^']*+'|["'])*+""")
_SELECTOR = re.compile(r"[\w\s.#*>+~:()-]+")
_ATTRIBUTE = re.compile(r"""\[[\w-]+(?:[~|^$*]?=(?:"[\w\s.#-]*"|'[\w\s.#-]*'|[\w-]+))?\]""")
_STRING = re.compile(r""""[^"]*"|'[^']*'""")
_PSEUDO = re.compile(r"::?[\w-]+(?:\([^)]*\))?")
_PLAIN_COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}|[A-Za-z]+|(?:rgb|hsl)a?\([^()]*\)")
_PASSING = words(
    """:hover :focus :active :visited :link :any-link :target :focus-within :focus-visible ::before ::after :before
    :after ::selection ::first-line ::first-letter"""
)
"""States and parts that a still picture has not."""


@dataclass(frozen=True)
class CssRule:
    """What a style sheet says about some elements."""

    selectors: tuple[str, ...]
    declarations: Declarations

    @cached_property
    def _last_parts(self) -> list[tuple[str, set[str], set[str]]]:
        """Element, classes and ids that the last part of each selector names."""
        found = []
        for selector in self.selectors:
            last = re.split(r"[\s>+~]+", re.sub(r":[\w-]+", "", _ATTRIBUTE.sub("", selector)))[-1]
            tag = re.match(r"[\w-]*", last)
            assert tag is not None
            found.append((tag[0], set(re.findall(r"\.([\w-]+)", last)), set(re.findall(r"#([\w-]+)", last))))
        return found

    def concerns(self, node: Node) -> bool:
        """Whether it may be meant: looks at the last part of each selector only, so it errs on the safe side."""
        classes, ids = node.attributes.get("class", "").split(), [node.attributes.get("id", "")]
        return any(
            tag in ("", node.name) and its_classes.issubset(classes) and its_ids.issubset(ids)
            for tag, its_classes, its_ids in self._last_parts
        )


def declarations(text: str, line: int | None, left_out: Counter[str]) -> Declarations:
    """The known properties in a ``name: value; …`` text, in order."""
    kept: Declarations = []
    boxed = False
    for piece in _PIECE.findall(_COMMENT.sub(lambda found: found[1] or " ", text)):
        name, colon, given = piece.partition(":")
        name = name.strip().lower()
        if name == "background":
            name = "background-color"
            if not _PLAIN_COLOUR.fullmatch(tidy("background", given, line)):
                continue
        if not (colon and given.strip()):
            continue
        if name in PROPERTIES or name in GEOMETRY:
            given = tidy(name, given, line)
            # Braces and quotes that are not closed could end a rule for one reader and not for another.
            if re.search(r"[{}@]", given) or re.search(r"[\"']", _STRING.sub("", given)):
                raise BadSvg(f"style: {name}: {given[:40]} is no value", line)
            kept.append((name, given))
        elif name == "vector-effect":
            left_out["vector-effect"] += 1
        elif name == "transform-box":
            boxed = "view" not in given
    if boxed and any(name == "transform" for name, _ in kept):
        raise BadSvg("style: transform-box is not drawn here; write transform with the centre itself", line)
    return kept


def parse_sheet(text: str, line: int | None, left_out: Counter[str]) -> list[CssRule]:
    """The rules of a style sheet.

    Raises:
        BadSvg: It is broken, or says something that would not be drawn.
    """
    text = _COMMENT.sub(lambda found: found[1] or " ", text)
    if "\\" in text:
        raise BadSvg("style: backslashes are not taken", line)
    rules: list[CssRule] = []
    at = 0
    while True:
        found = _PRELUDE.match(text, at)
        assert found is not None
        head, at = found[0].strip(), found.end() + 1
        stop = text[found.end() : at]
        if not stop and not head:
            return rules
        if head.startswith("@"):
            left_out[head.split()[0].split("(")[0].lower()[:20]] += 1
            at = _past_block(text, at, line) if stop == "{" else at
        elif stop != "{":
            raise BadSvg(f"style: {head[:40] or stop!r} is no rule; write selector {{ name: value; }}", line)
        else:
            at = _rule(text, at, head, line, rules, left_out)


def _rule(text: str, at: int, head: str, line: int | None, rules: list[CssRule], left_out: Counter[str]) -> int:
    body = _BLOCK.match(text, at)
    assert body is not None
    if text[body.end() : body.end() + 1] != "}":
        raise BadSvg(f"style: {head[:40]}: the rule is not closed, or another stands inside it", line)
    selectors = tuple(filter(None, (_selector(each, line) for each in head.split(","))))
    said = declarations(body[0], line, left_out)
    whole_picture = all(re.fullmatch(r"svg|\*|html|body", each) for each in selectors)
    if not whole_picture and selectors and (odd := [name for name, _ in said if name in GEOMETRY]):
        raise BadSvg(f"style: {head[:40]}: {odd[0]} is not drawn from a style sheet; write it as an attribute", line)
    said = [each for each in said if each[0] not in GEOMETRY]
    if selectors and said:
        rules.append(CssRule(selectors, said))
    return body.end() + 1


def _past_block(text: str, at: int, line: int | None) -> int:
    depth = 1
    while depth:
        block = _BLOCK.match(text, at)
        assert block is not None
        brace = text[block.end() : block.end() + 1]
        if not brace:
            raise BadSvg("style: a { is not closed", line)
        depth += 1 if brace == "{" else -1
        at = block.end() + 1
    return at


def _selector(text: str, line: int | None) -> str | None:
    """The selector as the renderer knows it; nothing where it speaks of what a still picture has not."""
    text = " ".join(text.split())
    plain = _ATTRIBUTE.sub("*", text)
    if not _SELECTOR.fullmatch(plain):
        raise BadSvg(f"style: {text[:40]!r} is no selector that is taken", line)
    for pseudo in _PSEUDO.findall(plain):
        if pseudo in _PASSING:
            return None
        if pseudo not in (":root", ":first-child"):
            raise BadSvg(f"style: {pseudo} is not drawn here; give the elements a class", line)
    return text.replace("svg:root", "svg").replace(":root", "svg")


def write_declarations(said: Declarations) -> str:
    """As a style attribute holds them."""
    return ";".join(f"{name}:{value}" for name, value in said)


def write_sheet(rules: list[CssRule]) -> str:
    """One rule a line."""
    return "\n".join(f"{', '.join(rule.selectors)} {{{write_declarations(rule.declarations)}}}" for rule in rules)
