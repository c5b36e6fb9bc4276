"""Where the words of the rules stand in a drawing: whole, misread by a letter or two, or glued to others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from .lookalikes import Letters, is_wide
from .rules import RuleWord, rules

GLUED = 9
"""A word of this many letters may be several that OCR read as one."""

SENTENCE = 14
"""A word of this many letters may be glued from words of which the first and the last are no part of a pattern."""

INNER_WORD = 4
"""Shorter words are not looked for inside others: they are everywhere."""

SHORT = 4
"""In words of this many letters a wrong one counts twice."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of a rule in a run of letters; `glued` where it begins or ends inside a longer word."""

    start: int
    end: int
    slips: int
    glued_start: bool = False
    glued_end: bool = False
    sentence: bool = False


Places = dict[str, list[WordMatch]]
"""A word's key -> where it stands."""


@cache
def _vocabulary() -> tuple[Mapping[str, tuple[RuleWord, ...]], Mapping[tuple[bool, int], tuple[str, ...]], int]:
    """Every word of every rule by its form; the forms by script and length; the greatest length."""
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
    """The words that `text` may be meant for, with how many letters are wrong."""
    from rapidfuzz import process  # Not before it is needed: most tables have no text to screen.
    from rapidfuzz.distance import Levenshtein

    forms, sizes, _ = _vocabulary()
    wide, length = is_wide(text[0]), len(text)
    found = [(word, 0) for word in forms.get(text, ())]
    for size in range(length - 2, length + 3) if length >= 4 else ():
        group = sizes.get((wide, size), ())
        for form, slips, _ in process.extract_iter(text, group, scorer=Levenshtein.distance, score_cutoff=2):
            # A wrong letter in a short word makes another word sooner than one in a long word.
            cost = int(slips) + (len(form) <= SHORT)
            found += [(word, cost) for word in forms[form] if 0 < slips <= word.slips]
    return tuple(found)


@lru_cache(maxsize=1 << 15)
def _inside(text: str) -> tuple[tuple[RuleWord, int], ...]:
    """The words that stand inside a longer one, and where."""
    forms, _, _ = _vocabulary()
    found = []
    for form, words in forms.items():
        if INNER_WORD <= len(form) < len(text) and not is_wide(form[0]):
            place = text.find(form)
            while place >= 0:
                found += [(word, place) for word in words]
                place = text.find(form, place + 1)
    return tuple(found)


def find_words(text: Letters) -> Places:
    """Where words of the rules stand."""
    *_, longest = _vocabulary()
    whole, words = text.text, text.words
    found: Places = {}
    for number, (start, first_end) in enumerate(words):
        for _, end in words[number:]:
            if end - start > longest + 2 and end > first_end:
                break
            for word, slips in _nearby(whole[start:end]):
                if _has_figures(word, text, start):
                    found.setdefault(word.key, []).append(WordMatch(start, end, slips))
        size = first_end - start
        if size >= GLUED:
            for word, place in _inside(whole[start:first_end]):
                begin, stop = start + place, start + place + len(word.form)
                if _has_figures(word, text, begin):
                    glued = (begin > start, stop < first_end)
                    found.setdefault(word.key, []).append(WordMatch(begin, stop, 0, *glued, size >= SENTENCE))
    return found


def _has_figures(word: RuleWord, text: Letters, start: int) -> bool:
    """Whether figures were read where the word has them; words with figures allow no slip, so places agree."""
    return all(text.all[start + place].figure for place, figure in enumerate(word.figures) if figure)
