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

GREEK: dict[str, str] = _TABLE["greek"]
UNITS: dict[str, list[str]] = _TABLE["units"]
PLURALS: tuple[tuple[str, str], ...] = tuple((a, b) for a, b in _TABLE["plurals"])
LOOKS: tuple[tuple[str, str], ...] = tuple((a, b) for a, b in _TABLE["looks"])
LISTING = frozenset(_WORDS["listing"])
WATERMARKS = frozenset(_WORDS["watermarks"])
PLACING = frozenset(_WORDS["geometry"]) | frozenset(_WORDS["placing"]) | POSITIONS
"""Words that ask where something stands, how it is drawn or how often."""

SLOT = "□"
"""Stands for the labels in a shell, a criterion with its labels taken out."""


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first."""
    return "(?:" + "|".join(re.escape(w).replace(r"\ ", " ") for w in sorted(words, key=len, reverse=True)) + ")"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PLAIN = rf"(?:{any_of(_WORDS['plain_adverbs'])} )*"
_MODIFIERS = rf"(?:{any_of(_WORDS['plain_adverbs'] + _WORDS['other_modifiers'])},? )*"
_THERE = rf"(?:{_PLAIN}{any_of(_WORDS['there'])},? (?:and )?)*"
DRAWING = any_of(_WORDS["drawings"])
_PLACE = rf"(?: (?:in|on) (?:the |each |this )?(?:\w+ )?{DRAWING})?"
LABELED = r"label(?:l?ed)"
_WRITING = r"(?:label|annotation|title|caption|heading|text|note|word|phrase)s?"

REFUSED = _compile(rf"\b{any_of(_WORDS['refuse'])}\b")
EXAMPLE = _compile(rf"(?:(?<=\W)|^){any_of(_WORDS['examples'])}(?=\W|$)")
OPEN_LABEL = _compile(rf"\b{LABELED}\b[^,;]{{0,20}}\(?\b(?:e\.g|for example|such as|like)\b")
"""The criterion gives only examples of what the label may say."""
CUE = _compile(rf"\b{any_of(_WORDS['cues'])}\b")
QUOTED = re.compile(r"""(?<![\w'"])(['"])(?=\S)(.+?)\1(?!\w)""")
BRACKET = re.compile(r"(?:(?<=\s)|^)\(([^()]+)\)")
"""A bracket that stands apart, unlike the one in f(x)."""
PLACE = _compile(
    rf"(?:(?:at|in|on) )?(?:the )?{any_of(_WORDS['position'])}(?:[ -](?:axis|side|panel|curve|of .*|the .*))?"
)
"""A remark on where a label stands, and not another name for it."""

AFTER_COLON = _compile(rf"\b{LABELED}\b[^:]*:(?P<list>[^:]+)$")
AFTER_LABELED = _compile(
    rf"(?P<before>\b\w+ )?\b(?:{LABELED}|annotated|titled) (?P<link>as |with |by )?"
    r"(?=(?P<list>(?!and |or |but |[^\w(])\S.*)$)"
)
GOES_ON = _compile(r" (?:in|to|for|from|per|by|between|at|\w+ed)\b")
LABEL_FOR = _compile(r"\blabels? for (?P<list>.+)$")
BEFORE_LABELED = _compile(
    rf"^(?:is|are) (?P<list>(?!there\b|these\b|those\b).+?) {_MODIFIERS}{LABELED}\b"
    r"(?! (?:at \d|from |with |as |by |to ))"
)
SHOWN_AND_LABELED = _compile(
    r"^(?:is|are) (?P<list>(?!there\b).+?) (?:shown|depicted|drawn|illustrated|represented|present|located|placed|"
    rf"positioned|indicated|included|visible)\b.*[ ,]and {_MODIFIERS}{LABELED}(?: by name| correctly)?$"
)
WITH_LABELED = _compile(rf"\bwith (?P<list>(?!these\b|those\b)(?:(?! with ).)+?) {_MODIFIERS}{LABELED}$")

SHELLS = tuple(
    _compile(pattern)
    for pattern in (
        rf"(?:is|are) {SLOT} {_THERE}{_PLAIN}{LABELED}{_PLACE}",
        rf"(?:is|are) (?:there )?(?:an? |the )?(?!each\b)(?:\w+ ){{0,3}}\w+ {_THERE}{_PLAIN}{LABELED} "
        rf"(?:as |with )?{SLOT}",
        rf"are (?:the|all|both)(?: of)?(?: the)? (?P<count>{any_of(COUNTS)} )?(?:\w+ )?\w+s "
        rf"{_PLAIN}{LABELED} (?:as |with |by )?{SLOT}{_PLACE}",
        rf"are there (?P<count>{any_of(COUNTS)}) {any_of(CARRIERS)} {_PLAIN}{LABELED} (?:as |with |by )?{SLOT}{_PLACE}",
        rf"is (?:the )?\w+ {_PLAIN}{LABELED} with the {_WRITING} {SLOT}",
        rf"(?:is|are) the (?:\w+ )?\w+ {SLOT} {_PLAIN}written{_PLACE}",
        rf"(?:is|are) the (?:\w+ )?{_WRITING} {SLOT} {_PLAIN}(?:present|included|shown|visible|written){_PLACE}",
        rf"is there an? {_WRITING} (?:for |of |reading |saying |that says |that reads )?{SLOT}{_PLACE}",
        rf"does the {DRAWING} (?:include|contain|have|show|carry) (?:(?:the|an?|clear) )?{_WRITING} "
        rf"(?:reading |for )?{SLOT}",
        rf"is the {DRAWING} {_PLAIN}(?:titled|labell?ed|captioned) (?:as |with )?{SLOT}",
        rf"are (?:the )?labels (?:for )?{SLOT} {_PLAIN}(?:present|included|shown|visible|written){_PLACE}",
        rf"does the {DRAWING} {_PLAIN}label {SLOT}",
        rf"does the {DRAWING} (?:include|contain|have|show) (?:the |two )?{any_of(CARRIERS)} {_PLAIN}{LABELED} "
        rf"(?:as |with )?{SLOT}",
    )
)
"""Whole criteria that ask for nothing but the words at the slot."""

_NOUN = r"(?:[\w'-]+ ){0,7}[\w'-]+"
_AS = r"(?:as |with |by )?(?:the )?"
WIDER_SHELLS = tuple(
    _compile(pattern)
    for pattern in (
        rf"(?:is|are) (?:there )?(?P<subject>{_NOUN}) {_THERE}{_PLAIN}{LABELED} {_AS}{SLOT}{_PLACE}",
        rf"are there (?P<count>\w+) (?:distinct |separate )?(?P<subject>{_NOUN}) {_PLAIN}{LABELED} {_AS}{SLOT}{_PLACE}",
        rf"does the {DRAWING} {_PLAIN}(?:include|contain|have|show|feature|display) (?P<subject>{_NOUN}) "
        rf"{_PLAIN}{LABELED} {_AS}{SLOT}{_PLACE}",
        rf"are (?:all )?(?:of )?the (?P<subject>{_NOUN}) {_THERE}{_PLAIN}{LABELED}{_PLACE}: ?{SLOT}",
        rf"are there (?P<count>\w+) (?:distinct |separate )?(?P<subject>{_NOUN}),? one {LABELED} {_AS}{SLOT},? and "
        rf"(?:one|another|the other) {LABELED} {_AS}{SLOT}{_PLACE}",
        rf"(?:is|are) (?:there )?(?P<subject>{_NOUN}) {LABELED} {_AS}{SLOT},? and (?P<other>{_NOUN}) {LABELED} {_AS}"
        rf"{SLOT}{_PLACE}",
        rf"(?:is there|does the {DRAWING} (?:include|have|show|contain)) an? (?:\w+ )?(?:legend|key) (?:that |which )?"
        rf"(?:identif(?:ies|ying)|list(?:s|ing)|nam(?:es|ing)|includ(?:es|ing)|for|with|label(?:s|ing)) "
        rf"(?:the )?(?:entries |labels )?{SLOT}",
    )
)
"""More such criteria: what is labeled may be told in more words."""
CALLED = _compile(rf"(?:is|are) (?P<list>.+?) {_PLAIN}{any_of(_WORDS['naming'])}{_PLACE}")
"""Criteria that ask for names in writing, though not for labels."""
MEMBERS = _compile(
    rf"are (?:all )?(?:of )?the {any_of(_WORDS['listing'])} {_NOUN} "
    rf"(?:{_THERE}{_PLAIN}{LABELED}|{_PLAIN}{any_of(_WORDS['there'])}){_PLACE}: ?(?P<list>[^:]+)"
)
"""Criteria that list the names of all members of a set behind a colon."""
VALUE = _compile(
    rf"(?:is|are) (?P<subject>{_NOUN}) {_PLAIN}(?:{LABELED}|{any_of(_WORDS['valued'])}) (?:as |with |to be |at )?"
    rf"(?:the )?(?:value |value of )?['\"]?(?P<value>[-+−]?\d[\d.,]* ?(?P<unit>[^\s'\"]{{1,12}}))['\"]?{_PLACE}"
)
"""Criteria that ask for a number with its unit in writing."""
FORMULA = _compile(
    rf"(?:is|are) the (?:[\w'-]+ ){{0,3}}{any_of(_WORDS['formulas'])} (?P<formula>.+?) {_PLAIN}"
    rf"(?:{LABELED}|{any_of(_WORDS['valued'])}|present|included|displayed|provided){_PLACE}"
)
"""Criteria that ask for a formula in writing."""
OF_A_SET = _compile(
    rf"(?:is|are) (?!there\b)(?:[a-z][a-z'-]+,? )+?{_PLAIN}{LABELED}(?: (?:in|on|with|by|for)(?: [a-z'-]+)+)?"
)
"""Criteria that ask for labels of a set without naming its members."""
OPEN_ENDS = tuple(
    (_compile(pattern), closed)
    for pattern, closed in (
        (
            rf"\b{LABELED} or (?:otherwise |clearly )?{any_of([*_WORDS['there'], *_WORDS['other_modifiers']])}\b",
            "labeled",
        ),
        (r",? \(?or (?:an? )?(?:similar|equivalent|analogous)(?: (?:wording|label|term|text|phrase|name))?s?\)?", ""),
    )
)
"""Ways to leave the wording open, and the criterion without them: the words given do prove it met."""

_STRAIGHT = str.maketrans({**dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟", '"'), "‑": "-", "\u00a0": " "})


def tidy(text: str) -> str:
    """Straight quotes, single blanks, no question mark at the end."""
    return " ".join(text.translate(_STRAIGHT).split()).rstrip(" ?.")


def without_examples(text: str) -> str:
    """The text without its examples: brackets that open with one go whole, others end the text there."""
    kept = BRACKET.sub(lambda m: "" if EXAMPLE.search(m[1]) else m[0], text)
    example = EXAMPLE.search(kept)
    return " ".join(kept[: example.start()].split()).rstrip(" ,(") if example else " ".join(kept.split())
