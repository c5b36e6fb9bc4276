"""Forms of one word: singular and plural, a Greek letter and its name, and letters that OCR takes for one another."""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import fuzz

from .patterns import GREEK, LOOKS, PLURALS
from .spelling import slips, tokens

STEM = 3
"""The least that a word has before a plural s; before an ending that is changed, one letter less will do."""

LIKE = 75
"""Similarity (0-100) of two words' outlines from which one may be a misreading of the other."""

_INDEX = re.compile(r"[\d'+-]*")


def same_word(one: str, other: str) -> bool:
    """Whether two words in plain form are singular and plural of the same one, or equal.

    >>> same_word("pits", "pit"), same_word("nucleus", "nuclei"), same_word("axis", "axes"), same_word("ion", "iron")
    (True, True, True, False)
    """
    if one == other:
        return True
    pairs = ((one, other), (other, one))
    return any(
        a.endswith(single) and b == a[: len(a) - len(single)] + plural and len(a) - len(single) >= STEM - bool(single)
        for single, plural in PLURALS
        for a, b in pairs
    )


def is_letter_of(seen: str, name: str) -> bool:
    """Whether a word is the Greek letter of this name, with or without an index: α1 for alpha."""
    letter = _letters().get(name)
    return letter is not None and seen.startswith(letter) and bool(_INDEX.fullmatch(seen[len(letter) :]))


@lru_cache(maxsize=1 << 14)
def outline(word: str) -> str:
    """A word with letters and pairs of letters that OCR takes for one another put as one.

    >>> outline("splicing") == outline("splldng")
    True
    """
    for seen, drawn in LOOKS:
        word = word.replace(seen, drawn)
    return word


def may_be(wanted: str, seen: str) -> bool:
    """Whether a word on a page may stand for the one that is looked for: another form of it, or misread."""
    if same_word(wanted, seen) or is_letter_of(seen, wanted):
        return True
    return len(seen) >= STEM and fuzz.ratio(outline(wanted), outline(seen)) >= LIKE


def form_slips(wanted: str, seen: str) -> int | None:
    """As `spelling.slips`, and singular and plural are the same word.

    >>> form_slips("cells", "cell"), form_slips("chloroplast", "chloropiast"), form_slips("alkane", "alkene")
    (0, 1, None)
    """
    return 0 if wanted.isalpha() and same_word(wanted, seen) else slips(wanted, seen)


@lru_cache(maxsize=1)
def _letters() -> dict[str, str]:
    """The names of Greek letters, and the letters in plain form."""
    return {name: "".join(tokens(letter)) for name, letter in GREEK.items()}
