"""The words of a text: its language, and its content words without their endings. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ..core.schema import read_toml

_WORDS = re.compile(r"[^\W\d_]{2,}", re.UNICODE)
_SYMBOLS = {"Al", "As", "Au", "Co", "Er", "Es", "In", "La", "Na", "Ne", "No", "Os", "Po", "Se"}
"""Chemical elements whose symbols are words of a language, too."""
LATIN = ("LATIN", "GREEK", "MICRO", "OHM", "ANGSTROM", "DEGREE", "FEMININE", "MASCULINE", "MODIFIER", "DOUBLE-STRUCK")
"""The beginnings of the Unicode names of letters in English exams, including Greek ones in formulas."""
MIN_LETTERS = 3
"""The fewest letters of another script; OCR reads single signs as such letters."""
MIN_WORDS, SHARE = 4, 0.12
"""The fewest small words needed to recognise a language, and their share of all words: names of places have some."""


def _small_words() -> dict[str, frozenset[str]]:
    by_language = {}
    for line in (Path(__file__).parent / "small_words.txt").read_text(encoding="utf-8").splitlines():
        language, _, words = line.partition(":")
        by_language[language] = frozenset(words.split())
    return by_language


SMALL_WORDS = _small_words()


def why_not_english(lines: Iterable[str], letters: float = 0.1) -> str | None:
    """Return why these lines are not English; None if they are, or if there is too little text.

    Args:
        lines: The text as read.
        letters: The accepted share of letters of other scripts.

    >>> why_not_english(["Die Zelle und der Kern", "mit dem Chloroplasten", "wird von der Membran umgeben"])
    'German words: dem, der, die, mit, und …'
    >>> why_not_english(["Cell wall", "The nucleus of the cell"]) is None
    True
    """
    # Small and raised letters of formulas count as what they are.
    text = unicodedata.normalize("NFKC", " ".join(lines))
    # Single signs are often misread, such as a minus as a Chinese letter.
    kinds = [unicodedata.name(ch, "").split(" ")[0] for word in _WORDS.findall(text) for ch in word]
    others = [kind for kind in kinds if kind not in LATIN]
    if len(others) >= MIN_LETTERS and len(others) > letters * len(kinds):
        return f"{len(others)} of {len(kinds)} letters are {max(set(others), key=others.count).title()}"
    # Single letters and parts of formulas, such as x, Na3PO4 and Na, are no words.
    words = [word.casefold() for word in re.findall(r"\w+", text) if _WORDS.fullmatch(word) and word not in _SYMBOLS]
    english = sum(word in SMALL_WORDS["English"] for word in words)
    for language, small in SMALL_WORDS.items():
        if language == "English":
            continue
        matches = [word for word in words if word in small]
        if len(matches) >= max(MIN_WORDS, SHARE * len(words), 2 * english + 1) and len(set(matches)) >= 2:
            some = sorted(set(matches))
            return f"{language} words: {', '.join(some[:5])}" + (" …" if len(some) > 5 else "")
    return None


WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
VAGUE = frozenset((Path(__file__).parent / "vague_words.txt").read_text(encoding="utf-8").split())
"""Words that may refer to anything in a drawing."""
_MORE = "does do did a any both where what there also such only same them they been being may must should could if so"
PLAIN = SMALL_WORDS["English"] | frozenset(_MORE.split())
"""Words that occur in every text."""
QUOTED = re.compile(r"[\"“'‘][^\"”'’]{1,80}[\"”'’]")
"""Quoted words in a criterion: a label, which is not a separate demand."""
_ENDING = re.compile(r"(?:ing|ies|ed|es|ly|s|e|y)$")


def read_patterns(file: Path, table: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns in one table of a file by name."""
    patterns = read_toml(file)[table]
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
