"""A test for English by a text's letters and by each language's function words. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)
LATIN = ("LATIN", "GREEK", "MICRO", "OHM", "ANGSTROM", "DEGREE", "FEMININE", "MASCULINE", "MODIFIER", "DOUBLE-STRUCK")
"""The beginnings of the Unicode names of letters in English exams, including Greek ones in formulas."""
MIN_WORDS = 3
"""The fewest words needed to recognise a language."""


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
    text = " ".join(lines)
    kinds = [unicodedata.name(ch, "").split(" ")[0] for ch in text if ch.isalpha()]
    others = [kind for kind in kinds if kind not in LATIN]
    if len(others) >= 2 and len(others) > letters * len(kinds):
        return f"{len(others)} of {len(kinds)} letters are {max(set(others), key=others.count).title()}"
    words = [word.casefold() for word in _WORD.findall(text)]
    english = sum(word in SMALL_WORDS["English"] for word in words)
    for language, small in SMALL_WORDS.items():
        if language == "English":
            continue
        matches = [word for word in words if word in small]
        if len(matches) >= MIN_WORDS and len(set(matches)) >= 2 and len(matches) > 2 * english:
            some = sorted(set(matches))
            return f"{language} words: {', '.join(some[:5])}" + (" …" if len(some) > 5 else "")
    return None
