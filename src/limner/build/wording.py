"""The content words of a text, without their endings. Pure functions."""

from __future__ import annotations

import re
from pathlib import Path

from ..core.schema import read_toml
from .languages import SMALL_WORDS

WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
VAGUE = frozenset((Path(__file__).parent / "vague_words.txt").read_text(encoding="utf-8").split())
"""Words that may refer to anything in a drawing."""
_MORE = "does do did a any both where what there also such only same them they been being may must should could if so"
PLAIN = SMALL_WORDS["English"] | frozenset(_MORE.split())
"""Words that occur in every text."""
QUOTED = re.compile(r"[\"“'‘][^\"”'’]{1,80}[\"”'’]")
"""Quoted words in a criterion: a label, which is not a separate demand."""
_ENDING = re.compile(r"(?:ing|ies|ed|es|ly|s|e|y)$")


def read_patterns(table: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of one table of ``patterns.toml`` by name."""
    patterns = read_toml(Path(__file__).with_name("patterns.toml"))[table]
    return {name: re.compile(text, re.IGNORECASE | re.VERBOSE) for name, text in patterns.items()}


def stem(word: str) -> str:
    """Return a word without its ending.

    >>> stem("labeled"), stem("labels"), stem("gas")
    ('label', 'label', 'gas')
    """
    return _ENDING.sub("", word) if len(word) > 4 else word


def stems(text: str, spare: frozenset[str] = VAGUE) -> set[str]:
    """Return the content words without their endings."""
    return {stem(word) for word in WORD.findall(text.casefold()) if word not in PLAIN and word not in spare}


def same_words(first: str, second: str, share: float = 0.85) -> bool:
    """Return whether two texts share nearly all their content words.

    >>> same_words("A red boat on the lake at dawn", "At dawn, a red boat on the lake.")
    True
    >>> same_words("A red boat on the lake", "A blue train in the hills")
    False
    """
    a, b = stems(first), stems(second)
    return len(a & b) >= share * len(a | b)
