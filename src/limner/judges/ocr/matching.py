"""Finding a label among the lines of text that OCR read in a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz import fuzz

from ...core.evidence import TextLine
from .forms import form_slips
from .layout import chains
from .spelling import EXACT_LENGTH, SIGN_LENGTH, allowed_slips, as_written, tokens

MAX_EXTRA_WORDS = 1
"""A line with more words than this beside the label mentions it, as a title or a sentence does, but is not it."""

PROSE_WORDS = 7
"""A line of this many words, and the lines above and below it, are running text."""

SURE = 0.7
"""Confidence below which a line proves nothing."""

NEAR_RATIO = 70
"""Similarity (0-100) from which a word may be a misread form of the label's."""

_NONE: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True)
class Span:
    """One line, or a few neighbouring lines read as one."""

    lines: tuple[TextLine, ...]

    @cached_property
    def text(self) -> str:
        """The words as read, line breaks shown as blanks."""
        return " ".join(line.text.strip() for line in self.lines)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The words in plain form."""
        return tokens(self.text)

    @cached_property
    def compact(self) -> str:
        """The plain form without blanks."""
        return "".join(self.tokens)


@dataclass(frozen=True)
class LabelMatch:
    """Where a label stands. `proof` is False where it is only mentioned in a sentence or read unsurely."""

    span: Span
    slips: int
    proof: bool


class Page:
    """The lines of one drawing, ready for looking up labels.

    Singular and plural are one word, and raised or lowered letters are read as if they stood on the line. With
    `mentions`, words in a title or in running text count as if they stood as a label.
    """

    def __init__(self, lines: Sequence[TextLine], mentions: bool = False) -> None:
        self._mentions = mentions
        self.lines = tuple(line for line in lines if tokens(line.text))
        self.spans = tuple(Span(tuple(self.lines[i] for i in run)) for run in chains(self.lines))
        wordy = {line for line in self.lines if len(tokens(line.text)) >= PROSE_WORDS}
        self._prose = {line for span in self.spans for line in span.lines if wordy.intersection(span.lines)}

    def find(self, label: str) -> LabelMatch | None:
        """The best place where the label stands, allowing for case, signs, line breaks and small slips."""
        wanted = tokens(label)
        places = [found for span in self.spans if wanted and (found := self._match(label, wanted, span))]
        return min(places, key=lambda f: (not f.proof, f.slips, len(f.span.tokens)), default=None)

    def nearest(self, label: str) -> tuple[str, float] | None:
        """The line most like the label, with its similarity from 0 to 100."""
        wanted = "".join(tokens(label))
        scored = ((span.text, fuzz.ratio(wanted, span.compact)) for span in self.spans)
        return max(scored, key=lambda item: item[1], default=None)

    def hints(
        self, label: str, ignored: frozenset[str] = frozenset(), synonyms: Mapping[str, Sequence[str]] = _NONE
    ) -> str | None:
        """A line that may stand for the label although it does not spell it: one of its words, its initials.

        Args:
            label: What is looked for.
            ignored: Words too common to hint at anything.
            synonyms: Names and what else may stand for them.

        Returns:
            The text of such a line, or None when nothing on the page points to the label.
        """
        words = tokens(label)
        other = {tokens(word) for name, more in synonyms.items() if name in " ".join(words) for word in more}
        telling = [w for w in words if w not in ignored] or list(words)
        initials = "".join(w[0] for w in words)
        for span in self.spans:
            if any(_contains(span.tokens, sought) for sought in other):
                return span.text
            if len(words) > 1 and len(initials) > 1 and initials in span.tokens:
                return span.text
            if any(_hints(word, span) for word in telling):
                return span.text
        return None

    def _match(self, label: str, wanted: tuple[str, ...], span: Span) -> LabelMatch | None:
        count = _aligned(wanted, span)
        if count is None and span.compact == "".join(wanted):
            count = 0
        if count is None:
            return None
        if len("".join(wanted)) <= SIGN_LENGTH:
            # (a) counts panels, A names a point.
            stands = as_written(span.text) == as_written(label)
        else:
            # Numbers and letters that count labels ("2. Specimen") are no words.
            extra = sum(len(token) > 1 for token in span.tokens) - sum(len(token) > 1 for token in wanted)
            alone = extra <= MAX_EXTRA_WORDS and not any(line in self._prose for line in span.lines)
            stands = alone or self._mentions
        return LabelMatch(span, count, stands and all(line.confidence >= SURE for line in span.lines))


def _aligned(wanted: tuple[str, ...], span: Span) -> int | None:
    """The slips of the best place for the words in the span, starting and ending at word boundaries."""
    label, size = "".join(wanted), len(wanted)
    best: int | None = None
    for start in range(len(span.tokens) - size + 1):
        pairs = zip(wanted, span.tokens[start : start + size], strict=True)
        counts = [form_slips(a, b) for a, b in pairs]
        total = sum(c for c in counts if c is not None)
        if None not in counts and total <= allowed_slips(len(label)) and (best is None or total < best):
            best = total
    if best is None and len(label) > EXACT_LENGTH and _stands_in(label, span):
        best = 0
    return best


def _stands_in(label: str, span: Span) -> bool:
    """Whether the label stands in the span when blanks do not count, from one word boundary to another."""
    edges, at = {0}, 0
    for token in span.tokens:
        at += len(token)
        edges.add(at)
    start = span.compact.find(label)
    while start >= 0:
        if start in edges and start + len(label) in edges:
            return True
        start = span.compact.find(label, start + 1)
    return False


def _contains(words: tuple[str, ...], sought: tuple[str, ...]) -> bool:
    return any(words[i : i + len(sought)] == sought for i in range(len(words) - len(sought) + 1))


def _hints(word: str, span: Span) -> bool:
    if len(word) <= EXACT_LENGTH:
        return any(word in seen and len(seen) <= len(word) + 2 for seen in span.tokens)
    if word in span.compact:
        return True
    for seen in span.tokens:
        if len(seen) >= EXACT_LENGTH and (fuzz.ratio(word, seen) >= NEAR_RATIO or seen[:4] == word[:4]):
            return True
        # An abbreviation: temp for temperature, or the initial alone as the whole line.
        if word.startswith(seen) and (len(seen) > 1 or len(span.tokens) == 1):
            return True
    return fuzz.partial_ratio(word, span.compact) >= 100 - 10 * allowed_slips(len(word))
