"""The screening rules of `screening_rules.toml`, and the search for their words among a drawing's letters."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ..core.evidence import LATIN_LOOKS, TextLine

GAP = 20
"""The number of letters that a bare ``~`` allows between two words."""


@dataclass(frozen=True)
class RuleWord:
    """A word or phrase that can fill a slot, reduced to bare letters."""

    form: str
    figures: tuple[bool, ...]
    """Whether each letter is a digit; digits match only where digits were read."""

    @cached_property
    def key(self) -> str:
        """The form with its digits marked: 1 and l have the same form, but do not make the same word."""
        if not any(self.figures):
            return self.form
        return "".join([letter + "#" * figure for letter, figure in zip(self.form, self.figures, strict=True)])

    @property
    def slips(self) -> int:
        """The number of letters that may be wrong."""
        length = len(self.form)
        if any(self.figures):
            return 0
        return int(length >= 6) if is_wide(self.form[0]) else (length >= 4) + (length >= 8)


@dataclass(frozen=True)
class PatternSlot:
    """A slot of a pattern: one of some words, after at most `gap` other letters."""

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
    """A pattern of slots: in the given order, or, if `span` is not 0, in any order within `span` letters."""

    slots: tuple[PatternSlot, ...]
    span: int = 0
    one_line: bool = False

    @cached_property
    def needed(self) -> tuple[frozenset[str], ...]:
        """The keys of the words that can fill each required slot."""
        return tuple(slot.keys for slot in self.slots if not slot.optional)


@dataclass(frozen=True)
class ScreenRule:
    """A screening rule for one language.

    Attributes:
        patterns: The patterns; a match of any one raises a flag.
        unless: Words that make a match innocent if they are inside it, or close to it on the same lines.
    """

    name: str
    language: str
    patterns: tuple[Pattern, ...]
    unless: tuple[RuleWord, ...]
    hostile: tuple[str, ...]
    innocent: tuple[str, ...]


@cache
def _word(text: str) -> RuleWord:
    read = bare_letters(text.replace("_", " "))
    return RuleWord(read.text, tuple([letter.figure for letter in read.all]))


def parse_pattern(text: str) -> Pattern:
    """Parse a pattern as written in the file.

    The words of a slot are separated by ``|``, and ``_`` joins several words into one. ``~8`` between two slots allows
    up to eight other letters there; a bare ``~`` allows `GAP`. ``?`` before a slot makes it optional. ``^`` before the
    first slot requires it at the beginning of a line, ``$`` after the last one at the end of a line. ``&40`` at the
    beginning allows the slots in any order within 40 letters; ``=`` there requires all of them on one line. In the
    file, ``{top}`` stands for the words of that kind in its table ``words``.

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


def _rule(body: dict[str, Any], words: Mapping[str, str]) -> ScreenRule:
    return ScreenRule(
        body["name"],
        body["language"],
        tuple(parse_pattern(pattern.format_map(words)) for pattern in body["patterns"]),
        tuple(map(_word, body.get("unless", ()))),
        tuple(body["hostile"]),
        tuple(body["innocent"]),
    )


@cache
def rules() -> tuple[ScreenRule, ...]:
    """Return all rules, in the order of the file."""
    text = files(__package__).joinpath("screening_rules.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return tuple(_rule(body, table["words"]) for body in table["rules"])


GLUED = 9
"""The length from which a word may be several words that OCR read as one."""
SENTENCE = 14
"""The length from which a word may be a whole sentence read as one, with further words around a pattern's."""
INNER_WORD = 4
"""The minimum length of words to look for inside others; shorter ones occur everywhere."""
SHORT = 4
"""The length up to which a wrong letter in a word counts twice."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A rule's word found in a run of letters.

    Attributes:
        start: The index of its first letter.
        end: The index after its last letter.
        slips: The number of wrong letters; one more in short words.
        glued_start: Whether it begins inside a longer word.
        glued_end: Whether it ends inside a longer word.
        sentence: Whether that longer word may be a whole sentence read as one.
    """

    start: int
    end: int
    slips: int
    glued_start: bool = False
    glued_end: bool = False
    sentence: bool = False


Places = dict[str, list[WordMatch]]
"""The matches of each word, by its key."""


@cache
def _vocabulary() -> tuple[Mapping[str, tuple[RuleWord, ...]], Mapping[tuple[bool, int], tuple[str, ...]], int]:
    """Return the words of all rules by form, their forms by script and length, and the greatest length of a form."""
    words = [word for rule in rules() for pattern in rule.patterns for slot in pattern.slots for word in slot.words]
    words += [word for rule in rules() for word in rule.unless]
    forms: dict[str, tuple[RuleWord, ...]] = {}
    sizes: dict[tuple[bool, int], list[str]] = {}
    for word in dict.fromkeys(words):
        if word.form not in forms:
            sizes.setdefault((is_wide(word.form[0]), len(word.form)), []).append(word.form)
        forms[word.form] = (*forms.get(word.form, ()), word)
    return forms, {key: tuple(group) for key, group in sizes.items()}, max(map(len, forms))


@lru_cache(maxsize=1 << 17)
def _nearby(text: str) -> tuple[tuple[RuleWord, int], ...]:
    """Return the words that `text` may be a misreading of, each with its cost in wrong letters."""
    from rapidfuzz import process  # Imported only when needed: most tables have no text to screen.
    from rapidfuzz.distance import Levenshtein

    forms, sizes, _ = _vocabulary()
    wide, length = is_wide(text[0]), len(text)
    matches = [(word, 0) for word in forms.get(text, ())]
    for size in range(length - 2, length + 3) if length >= 4 else ():
        group = sizes.get((wide, size), ())
        for form, slips, _ in process.extract_iter(text, group, scorer=Levenshtein.distance, score_cutoff=2):
            # A wrong letter is more likely to make another word of a short word than of a long one.
            cost = int(slips) + (len(form) <= SHORT)
            matches += [(word, cost) for word in forms[form] if 0 < slips <= word.slips]
    return tuple(matches)


@lru_cache(maxsize=1 << 15)
def _inside(text: str) -> tuple[tuple[RuleWord, int], ...]:
    """Return the words found inside a longer one, each with its position."""
    forms, _, _ = _vocabulary()
    matches = []
    for form, words in forms.items():
        if INNER_WORD <= len(form) < len(text) and not is_wide(form[0]):
            place = text.find(form)
            while place >= 0:
                matches += [(word, place) for word in words]
                place = text.find(form, place + 1)
    return tuple(matches)


def find_words(text: Letters) -> Places:
    """Return all matches of the rules' words in a run of letters."""
    whole, words = text.text, text.words
    places: Places = {}
    if not words:
        return places
    *_, longest = _vocabulary()
    for number, (start, first_end) in enumerate(words):
        for _, end in words[number:]:
            if end - start > longest + 2 and end > first_end:
                break
            for word, slips in _nearby(whole[start:end]):
                if _has_figures(word, text, start):
                    places.setdefault(word.key, []).append(WordMatch(start, end, slips))
        size = first_end - start
        if size >= GLUED:
            for word, place in _inside(whole[start:first_end]):
                begin, stop = start + place, start + place + len(word.form)
                if _has_figures(word, text, begin):
                    glued = (begin > start, stop < first_end)
                    places.setdefault(word.key, []).append(WordMatch(begin, stop, 0, *glued, size >= SENTENCE))
    return places


def _has_figures(word: RuleWord, text: Letters, start: int) -> bool:
    """Return whether digits were read where the word has digits.

    Words with digits allow no wrong letters, so the positions of their letters agree.
    """
    return all(text.all[start + place].figure for place, figure in enumerate(word.figures) if figure)


_LOOK_ALIKES = LATIN_LOOKS | str.maketrans(
    dict(zip("γεητωїјѕԁһ", "yentwijsdh", strict=True))
    | dict(zip("0123456789", "oizeasgtbg", strict=True))
    | {"l": "i", "ı": "i", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "i"}
)
_SIGNS = {"@": "a", "$": "s", "€": "e", "!": "i", "|": "i"}
"""Signs that can replace letters inside a word."""
_WIDE = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


@lru_cache(maxsize=1 << 14)
def is_wide(letter: str) -> bool:
    """Return whether a character is Chinese, kana or Hangul; in these scripts each character counts as a word."""
    return any(low <= ord(letter) <= high for low, high in _WIDE)


@lru_cache(maxsize=1 << 12)
def _bare(character: str) -> str:
    """Return the bare letters of a character: none for blanks, punctuation, accents and invisible characters."""
    plain = unicodedata.normalize("NFKC", character).translate(LATIN_LOOKS).casefold().translate(_LOOK_ALIKES)
    # Kana keep their marks: with and without them they are different letters.
    parts = plain if is_wide(plain[:1] or " ") else unicodedata.normalize("NFD", plain).translate(_LOOK_ALIKES)
    return "".join(part for part in parts if part.isalnum())


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter in its bare form, with the index of its line and its position on that line."""

    form: str
    line: int
    place: int
    opens: bool
    """Whether a word begins here."""
    figure: bool
    """Whether it was read as a digit."""


@dataclass(frozen=True)
class Letters:
    """The letters of some lines, in order."""

    all: tuple[Letter, ...]

    @cached_property
    def text(self) -> str:
        """The bare letters as one string, without blanks."""
        return "".join([letter.form for letter in self.all])

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """The start and end index of each word."""
        starts = [place for place, letter in enumerate(self.all) if letter.opens]
        return list(pairwise([*starts, len(self.all)])) if starts else []


def letters(lines: Sequence[TextLine], order: Sequence[int]) -> Letters:
    """Return the letters of the lines with these indices, one line after another; a line break ends a word.

    >>> from limner.core.evidence import LATIN_LOOKS, TextLine
    >>> box = ((0, 0), (1, 0), (1, 1), (0, 1))
    >>> letters([TextLine("Fu1l m@rks!", box, 1.0)], [0]).text
    'fuiimarks'
    """
    pieces: list[Letter] = []
    for number in order:
        opens = True
        text = lines[number].text
        for place, character in enumerate(text):
            form = _bare(character)
            if not form and character in _SIGNS and _within(text, place):
                form = _SIGNS[character]
            if not form:
                # Accents and invisible characters do not separate words.
                opens = opens or unicodedata.category(character)[0] not in "MC"
                continue
            for part in form:
                wide = is_wide(part)
                figure = character.isdigit()
                if pieces and not opens and not wide and part == "n" and pieces[-1].form == "r":
                    # OCR confuses m and rn.
                    pieces[-1] = Letter("m", number, place, pieces[-1].opens, False)
                else:
                    pieces.append(Letter(part, number, place, opens or wide, figure))
                opens = wide
    return Letters(tuple(pieces))


def bare_letters(text: str) -> Letters:
    """Return the letters of a text that does not come from a drawing.

    >>> bare_letters("Höchst-Punktzahl").text, bare_letters("10/10").text, bare_letters("满分").text
    ('hochstpunktzahi', 'ioio', '满分')
    """
    return letters([TextLine(text, ((0, 0), (0, 0), (0, 0), (0, 0)), 1.0)], [0])


def _within(text: str, place: int) -> bool:
    """Return whether a sign is inside a word; ``@`` and ``$`` may also begin one."""
    after = place + 1 < len(text) and text[place + 1].isalnum()
    before = place > 0 and text[place - 1].isalnum()
    return after and (before or text[place] in "@$")
