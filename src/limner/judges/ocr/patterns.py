"""The word lists of `words.toml` and the sentence patterns built from them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
_WORDS: dict[str, list[str]] = {name: words for name, words in _TABLE.items() if isinstance(words, list)}

GENERIC = frozenset(_WORDS["generic"])
OPENERS = frozenset(_WORDS["openers"])
STOPS = frozenset(_WORDS["stops"])
QUANTIFIERS = frozenset(_WORDS["quantifiers"])
COUNTS = {word: n for n, word in enumerate(_WORDS["counts"], 2)}
DRAWINGS = frozenset(_WORDS["drawings"])
POSITIONS = frozenset(_WORDS["position"])
SYNONYMS: dict[str, list[str]] = _TABLE["synonyms"]
CARRIERS = frozenset(_WORDS["carriers"])
DEMANDS = frozenset(_WORDS["other_modifiers"]) - set(_WORDS["there"]) - {"and", "or"} | {"exactly", "every"}
"""Words that ask for more than a label: how right it is, how it looks, how many there are."""

SLOT = "□"
"""Stands for the labels in a shell, a criterion with its labels taken out."""


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(re.escape(w).replace(r"\ ", " ") for w in sorted(words, key=len, reverse=True)) + ")"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PLAIN = rf"(?:{_any(_WORDS['plain_adverbs'])} )*"
_MODIFIERS = rf"(?:{_any(_WORDS['plain_adverbs'] + _WORDS['other_modifiers'])},? )*"
_THERE = rf"(?:{_PLAIN}{_any(_WORDS['there'])},? (?:and )?)*"
_DRAWING = _any(_WORDS["drawings"])
_PLACE = rf"(?: (?:in|on) (?:the |each |this )?(?:\w+ )?{_DRAWING})?"
_LABELED = r"label(?:l?ed)"
_WRITING = r"(?:label|annotation|title|caption|heading|text|note|word|phrase)s?"

REFUSED = _compile(rf"\b{_any(_WORDS['refuse'])}\b")
EXAMPLE = _compile(rf"(?:(?<=\W)|^){_any(_WORDS['examples'])}(?=\W|$)")
OPEN_LABEL = _compile(rf"\b{_LABELED}\b[^,;]{{0,20}}\(?\b(?:e\.g|for example|such as|like)\b")
"""The criterion gives only examples of what the label may say."""
CUE = _compile(rf"\b{_any(_WORDS['cues'])}\b")
QUOTED = re.compile(r"""(?<![\w'"])(['"])(?=\S)(.+?)\1(?!\w)""")
BRACKET = re.compile(r"(?:(?<=\s)|^)\(([^()]+)\)")
"""A bracket that stands apart, unlike the one in f(x)."""
PLACE = _compile(
    rf"(?:(?:at|in|on) )?(?:the )?{_any(_WORDS['position'])}(?:[ -](?:axis|side|panel|curve|of .*|the .*))?"
)
"""A remark on where a label stands, and not another name for it."""

AFTER_COLON = _compile(rf"\b{_LABELED}\b[^:]*:(?P<list>[^:]+)$")
AFTER_LABELED = _compile(
    rf"(?P<before>\b\w+ )?\b(?:{_LABELED}|annotated|titled) (?P<link>as |with |by )?"
    r"(?=(?P<list>(?!and |or |but |[^\w(])\S.*)$)"
)
GOES_ON = _compile(r" (?:in|to|for|from|per|by|between|at|\w+ed)\b")
LABEL_FOR = _compile(r"\blabels? for (?P<list>.+)$")
BEFORE_LABELED = _compile(
    rf"^(?:is|are) (?P<list>(?!there\b|these\b|those\b).+?) {_MODIFIERS}{_LABELED}\b"
    r"(?! (?:at \d|from |with |as |by |to ))"
)
SHOWN_AND_LABELED = _compile(
    r"^(?:is|are) (?P<list>(?!there\b).+?) (?:shown|depicted|drawn|illustrated|represented|present|located|placed|"
    rf"positioned|indicated|included|visible)\b.*[ ,]and {_MODIFIERS}{_LABELED}(?: by name| correctly)?$"
)
WITH_LABELED = _compile(rf"\bwith (?P<list>(?!these\b|those\b)(?:(?! with ).)+?) {_MODIFIERS}{_LABELED}$")

SHELLS = tuple(
    _compile(pattern)
    for pattern in (
        rf"(?:is|are) {SLOT} {_THERE}{_PLAIN}{_LABELED}{_PLACE}",
        rf"(?:is|are) (?:there )?(?:an? |the )?(?!each\b)(?:\w+ ){{0,3}}\w+ {_THERE}{_PLAIN}{_LABELED} "
        rf"(?:as |with )?{SLOT}",
        rf"are (?:the|all|both)(?: of)?(?: the)? (?P<count>{_any(COUNTS)} )?(?:\w+ )?\w+s "
        rf"{_PLAIN}{_LABELED} (?:as |with |by )?{SLOT}{_PLACE}",
        rf"are there (?P<count>{_any(COUNTS)}) {_any(CARRIERS)} {_PLAIN}{_LABELED} (?:as |with |by )?{SLOT}{_PLACE}",
        rf"is (?:the )?\w+ {_PLAIN}{_LABELED} with the {_WRITING} {SLOT}",
        rf"(?:is|are) the (?:\w+ )?\w+ {SLOT} {_PLAIN}written{_PLACE}",
        rf"(?:is|are) the (?:\w+ )?{_WRITING} {SLOT} {_PLAIN}(?:present|included|shown|visible|written){_PLACE}",
        rf"is there an? {_WRITING} (?:for |of |reading |saying |that says |that reads )?{SLOT}{_PLACE}",
        rf"does the {_DRAWING} (?:include|contain|have|show|carry) (?:(?:the|an?|clear) )?{_WRITING} "
        rf"(?:reading |for )?{SLOT}",
        rf"is the {_DRAWING} {_PLAIN}(?:titled|labell?ed|captioned) (?:as |with )?{SLOT}",
        rf"are (?:the )?labels (?:for )?{SLOT} {_PLAIN}(?:present|included|shown|visible|written){_PLACE}",
        rf"does the {_DRAWING} {_PLAIN}label {SLOT}",
        rf"does the {_DRAWING} (?:include|contain|have|show) (?:the |two )?{_any(CARRIERS)} {_PLAIN}{_LABELED} "
        rf"(?:as |with )?{SLOT}",
    )
)
"""Whole criteria that ask for nothing but the words at the slot."""

_STRAIGHT = str.maketrans({**dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟", '"'), "‑": "-", "\u00a0": " "})


def tidy(text: str) -> str:
    """Straight quotes, single blanks, no question mark at the end."""
    return " ".join(text.translate(_STRAIGHT).split()).rstrip(" ?.")


def without_examples(text: str) -> str:
    """The text without its examples: brackets that open with one go whole, others end the text there."""
    kept = BRACKET.sub(lambda m: "" if EXAMPLE.search(m[1]) else m[0], text)
    example = EXAMPLE.search(kept)
    return " ".join(kept[: example.start()].split()).rstrip(" ,(") if example else " ".join(kept.split())
