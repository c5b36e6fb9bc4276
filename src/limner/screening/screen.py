"""Words in a drawing that speak to the examiner: asks for marks, orders to a judge, claims to be right.

A flag is a note for a person. It changes no mark and no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ..core.evidence import TextLine
from .lookalikes import Letters, is_wide, letters
from .reading_order import columns, uprights
from .rules import Pattern, PatternSlot, ScreenRule, rules
from .words import Places, WordMatch, find_words

INNER_GAP = 8
"""How many other letters may stand between two words glued into one."""

NEAR = 8
"""How many letters away a word still takes a match back."""


@dataclass(frozen=True)
class Flag:
    """Words that seem to be meant for the examiner.

    Attributes:
        rule: What kind of words: ``award``, ``ignore``, …
        language: Two letters, such as ``en``.
        text: The words as they were read.
        lines: Which lines they stand in, by their place among those given.
        boxes: Left, top, right and bottom of these lines, in pixels.
    """

    rule: str
    language: str
    text: str
    lines: tuple[int, ...]
    boxes: tuple[tuple[float, float, float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        return asdict(self)


def screen(lines: Sequence[TextLine]) -> list[Flag]:
    """What in these lines speaks to the examiner; at most one flag of a kind for the same lines.

    The lines are read in the order given, column by column, and where they stand upright from side to side. Case,
    accents, blanks and punctuation do not count, letters that look alike are the same, and a letter or two may be
    wrong.
    """
    flags: dict[tuple[str, str], tuple[int, Flag]] = {}
    for text, places in _runs(lines):
        for rule in _candidate_rules(places):
            key = (rule.name, rule.language)
            if key not in flags and (match := _best_match(rule, lines, text, places)) is not None:
                flags[key] = match
    kept: list[Flag] = []
    for _, flag in sorted(flags.values(), key=lambda match: match[0]):
        # Words that several languages share are one flag, in the language that fits them best.
        if not any(flag.rule == other.rule and not set(flag.lines).isdisjoint(other.lines) for other in kept):
            kept.append(flag)
    return sorted(kept, key=lambda flag: flag.lines)


def raises_flag(rule: ScreenRule, lines: Sequence[TextLine]) -> bool:
    """Whether this one rule finds something in these lines."""
    return any(_best_match(rule, lines, text, places) for text, places in _runs(lines))


def _runs(lines: Sequence[TextLine]) -> Iterator[tuple[Letters, Places]]:
    for run in [list(range(len(lines))), *columns(lines), *uprights(lines)]:
        text = letters(lines, run)
        if places := find_words(text):
            yield text, places


@cache
def _anchors() -> Mapping[str, frozenset[int]]:
    """Word -> the rules, by number, that have a pattern which cannot do without one of its kind."""
    found: dict[str, set[int]] = {}
    for number, rule in enumerate(rules()):
        for pattern in rule.patterns:
            # Long words are rare ones: most drawings have none, and are done with at once.
            for key in max(pattern.needed, key=lambda keys: min(map(len, keys))):
                found.setdefault(key, set()).add(number)
    return {key: frozenset(numbers) for key, numbers in found.items()}


def _candidate_rules(places: Places) -> list[ScreenRule]:
    """The rules that these words may raise, in the order of the file."""
    anchors = _anchors()
    numbers = {number for key in places if key in anchors for number in anchors[key]}
    return [rules()[number] for number in sorted(numbers)]


def _best_match(rule: ScreenRule, lines: Sequence[TextLine], text: Letters, places: Places) -> tuple[int, Flag] | None:
    """What fits one of the rule's patterns with the fewest wrong letters: how many, and the flag."""
    found = min(_matches(rule, text, places), default=None)
    if found is None:
        return None
    slips, start, end = found
    spans: dict[int, tuple[int, int]] = {}
    for letter in text.all[start:end]:
        first, _ = spans.get(letter.line, (letter.place, 0))
        spans[letter.line] = (first, letter.place + 1)
    words = " ".join(lines[line].text[first:last] for line, (first, last) in spans.items())
    flag = Flag(rule.name, rule.language, words, tuple(spans), tuple(lines[line].bounds for line in spans))
    return slips, flag


def _matches(rule: ScreenRule, text: Letters, places: Places) -> Iterator[tuple[int, int, int]]:
    """Wrong letters, start and end of everything that fits one of the rule's patterns."""
    for pattern in rule.patterns:
        if any(keys.isdisjoint(places) for keys in pattern.needed):
            continue
        for slips, start, end in _fitting(pattern, text, places):
            first, last = text.all[start].line, text.all[end - 1].line
            if pattern.one_line and first != last:
                continue
            near = _clamped_to_line(text, start - NEAR, first), _clamped_to_line(text, end + NEAR - 1, last)
            if not any(
                _is_word(found, text) and found.start <= near[1] and found.end > near[0]
                for word in rule.unless
                for found in places.get(word.key, ())
            ):
                yield slips, start, end


def _clamped_to_line(text: Letters, place: int, line: int) -> int:
    """The place, or the nearest to it that still stands on the line."""
    on_line = [number for number, letter in enumerate(text.all) if letter.line == line]
    return min(max(place, on_line[0]), on_line[-1])


def _is_word(found: WordMatch, text: Letters) -> bool:
    """Whether it was read as words: where letters are set apart, those of score hold an or."""
    inside = text.all[found.start : found.end]
    whole = not (found.slips or found.glued_start or found.glued_end)
    return whole and (is_wide(inside[0].form) or not all(letter.opens for letter in inside))


def _fitting(pattern: Pattern, text: Letters, places: Places) -> Iterator[tuple[int, int, int]]:
    if not pattern.span:
        yield from _extend(pattern.slots, text, places, None, 0, 0)
        return
    first, *others = pattern.slots
    for found in _unglued(first, places):
        # The first slot is held fast; of each other the nearest word that fits is taken.
        taken = [found]
        for slot in others:
            near = [
                other
                for other in _unglued(slot, places)
                if all(other.end <= one.start or other.start >= one.end for one in taken)
            ]
            if not near:
                break
            taken.append(
                min(near, key=lambda other: (other.slips, max(other.start - found.end, found.start - other.end)))
            )
        start, end = min(one.start for one in taken), max(one.end for one in taken)
        slips = sum(one.slips for one in taken)
        if len(taken) == len(pattern.slots) and end - start <= pattern.span and slips <= _bearable(end - start):
            yield slips, start, end


def _unglued(slot: PatternSlot, places: Places) -> list[WordMatch]:
    found = [found for word in slot.words for found in places.get(word.key, ())]
    return [one for one in found if one.sentence or not (one.glued_start or one.glued_end)]


def _extend(
    slots: Sequence[PatternSlot],
    text: Letters,
    places: Places,
    before: WordMatch | None,
    first: int,
    slips: int,
) -> Iterator[tuple[int, int, int]]:
    if not slots:
        if before is not None and (not before.glued_end or before.sentence):
            yield slips, first, before.end
        return
    slot, rest = slots[0], slots[1:]
    if slot.optional:
        yield from _extend(rest, text, places, before, first, slips)
    for word in slot.words:
        for found in places.get(word.key, ()):
            if not _fits(found, slot, text, before):
                continue
            start = found.start if before is None else first
            if slips + found.slips <= _bearable(found.end - start):
                yield from _extend(rest, text, places, found, start, slips + found.slips)


def _bearable(length: int) -> int:
    """How many wrong letters a stretch of this length may have."""
    return 1 + (length >= 12) + (length >= 24)


def _fits(found: WordMatch, slot: PatternSlot, text: Letters, before: WordMatch | None) -> bool:
    if slot.opens_line and found.start and text.all[found.start - 1].line == text.all[found.start].line:
        return False
    if slot.ends_line and found.end < len(text.all) and text.all[found.end].line == text.all[found.end - 1].line:
        return False
    if before is None:
        return not found.glued_start or found.sentence
    gap = found.start - before.end
    if not 0 <= gap <= slot.gap:
        return False
    if found.glued_start or before.glued_end:
        both = found.sentence or before.sentence
        return both or (found.glued_start and before.glued_end and gap <= INNER_GAP)
    return True
