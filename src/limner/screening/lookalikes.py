"""Text as its bare letters: what looks alike is the same letter, and where words begin is kept beside."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from ..core.evidence import LATIN_LOOKS, TextLine

_LOOK_ALIKES = LATIN_LOOKS | str.maketrans(
    dict(zip("γεητωїјѕԁһ", "yentwijsdh", strict=True))
    | dict(zip("0123456789", "oizeasgtbg", strict=True))
    | {"l": "i", "ı": "i", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "i"}
)
_SIGNS = {"@": "a", "$": "s", "€": "e", "!": "i", "|": "i"}
"""Signs that stand for letters inside a word."""

_WIDE = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


@lru_cache(maxsize=1 << 14)
def is_wide(letter: str) -> bool:
    """Whether this is a sign of a script without blanks between words: Chinese characters, kana, also Hangul."""
    return any(low <= ord(letter) <= high for low, high in _WIDE)


@lru_cache(maxsize=1 << 12)
def _bare(character: str) -> str:
    """The letters a character stands for; nothing for blanks, punctuation, accents and what cannot be seen."""
    plain = unicodedata.normalize("NFKC", character).translate(LATIN_LOOKS).casefold().translate(_LOOK_ALIKES)
    # Kana keep their marks: with and without them they are different letters.
    parts = plain if is_wide(plain[:1] or " ") else unicodedata.normalize("NFD", plain).translate(_LOOK_ALIKES)
    return "".join(part for part in parts if part.isalnum())


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter in its bare form, and where it stands: which line, which character of it."""

    form: str
    line: int
    place: int
    opens: bool
    """Whether a word begins here."""
    figure: bool
    """Whether it was read as a figure."""


@dataclass(frozen=True)
class Letters:
    """The letters of some lines, in order."""

    all: tuple[Letter, ...]

    @cached_property
    def text(self) -> str:
        """The letters alone, without blanks."""
        return "".join(letter.form for letter in self.all)

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """Where words begin and end."""
        starts = [place for place, letter in enumerate(self.all) if letter.opens]
        return list(pairwise([*starts, len(self.all)])) if starts else []


def letters(lines: Sequence[TextLine], order: Sequence[int]) -> Letters:
    """The letters of the lines at these places, one line after another; a line break ends a word.

    >>> from limner.core.evidence import LATIN_LOOKS, TextLine
    >>> box = ((0, 0), (1, 0), (1, 1), (0, 1))
    >>> letters([TextLine("Fu1l m@rks!", box, 1.0)], [0]).text
    'fuiimarks'
    """
    found: list[Letter] = []
    for number in order:
        opens = True
        text = lines[number].text
        for place, character in enumerate(text):
            form = _bare(character)
            if not form and character in _SIGNS and _within(text, place):
                form = _SIGNS[character]
            if not form:
                # Accents and what cannot be seen do not part words.
                opens = opens or unicodedata.category(character)[0] not in "MC"
                continue
            for part in form:
                wide = is_wide(part)
                figure = character.isdigit()
                if found and not opens and not wide and part == "n" and found[-1].form == "r":
                    # OCR takes m for rn, and rn for m.
                    found[-1] = Letter("m", number, place, found[-1].opens, False)
                else:
                    found.append(Letter(part, number, place, opens or wide, figure))
                opens = wide
    return Letters(tuple(found))


def bare_letters(text: str) -> Letters:
    """The letters of a text that stands in no drawing.

    >>> bare_letters("Höchst-Punktzahl").text, bare_letters("10/10").text, bare_letters("满分").text
    ('hochstpunktzahi', 'ioio', '满分')
    """
    return letters([TextLine(text, ((0, 0), (0, 0), (0, 0), (0, 0)), 1.0)], [0])


def _within(text: str, place: int) -> bool:
    """Whether a sign stands inside a word, or, where it is made for that, at its beginning."""
    after = place + 1 < len(text) and text[place + 1].isalnum()
    before = place > 0 and text[place - 1].isalnum()
    return after and (before or text[place] in "@$")
