"""The rules of `rules.toml`: patterns of words, in the order they must stand."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from .lookalikes import bare_letters, is_wide

GAP = 20
"""How many letters a bare ``~`` lets stand between two words."""


@dataclass(frozen=True)
class RuleWord:
    """One way to fill a slot, as bare letters."""

    form: str
    figures: tuple[bool, ...]
    """Which of its letters are figures, and stand only where figures were read."""

    @cached_property
    def key(self) -> str:
        """The form, marked where it has figures: a 1 and an l have one form and are not one word."""
        return "".join(letter + "#" * figure for letter, figure in zip(self.form, self.figures, strict=True))

    @property
    def slips(self) -> int:
        """How many letters may be wrong."""
        length = len(self.form)
        if any(self.figures):
            return 0
        return int(length >= 6) if is_wide(self.form[0]) else (length >= 4) + (length >= 8)


@dataclass(frozen=True)
class PatternSlot:
    """One place of a pattern: some word, after at most `gap` other letters."""

    words: tuple[RuleWord, ...]
    gap: int = 0
    optional: bool = False
    opens_line: bool = False
    ends_line: bool = False

    @cached_property
    def keys(self) -> frozenset[str]:
        """The words' keys."""
        return frozenset(word.key for word in self.words)


@dataclass(frozen=True)
class Pattern:
    """Slots in their order; or, where `span` is not 0, in any order within so many letters."""

    slots: tuple[PatternSlot, ...]
    span: int = 0
    one_line: bool = False

    @cached_property
    def needed(self) -> tuple[frozenset[str], ...]:
        """For each slot that must be filled, what can fill it."""
        return tuple(slot.keys for slot in self.slots if not slot.optional)


@dataclass(frozen=True)
class ScreenRule:
    """What to look for in one language.

    Attributes:
        patterns: Any of them raises a flag.
        unless: Words that make it innocent, inside or close by on the same lines.
    """

    name: str
    language: str
    patterns: tuple[Pattern, ...]
    unless: tuple[RuleWord, ...]
    hostile: tuple[str, ...]
    innocent: tuple[str, ...]


def _word(text: str) -> RuleWord:
    read = bare_letters(text.replace("_", " "))
    return RuleWord(read.text, tuple(letter.figure for letter in read.all))


def parse_pattern(text: str) -> Pattern:
    """A pattern as it is written in the file.

    Words of a slot are parted by ``|``, and ``_`` joins several words into one. ``~8`` between two slots lets
    eight other letters stand there, a bare ``~`` more. ``?`` before a slot makes it optional. ``^`` before the first
    slot holds it to the beginning of a line, ``$`` after the last to the end of one. ``&40`` at the beginning lets
    the slots stand in any order within 40 letters; ``=`` there holds all of it to one line.

    >>> [[word.form for word in slot.words] for slot in parse_pattern("give ~4 full_marks|top_marks").slots]
    [['give'], ['fuiimarks', 'topmarks']]
    """
    slots: list[PatternSlot] = []
    gap, span, opens, one_line = 0, 0, False, False
    for part in text.split():
        if part.startswith("~"):
            gap = int(part[1:]) if part[1:] else GAP
        elif part.startswith("&"):
            span = int(part[1:])
        elif part == "=":
            one_line = True
        elif part == "^":
            opens = True
        elif part == "$":
            slots[-1] = replace(slots[-1], ends_line=True)
        else:
            words = tuple(dict.fromkeys(map(_word, part.removeprefix("?").split("|"))))
            if not all(word.form for word in words):
                raise ValueError(f"a slot has a word without letters: {part!r} in {text!r}")
            slots.append(PatternSlot(words, gap, part.startswith("?"), opens))
            gap, opens = 0, False
    if not slots or slots[0].optional:
        raise ValueError(f"a pattern needs a first word: {text!r}")
    return Pattern(tuple(slots), span, one_line)


def _rule(body: dict[str, Any]) -> ScreenRule:
    return ScreenRule(
        body["name"],
        body["language"],
        tuple(map(parse_pattern, body["patterns"])),
        tuple(map(_word, body.get("unless", ()))),
        tuple(body["hostile"]),
        tuple(body["innocent"]),
    )


@cache
def rules() -> tuple[ScreenRule, ...]:
    """All rules, in the order of the file."""
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    return tuple(map(_rule, tomllib.loads(text)["rules"]))
