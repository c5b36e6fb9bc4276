"""Screening for words that address the examiner: requests for marks, orders to a judge, claims to be right.

A flag is a note for people. It changes no mark and no score.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..core.evidence import OCR, TextLine
from ..core.exam import Question
from ..core.protocol import Protocol
from ..store import Store
from ..store.records import Drawing, load_results
from ..store.schema import calls, evidence
from .screening_rules import (
    Letters,
    Pattern,
    PatternSlot,
    Places,
    ScreenRule,
    WordMatch,
    find_words,
    is_wide,
    letters,
    rules,
)

INNER_GAP = 8
"""The most other letters between two words that OCR glued into one."""
TOPIC = "topic"
"""The rule that counts only where no more specific one does."""
NEAR = 8
"""The distance in letters within which an ``unless`` word cancels a match."""


@dataclass(frozen=True)
class Flag:
    """Words that seem to be meant for the examiner.

    Attributes:
        rule: The kind of words: ``award``, ``ignore``, …
        language: The two-letter code of their language, such as ``en``.
        text: The words as they were read.
        lines: The indices of the lines that contain them.
        boxes: Left, top, right and bottom of these lines, in pixels.
    """

    rule: str
    language: str
    text: str
    lines: tuple[int, ...]
    boxes: tuple[tuple[float, float, float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the flag as a plain mapping."""
        return asdict(self)


def screen(lines: Sequence[TextLine]) -> list[Flag]:
    """Return flags for the words in these lines that address the examiner; at most one of a kind for the same lines.

    The lines are read in the given order, then column by column, and vertical ones also from side to side. Case,
    accents, blanks and punctuation are ignored, letters that look alike are treated as equal, and a letter or two may
    be wrong.
    """
    flags: dict[tuple[str, str], tuple[int, Flag]] = {}
    for text, places in _runs(lines):
        for rule in _candidate_rules(places):
            key = (rule.name, rule.language)
            if key not in flags and (match := _best_match(rule, lines, text, places)) is not None:
                flags[key] = match
    kept: list[Flag] = []
    for _, flag in sorted(flags.values(), key=lambda match: (match[1].rule == TOPIC, match[0])):
        # Words that several languages share raise one flag, in the language that fits them best.
        if not any(flag.rule in (other.rule, TOPIC) and not set(flag.lines).isdisjoint(other.lines) for other in kept):
            kept.append(flag)
    return sorted(kept, key=lambda flag: flag.lines)


def raises_flag(rule: ScreenRule, lines: Sequence[TextLine]) -> bool:
    """Return whether a rule finds something in these lines."""
    return any(_best_match(rule, lines, text, places) for text, places in _runs(lines))


def _runs(lines: Sequence[TextLine]) -> Iterator[tuple[Letters, Places]]:
    for run in [list(range(len(lines))), *columns(lines), *uprights(lines)]:
        text = letters(lines, run)
        if places := find_words(text):
            yield text, places


@cache
def _anchors() -> Mapping[str, frozenset[int]]:
    """Return a mapping from words to the numbers of the rules to try when the word is found.

    Each pattern is represented by the words of one required slot.
    """
    anchors: dict[str, set[int]] = {}
    for number, rule in enumerate(rules()):
        for pattern in rule.patterns:
            # The slot with the longest words, because these are rare: most drawings contain none, and need no search.
            for key in max(pattern.needed, key=lambda keys: min(map(len, keys))):
                anchors.setdefault(key, set()).add(number)
    return {key: frozenset(numbers) for key, numbers in anchors.items()}


def _candidate_rules(places: Places) -> list[ScreenRule]:
    """Return the rules that may match these words, in the order of the file."""
    anchors = _anchors()
    numbers = {number for key in places if key in anchors for number in anchors[key]}
    return [rules()[number] for number in sorted(numbers)]


def _best_match(rule: ScreenRule, lines: Sequence[TextLine], text: Letters, places: Places) -> tuple[int, Flag] | None:
    """Return the number of wrong letters and the flag of the rule's best match; None if nothing matches."""
    matches = min(_matches(rule, text, places), default=None)
    if matches is None:
        return None
    slips, start, end = matches
    spans: dict[int, tuple[int, int]] = {}
    for letter in text.all[start:end]:
        first, _ = spans.get(letter.line, (letter.place, 0))
        spans[letter.line] = (first, letter.place + 1)
    words = " ".join(lines[line].text[first:last] for line, (first, last) in spans.items())
    flag = Flag(rule.name, rule.language, words, tuple(spans), tuple(lines[line].bounds for line in spans))
    return slips, flag


def _matches(rule: ScreenRule, text: Letters, places: Places) -> Iterator[tuple[int, int, int]]:
    """Yield the number of wrong letters, the start and the end of each match of one of the rule's patterns."""
    for pattern in rule.patterns:
        if any(keys.isdisjoint(places) for keys in pattern.needed):
            continue
        for slips, start, end in _fitting(pattern, text, places):
            first, last = text.all[start].line, text.all[end - 1].line
            if pattern.one_line and first != last:
                continue
            near = _clamped_to_line(text, start - NEAR, first), _clamped_to_line(text, end + NEAR - 1, last)
            if not any(
                _is_word(matches, text) and matches.start <= near[1] and matches.end > near[0]
                for word in rule.unless
                for matches in places.get(word.key, ())
            ):
                yield slips, start, end


def _clamped_to_line(text: Letters, place: int, line: int) -> int:
    """Return the place, or the nearest one on the line."""
    on_line = [number for number, letter in enumerate(text.all) if letter.line == line]
    return min(max(place, on_line[0]), on_line[-1])


def _is_word(match: WordMatch, text: Letters) -> bool:
    """Return whether a match was read as words, not as spaced letters: "s c o r e" does not contain the word "or"."""
    inside = text.all[match.start : match.end]
    whole = not (match.slips or match.glued_start or match.glued_end)
    return whole and (is_wide(inside[0].form) or not all(letter.opens for letter in inside))


def _fitting(pattern: Pattern, text: Letters, places: Places) -> Iterator[tuple[int, int, int]]:
    if not pattern.span:
        yield from _extend(pattern.slots, text, places, None, 0, 0)
        return
    first, *others = pattern.slots
    for fillings in _unglued(first, places):
        # The first slot is fixed; each other one is filled with the best word, preferably close to the first.
        taken = [fillings]
        for slot in others:
            near = [
                other
                for other in _unglued(slot, places)
                if all(other.end <= filling.start or other.start >= filling.end for filling in taken)
            ]
            if not near:
                break
            taken.append(
                min(near, key=lambda other: (other.slips, max(other.start - fillings.end, fillings.start - other.end)))
            )
        start, end = min(filling.start for filling in taken), max(filling.end for filling in taken)
        slips = sum(filling.slips for filling in taken)
        if len(taken) == len(pattern.slots) and end - start <= pattern.span and slips <= _bearable(end - start):
            yield slips, start, end


def _unglued(slot: PatternSlot, places: Places) -> list[WordMatch]:
    matches = [matches for word in slot.words for matches in places.get(word.key, ())]
    return [match for match in matches if match.sentence or not (match.glued_start or match.glued_end)]


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
        for match in places.get(word.key, ()):
            if not _fits(match, slot, text, before):
                continue
            start = match.start if before is None else first
            if slips + match.slips <= _bearable(match.end - start):
                yield from _extend(rest, text, places, match, start, slips + match.slips)


def _bearable(length: int) -> int:
    """Return the number of wrong letters allowed in a match of this length."""
    return 1 + (length >= 12) + (length >= 24)


def _fits(match: WordMatch, slot: PatternSlot, text: Letters, before: WordMatch | None) -> bool:
    if slot.opens_line and match.start and text.all[match.start - 1].line == text.all[match.start].line:
        return False
    if slot.ends_line and match.end < len(text.all) and text.all[match.end].line == text.all[match.end - 1].line:
        return False
    if before is None:
        return not match.glued_start or match.sentence
    gap = match.start - before.end
    if not 0 <= gap <= slot.gap:
        return False
    if match.glued_start or before.glued_end:
        both = match.sentence or before.sentence
        return both or (match.glued_start and before.glued_end and gap <= INNER_GAP)
    return True


Flags = tuple[Flag, ...]


def screen_drawings(
    store: Store, drawings: Iterable[Drawing], questions: Mapping[str, Question[Any]], protocol: Protocol[Any]
) -> dict[str, Flags]:
    """Return the flags of each drawing by its id; drawings whose text has not been read are left out.

    If the question's own prompt or criteria contain words of a kind, such words raise no flag in its drawings.
    """
    done = [drawing for drawing in drawings if drawing.status == "done" and drawing.image]
    read = _lines_by_image(store, {drawing.image for drawing in done if drawing.image})
    asked: dict[str, frozenset[str]] = {}
    flagged: dict[str, Flags] = {}
    flags_by_drawing: dict[str, Flags] = {}
    for drawing in done:
        image, question = drawing.image or "", questions.get(drawing.question_hash)
        if image not in read:
            continue
        if image not in flagged:
            flagged[image] = tuple(flag for lines in read[image] for flag in screen(lines))
        flags = flagged[image]
        if flags and question is not None:
            if question.hash not in asked:
                asked[question.hash] = _rules_in_question(question, protocol)
            flags = tuple(flag for flag in flags if flag.rule not in asked[question.hash])
        flags_by_drawing[drawing.id] = flags
    return flags_by_drawing


def _rules_in_question(question: Question[Any], protocol: Protocol[Any]) -> frozenset[str]:
    """Return the kinds of words for which the question itself would be flagged."""
    texts = [question.prompt, *(criterion.text for criterion in protocol.criteria(question))]
    here = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    return frozenset(flag.rule for text in texts for flag in screen([TextLine(text, here, 1.0)]))


def _lines_by_image(store: Store, images: set[str]) -> dict[str, list[list[TextLine]]]:
    """Return each image's lines as read by each engine: those stored as evidence, else those in the call journal."""
    lines_by_image: dict[str, list[list[TextLine]]] = {}
    wanted = sorted(images)
    with store.reading() as connection:
        for start in range(0, len(wanted), 500):
            some = evidence.c.subject.in_(wanted[start : start + 500])
            query = sa.select(evidence.c.subject, evidence.c.value).where(some, evidence.c.name == OCR)
            for row in connection.execute(query.order_by(evidence.c.backend)):
                lines_by_image.setdefault(row.subject, []).append([TextLine.from_json(line) for line in row.value])
        engines = connection.scalars(
            sa.select(calls.c.target).where(calls.c.kind == "probe", calls.c.target.startswith(f"{OCR}/")).distinct()
        ).all()
    if not engines:
        return lines_by_image
    from ..calls import Request

    keys = {
        Request("probe", engine, {"image": image}).key: image
        for engine in sorted(engines)
        for image in wanted
        if image not in lines_by_image
    }
    for key, result in load_results(store, keys).items():
        lines = [TextLine.from_json(line) for line in result.get("lines", ())]
        lines_by_image.setdefault(keys[key], []).append(lines)
    return lines_by_image


Bounds = tuple[float, float, float, float]
REACH = 1.5
"""The greatest distance from a line to the next one below it, in line heights."""


def columns(lines: Sequence[TextLine]) -> list[list[int]]:
    """Return runs of two or more lines, each just below the one before, as indices into `lines`.

    A line is continued by the nearest line below it that overlaps it horizontally; if a wide line is above two columns,
    by the one that is better aligned with it. Runs of consecutive lines are left out, as they are read in order anyway.
    """
    after: dict[int, int] = {}
    taken: set[int] = set()
    bounds = [line.bounds for line in lines]
    by_top = sorted(range(len(lines)), key=lambda place: bounds[place][1])
    tops = [bounds[place][1] for place in by_top]
    pairs = []
    for upper, a in enumerate(bounds):
        reach = a[3] + REACH * (a[3] - a[1])
        for lower in by_top[bisect_right(tops, a[1]) : bisect_right(tops, reach)]:
            if (cost := _cost(a, bounds[lower])) is not None:
                pairs.append((cost, upper, lower))
    for _, upper, lower in sorted(pairs):
        if upper not in after and lower not in taken:
            after[upper] = lower
            taken.add(lower)
    runs = []
    for first in range(len(lines)):
        if first not in taken and first in after:
            run = [first]
            while run[-1] in after:
                run.append(after[run[-1]])
            if run != list(range(run[0], run[0] + len(run))):
                runs.append(run)
    return runs


def uprights(lines: Sequence[TextLine]) -> list[list[int]]:
    """Return the indices of vertical lines, once from left to right and once from right to left."""
    upright = (place for place, line in enumerate(lines) if line.is_upright)
    run = sorted(upright, key=lambda place: (lines[place].bounds[0], place))
    return [run, run[::-1]] if len(run) > 1 else []


def _cost(a: Bounds, b: Bounds) -> float | None:
    """Return the distance of b from the place where a would continue; None if b cannot continue a."""
    (al, at, ar, ab), (bl, bt, br, bb) = a, b
    height = min(ab - at, bb - bt)
    gap = bt - ab
    if height <= 0 or bt <= at or not -0.5 * height <= gap <= REACH * height:
        return None
    if min(ar, br) - max(al, bl) < 0.3 * min(ar - al, br - bl):
        return None
    aligned = min(abs(al - bl), abs(ar - br), abs(al + ar - bl - br) / 2)
    return max(gap, 0.0) + 0.5 * aligned
