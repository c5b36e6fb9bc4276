"""Taking a list of labels apart: "the soma (cell body), axon and axon terminal"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .patterns import BRACKET, CARRIERS, COUNTS, GENERIC, OPENERS, PLACE, POSITIONS, QUANTIFIERS, STOPS

MAX_WORDS = 5
"""A phrase of more words is a description, not a label."""

LETTERS = 4
"""A label holds a word of at least this many letters before its absence can prove anything."""

_SEPARATOR = re.compile(r"\s*(?:,\s+(?:and/or |and |or )?|\s(?:and/or|and|or|&)\s|;\s)\s*")
_WORD = re.compile(r"[A-Za-zÀ-ž](?:[a-zß-ž]|['-][A-Za-zÀ-ž]?)*|[A-Z]+")
_SYMBOL = re.compile(r"[^\W\d_]?['\d]{0,4}[^\W_]?|\d+")
_ACRONYM = re.compile(r"[A-Z]{2,6}")
ARTICLES = frozenset({"a", "an", "the"})
VERBS = frozenset({"labeled", "labelled", "is", "are", "does", "do", "has", "have", "shown", "placed", "marked"})
_REMARK = re.compile(r"[A-Z]{3,}|[A-Za-z .-]*[a-z]{3}[A-Za-z .-]*|[A-Za-z]+/[\w·^]+")
_RANGE = re.compile(r"\d\s?[-–]\s?\d")
_MARK = "\x00"


@dataclass(frozen=True, slots=True)
class ListedLabel:
    """One thing of a list: its name, and other names given in brackets or after a slash."""

    text: str
    variants: tuple[str, ...] = ()


def items(phrase: str) -> list[ListedLabel | None]:
    """The labels of a list in words; None for each part that is no label.

    >>> items("the soma (cell body), axon and axes")
    [ListedLabel(text='soma', variants=('cell body',)), ListedLabel(text='axon', variants=()), None]
    >>> items("the two chambers (left atrium and right atrium)")
    [ListedLabel(text='left atrium', variants=()), ListedLabel(text='right atrium', variants=())]
    """
    inner = [m[1] for m in BRACKET.finditer(phrase)]
    masked = BRACKET.sub(_MARK, phrase)
    parts = [p for p in _SEPARATOR.split(masked) if p.strip(f" {_MARK}")]
    heads = [p.replace(_MARK, " ").split() for p in parts]
    if inner and all(map(_lists, inner)) and not any(is_symbol(head[-1]) for head in heads):
        # "the four chambers (left atrium, ...)": what stands outside the brackets only says what they list.
        listed = [item for text in inner for item in items(text)]
        counts = [COUNTS[word.lower()] for head in heads for word in head if word.lower() in COUNTS]
        complete = all(_MARK in p for p in parts) and (not counts or sum(counts) == len(listed))
        return listed if complete else [*listed, None]
    if len(parts) > 1 and _is_sign(heads[0][-1]) and all(_is_sign(" ".join(head)) for head in heads[1:]):
        # "the vertebrae L2, L3 and L4"
        parts[0] = heads[0][-1] + _MARK * parts[0].count(_MARK)
    brackets = iter(inner)
    return [_item(part, brackets) for part in parts]


def joined_by(phrase: str) -> str:
    """Whether a list is held together by "and", by "or", by both ("mixed") or by nothing ("")."""
    bare = f" {re.sub(r'[(),]', ' ', phrase)} ".replace(" and/or ", " or ").lower()
    both = (" and " in bare or " & " in bare, " or " in bare)
    return {(True, True): "mixed", (True, False): "and", (False, True): "or", (False, False): ""}[both]


def is_symbol(word: str) -> bool:
    """Whether a word is a letter, a number or a letter with an index, such as A, 12, x1 or B'."""
    return bool(word) and bool(_SYMBOL.fullmatch(word))


def names_something(text: str, variants: tuple[str, ...] = (), *, quoted: bool) -> bool:
    """Whether a label is so plain a name that OCR would read it and nothing else would stand for it."""
    words = [w for w in (w.strip("(),.:;!?") for w in text.replace("/", " ").split()) if w]
    if not any(len(w) >= LETTERS and _WORD.fullmatch(w) for w in words):
        return False
    if quoted:
        return True
    if not all(map(_REMARK.fullmatch, variants)) or all(map(_ACRONYM.fullmatch, words)):
        return False
    return all(_WORD.fullmatch(w) and w.lower() not in GENERIC | ARTICLES for w in words)


def upto_stop(phrase: str) -> str:
    """The phrase up to the first word that cannot be part of a label."""
    kept: list[str] = []
    for word in phrase.split():
        bare = word.strip("(),.;:").lower()
        if len(bare) > 1 and bare in VERBS and "and" in kept:
            # "labeled A and two windings labeled B": what follows the last "and" is no longer in the list.
            kept = kept[: len(kept) - 1 - kept[::-1].index("and")]
            break
        if (len(bare) > 1 and bare in STOPS) or _leaves_list(bare, kept):
            break
        kept.append(word)
        if word.endswith((";", ":", ".")):
            break
    while kept and kept[-1].strip(",").lower() in {"and", "or", "but", *ARTICLES}:
        kept.pop()
    return " ".join(kept).strip(" ,;:.")


def _leaves_list(word: str, kept: list[str]) -> bool:
    """Whether a word goes on with the sentence: "labeled A, B, spanning", "labeled P located"."""
    if not kept or kept[-1] in {"and", "or"}:
        return False
    return bool(re.fullmatch(r"\w{3,}ing" if kept[-1].endswith(",") else r"\w{4,}(?:ed|ly)", word))


def _is_sign(word: str) -> bool:
    return is_symbol(word) or bool(_ACRONYM.fullmatch(word))


def _lists(text: str) -> bool:
    return bool(_SEPARATOR.search(text)) and any(c.isalpha() for c in text)


def _item(part: str, brackets: Iterator[str]) -> ListedLabel | None:
    remarks = [next(brackets) for _ in range(part.count(_MARK))]
    words = part.replace(_MARK, " ").strip(" ,").split()
    if any(map(PLACE.fullmatch, remarks)) or _speaks_of_a_set(words):
        return None
    words = _without_openers(words)
    if len(words) > 2 and words[0].lower() in GENERIC and words[1] == "of" and not {"of", "the"} & set(words[2:]):
        # "the regions of wet steam"
        words = words[2:]
    if len(words) > 1 and words[0].lower() in CARRIERS and all(is_symbol(w) for w in words[1:]):
        words.pop(0)
    lower = [w.lower() for w in words]
    if not words or len(words) > MAX_WORDS or any(w in STOPS and len(w) > 1 for w in lower):
        return None
    if all(w in GENERIC or w in POSITIONS for w in words) or re.fullmatch(r"\w{3,}ly", " ".join(lower)):
        return None
    name, *others = _alternatives(" ".join(words))
    variants = [v.strip() for v in (*others, *remarks) if len(v.split()) <= MAX_WORDS]
    return ListedLabel(name.strip(), tuple(v for v in variants if v))


def _alternatives(name: str) -> list[str]:
    """The names of "food/glucose"; La/R and I/O stay whole."""
    names = name.split("/")
    return names if all(len(n.strip()) >= LETTERS for n in names) else [name]


def _without_openers(words: list[str]) -> list[str]:
    while words and words[0].lower() in OPENERS and (len(words) > 1 or len(words[0]) > 1):
        words = words[1:]
    return words


def _speaks_of_a_set(words: list[str]) -> bool:
    """Whether a phrase speaks of a set ("all four surfaces", "periods 1-7") instead of naming its members."""
    if words and words[0].lower() in QUANTIFIERS and not is_symbol(words[-1]):
        return True
    return bool(_RANGE.search(" ".join(words)))
