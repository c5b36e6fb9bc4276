"""The search for labels among the lines of text that OCR read in a drawing."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from ...core.evidence import LATIN_LOOKS, Position, TextLine

TABLES: dict[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
"""The word lists of the examiner."""

GENERIC = frozenset(TABLES["generic"])

SIGN_LENGTH = 2
"""The most characters in a sign: a label such as the letter of a point or the number of a state."""

EXACT_LENGTH = 4
"""The length up to which words must match exactly, and their absence proves nothing."""

SLIP_LENGTHS = (5, 10)
"""The lengths from which a label may differ by one edit, and by two."""

STEM = 3
"""The minimum letters before a plural s; one fewer before an ending that changes, as in axis and axes."""

MAX_PARTS = 3
"""The most lines that a label may be broken over."""

MAX_EXTRA_WORDS = 1
"""The most further words on a label's line; a line with more, such as a title or sentence, only mentions the label."""

PROSE_WORDS = 7
"""The number of words from which a line is running text, together with its neighbouring lines."""

SURE = 0.7
"""The confidence below which a line proves nothing."""

NEAR_RATIO = 70
"""The similarity (0-100) from which a word may be a misreading of a label's word."""

LOOK_ALIKES = ("il1tfj", "ce", "co", "nhmr", "uvy", "gq", "bh", "a4", "s5", "z2", "wv")
"""Groups of letters that OCR confuses; any other substitution (alkane, alkene) may make a different word."""

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("‘’‚‛′ʹʼ`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("×✕✖⨯", "x"),
        **dict.fromkeys("ºᵒ˚", "°"),
        **dict.fromkeys("·⋅", "."),
        **dict.fromkeys("_{}^", ""),
        "∆": "Δ",
        "♯": "#",
        "ß": "b",
        "∼": "~",
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

Frame = tuple[float, float, float, float]
"""The start and end of a line along its text, and its upper and lower edge."""


@lru_cache(maxsize=1 << 16)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words, numbers and signs of a text in plain form.

    >>> tokens("Young’s  modulus (Ｅ₂)")
    ('youngs', 'modulus', 'e2')
    >>> tokens("-70 mV, 7mm, a' and RealGDP, 'Sea'")
    ('-70', 'mv', '7', 'mm', "a'", 'and', 'realgdp', 'sea')
    """
    # Signs are replaced first: NFKC would split a degree sign or a spacing accent.
    plain = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS).translate(LATIN_LOOKS)
    plain = _CAMEL.sub(" ", plain).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFD", plain) if not unicodedata.combining(c))
    plain = _IN_QUOTES.sub(r"\1", _INNER_APOSTROPHE.sub("", plain.translate(LATIN_LOOKS)))
    return tuple(filter(_says_something, _TOKEN.findall(_DIGIT_LETTER.sub(r"\1 ", plain))))


def as_written(text: str) -> str:
    """Return a sign or formula in linear form: without blanks and marks of super- or subscripts, its case kept.

    >>> as_written("D^{H}") == as_written("Dᴴ"), as_written("x_1") == as_written("x₁"), as_written("p") == "P"
    (True, True, False)
    """
    return "".join(unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS).split())


def _says_something(token: str) -> bool:
    """Return whether a token is a word, a number or a mathematical sign, and not punctuation, an arrow or a bullet."""
    if token[-1].isalnum() or len(token) > 1 or token in _KEPT_PUNCTUATION:
        return True
    return unicodedata.category(token) in {"Sm", "Sc", "So"} and not _ORNAMENT.match(token)


def allowed_slips(length: int) -> int:
    """Return the number of edits allowed in a label of this many characters."""
    return sum(length >= least for least in SLIP_LENGTHS)


def slips(wanted: str, seen: str) -> int | None:
    """Return the number of edits between two words if they may be due to misreading; None for different words.

    Never accepted are edits of digits, Roman numerals or the first letter (ethane, methane), a letter replaced by one
    that does not look like it (alkane, alkene), an insertion together with a deletion (intra-, inter-), and any edit
    in words of at most `EXACT_LENGTH` characters. Singular and plural count as equal.

    >>> slips("chloroplast", "chloropiast"), slips("alkane", "alkene"), slips("cell", "cells")
    (1, None, 0)
    """
    if wanted == seen or (wanted.isalpha() and same_word(wanted, seen)):
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


def same_word(word: str, other: str) -> bool:
    """Return whether two words in plain form are singular and plural of one word.

    >>> same_word("pits", "pit"), same_word("nucleus", "nuclei"), same_word("axis", "axes"), same_word("ion", "iron")
    (True, True, True, False)
    """
    return any(
        a.endswith(single) and b == a[: len(a) - len(single)] + plural and len(a) - len(single) >= STEM - bool(single)
        for single, plural in TABLES["plurals"]
        for a, b in ((word, other), (other, word))
    )


@lru_cache(maxsize=1 << 14)
def outline(word: str) -> str:
    """Return a word in which letters and pairs of letters that OCR confuses are replaced by a common form.

    >>> outline("splicing") == outline("splldng")
    True
    """
    for seen, drawn in TABLES["looks"]:
        word = word.replace(seen, drawn)
    return word


@dataclass(frozen=True)
class Span:
    """One line, or a few neighbouring lines read as one."""

    lines: tuple[TextLine, ...]

    @cached_property
    def text(self) -> str:
        """The text as read, with blanks for line breaks."""
        return " ".join(line.text.strip() for line in self.lines)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The words in plain form."""
        return tokens(self.text)

    @cached_property
    def compact(self) -> str:
        """The plain form without blanks."""
        return "".join(self.tokens)

    @cached_property
    def centre(self) -> Position:
        """The middle of the box around all lines."""
        lefts, tops, rights, bottoms = zip(*(line.bounds for line in self.lines), strict=True)
        return (min(lefts) + max(rights)) / 2, (min(tops) + max(bottoms)) / 2


@dataclass(frozen=True)
class LabelMatch:
    """The place of a label. `proof` is False if it is only mentioned in a sentence, or read with low confidence."""

    span: Span
    slips: int
    proof: bool


class Page:
    """The lines of one drawing, prepared for looking up labels.

    Singular and plural count as equal, and super- and subscripts are read as ordinary letters. With `mentions`, words
    in a title or in running text count as labels too.
    """

    def __init__(self, lines: Sequence[TextLine], mentions: bool = False) -> None:
        self._mentions = mentions
        self.lines = tuple(line for line in lines if tokens(line.text))
        self.spans = tuple(Span(tuple(self.lines[i] for i in run)) for run in _chains(self.lines))
        wordy = {line for line in self.lines if len(tokens(line.text)) >= PROSE_WORDS}
        self._prose = {line for span in self.spans for line in span.lines if wordy.intersection(span.lines)}

    def find(self, label: str) -> LabelMatch | None:
        """Return the best place of the label; case, signs and line breaks may differ, and small slips are allowed."""
        wanted = tokens(label)
        places = [place for span in self.spans if wanted and (place := self._match(label, wanted, span))]
        return min(places, key=lambda place: (not place.proof, place.slips, len(place.span.tokens)), default=None)

    def nearest(self, label: str) -> str | None:
        """Return the text that is most similar to the label."""
        wanted = "".join(tokens(label))
        closest = max(self.spans, key=lambda span: fuzz.ratio(wanted, span.compact), default=None)
        return closest.text if closest else None

    def hints(self, label: str) -> str | None:
        """Return a text that may mean the label without spelling it out, such as one of its words or its initials."""
        words = tokens(label)
        others = {tokens(word) for name, more in TABLES["synonyms"].items() if name in " ".join(words) for word in more}
        telling = [word for word in words if word not in GENERIC] or list(words)
        initials = "".join(word[0] for word in words)
        for span in self.spans:
            if any(_contains(span.tokens, sought) for sought in others):
                return span.text
            if len(words) > 1 and initials in span.tokens:
                return span.text
            if any(_hints(word, span) for word in telling):
                return span.text
        return None

    def _match(self, label: str, wanted: tuple[str, ...], span: Span) -> LabelMatch | None:
        count = _aligned(wanted, span)
        if count is None:
            return None
        if len("".join(wanted)) <= SIGN_LENGTH:
            # "(a)" numbers a panel, "A" names a point.
            alone = as_written(span.text) == as_written(label)
        else:
            # Numbers and letters that number the labels ("2. Specimen") do not count as words.
            extra = sum(len(token) > 1 for token in span.tokens) - sum(len(token) > 1 for token in wanted)
            prose = any(line in self._prose for line in span.lines)
            alone = self._mentions or (extra <= MAX_EXTRA_WORDS and not prose)
        return LabelMatch(span, count, alone and all(line.confidence >= SURE for line in span.lines))


def _aligned(wanted: tuple[str, ...], span: Span) -> int | None:
    """Return the slips of the best match of the words in the span; matches begin and end at word boundaries."""
    label, size = "".join(wanted), len(wanted)
    if span.compact == label or (len(label) > EXACT_LENGTH and _is_within(label, span)):
        return 0
    totals = []
    for start in range(len(span.tokens) - size + 1):
        counts = list(map(slips, wanted, span.tokens[start : start + size]))
        totals += [sum(filter(None, counts))] if None not in counts else []
    return min((total for total in totals if total <= allowed_slips(len(label))), default=None)


def _is_within(label: str, span: Span) -> bool:
    """Return whether the label is in the span, apart from blanks, and begins and ends at word boundaries."""
    edges = {len("".join(span.tokens[:count])) for count in range(len(span.tokens) + 1)}
    return any(span.compact.startswith(label, start) and start + len(label) in edges for start in edges)


def _contains(words: tuple[str, ...], sought: tuple[str, ...]) -> bool:
    return any(words[i : i + len(sought)] == sought for i in range(len(words) - len(sought) + 1))


def _hints(word: str, span: Span) -> bool:
    if any(same_word(word, seen) for seen in span.tokens):
        return True
    if len(word) <= EXACT_LENGTH:
        return any(word in seen and len(seen) <= len(word) + 2 for seen in span.tokens)
    for seen in span.tokens:
        alike = max(fuzz.ratio(word, seen), fuzz.ratio(outline(word), outline(seen)))
        if len(seen) >= STEM and alike >= NEAR_RATIO:
            return True
        # An abbreviation: "temp" for "temperature", or only the initial as the whole line.
        if seen[:4] == word[:4] or (word.startswith(seen) and (len(seen) > 1 or len(span.tokens) == 1)):
            return True
    return fuzz.partial_ratio(word, span.compact) >= 100 - 10 * allowed_slips(len(word))


def _chains(lines: Sequence[TextLine]) -> Iterator[tuple[int, ...]]:
    """Yield every run of one to `MAX_PARTS` lines, as indices, in which each line follows the one before.

    Whether a line follows another depends on these two only: further lines never break a run.
    """
    frames = [_frames(line) for line in lines]
    follows = [[j for j, b in enumerate(frames) if i != j and _follows(a, b)] for i, a in enumerate(frames)]
    runs: list[tuple[int, ...]] = [(i,) for i in range(len(lines))]
    for _ in range(MAX_PARTS):
        yield from runs
        runs = [(*run, j) for run in runs for j in follows[run[-1]] if j not in run]


def _frames(line: TextLine) -> list[Frame]:
    """Return the box of a line for each possible direction of its text: two if it is vertical, else one."""
    left, top, right, bottom = line.bounds
    if line.is_upright:
        return [(top, bottom, -right, -left), (-bottom, -top, left, right)]
    return [(left, right, top, bottom)]


def _follows(a: Sequence[Frame], b: Sequence[Frame]) -> bool:
    """Return whether b may continue a: both horizontal or both vertical, and b just below a or close to its end."""
    return len(a) == len(b) and any(map(_goes_on, a, b))


def _goes_on(a: Frame, b: Frame) -> bool:
    (a_start, a_end, a_top, a_bottom), (b_start, b_end, b_top, b_bottom) = a, b
    low, high = sorted((a_bottom - a_top, b_bottom - b_top))
    if low <= 0 or high > 1.7 * low:
        return False
    shared = min(a_end, b_end) - max(a_start, b_start)
    under = -0.5 * low <= b_top - a_bottom <= 0.9 * low and shared >= 0.5 * min(a_end - a_start, b_end - b_start)
    level = min(a_bottom, b_bottom) - max(a_top, b_top) >= 0.6 * low
    return under or (level and -0.5 * low <= b_start - a_end <= 1.5 * low)
