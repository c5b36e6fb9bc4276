"""How words are compared: one plain form for what looks alike, and the slips that are forgiven."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

SIGN_LENGTH = 2
"""Labels of up to this many characters are signs: letters at points, numbers of states."""

EXACT_LENGTH = 4
"""Labels and words of up to this many characters must agree exactly."""

SLIP_LENGTHS = (5, 10)
"""A label of at least 5 characters may differ by one edit, of at least 10 by two."""

LOOK_ALIKES = ("il1tfj", "ce", "co", "nhmr", "uvy", "gq", "bh", "a4", "s5", "z2", "wv")
"""Letters OCR takes for one another; other substitutions (alkane, alkene) may be other words."""

_GREEK_CYRILLIC = str.maketrans(
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβικνορυχμАВЕКМНОРСТУХаеорсухі", "ABEZHIKMNOPTYXabikvopuxuABEKMHOPCTYXaeopcyxi"
)
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("‘’‚‛′ʹʼ`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("×✕✖⨯", "x"),
        **dict.fromkeys("ºᵒ˚", "°"),
        "∆": "Δ",
        "♯": "#",
        "ß": "b",
        "∼": "~",
        "·": ".",
        "⋅": ".",
        "_": "",
        "{": "",
        "}": "",
        "^": "",
    }
)
_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z][a-z]{2})")
_INNER_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_IN_QUOTES = re.compile(r"(?<!\w)'(?=\S)([^']*)(?<=\S)'(?!\w)")
_DIGIT_LETTER = re.compile(r"(?<![^\W_])(\d+)(?=[^\W\d_])")
_TOKEN = re.compile(r"(?<![^\W_])-?\d+(?:[.,]\d+)*(?![^\W\d_])|(?<![^\W_])[^\W_]{1,2}'+(?![^\W_])|[^\W_]+|[^\w\s]")
_KEPT_PUNCTUATION = "%&#"
_ORNAMENT = re.compile("[|~\u2190-\u21ff\u2500-\u25ff\u2700-\u27bf]")
_ROMAN = re.compile(r"[ivx]+")


@lru_cache(maxsize=1 << 16)
def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers and signs of a text in plain form.

    >>> tokens("Young’s  modulus (Ｅ₂)")
    ('youngs', 'modulus', 'e2')
    >>> tokens("-70 mV, 7mm, a' and RealGDP, 'Sea'")
    ('-70', 'mv', '7', 'mm', "a'", 'and', 'realgdp', 'sea')
    """
    # Signs go first: the compatibility form would tear a degree sign or a spacing accent apart.
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS).translate(_GREEK_CYRILLIC)
    plain = _CAMEL.sub(" ", plain).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    plain = _IN_QUOTES.sub(r"\1", _INNER_APOSTROPHE.sub("", plain.translate(_GREEK_CYRILLIC)))
    return tuple(filter(_says_something, _TOKEN.findall(_DIGIT_LETTER.sub(r"\1 ", plain))))


def as_written(text: str) -> str:
    """A sign or formula on one line, its case kept: no blanks, and no marks that raise or lower letters.

    >>> as_written("D^{H}") == as_written("Dᴴ"), as_written("x_1") == as_written("x₁"), as_written("p") == "P"
    (True, True, False)
    """
    return "".join(unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS).split())


def _says_something(token: str) -> bool:
    """Whether a token is a word, a number or a mathematical sign, and not punctuation, an arrow or a bullet."""
    if token[-1].isalnum() or len(token) > 1 or token in _KEPT_PUNCTUATION:
        return True
    return unicodedata.category(token) in {"Sm", "Sc", "So"} and not _ORNAMENT.match(token)


def allowed_slips(length: int) -> int:
    """How many edits a label of this many characters may differ by."""
    return sum(length >= least for least in SLIP_LENGTHS)


def slips(wanted: str, seen: str) -> int | None:
    """The number of forgivable edits between two words, or None where they are different words.

    Digits and Roman numerals are never forgiven, nor the first letter (ethane, methane), nor a letter put for
    one that does not look like it (alkane, alkene), nor one lost here and one won there (intra-, inter-), nor
    anything in words of `EXACT_LENGTH` or fewer characters.

    >>> slips("chloroplast", "chloropiast"), slips("alkane", "alkene"), slips("cell", "cells")
    (1, None, None)
    """
    if wanted == seen:
        return 0
    if len(wanted) <= EXACT_LENGTH or len(seen) < EXACT_LENGTH or wanted[0] != seen[0]:
        return None
    if not (wanted.isalpha() and seen.isalpha()) or _ROMAN.fullmatch(wanted) or _ROMAN.fullmatch(seen):
        return None
    edits = Levenshtein.editops(wanted, seen)
    replaced = [(wanted[edit.src_pos], seen[edit.dest_pos]) for edit in edits if edit.tag == "replace"]
    if len(edits) > allowed_slips(len(wanted)) or not all(_alike(a, b) for a, b in replaced):
        return None
    return None if {"insert", "delete"} <= {edit.tag for edit in edits} else len(edits)


def _alike(a: str, b: str) -> bool:
    return any(a in shape and b in shape for shape in LOOK_ALIKES)
