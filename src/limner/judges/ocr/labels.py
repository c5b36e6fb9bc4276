"""The labels a criterion demands: from one sentence about a drawing to the words that must stand in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from . import patterns
from .patterns import SLOT
from .phrases import is_symbol, items, joined_by, names_something, upto_stop
from .spelling import tokens

_SLOTS = re.compile(rf"{SLOT}(?:(?:,| and| or|/| &)+ ?(?:the )?{SLOT})+")


@dataclass(frozen=True, slots=True)
class Label:
    """Words that must stand in a drawing.

    Attributes:
        text: The label as the criterion writes it.
        variants: Other words the criterion allows for the same thing.
        firm: Whether the absence of the words proves anything. Not so for symbols, formulas and single letters,
            which OCR misses, and for descriptions, which a drawing may put otherwise.
    """

    text: str
    variants: tuple[str, ...] = ()
    firm: bool = False


@dataclass(frozen=True, slots=True)
class LabelClaim:
    """What a criterion says about the text in a drawing.

    Attributes:
        labels: What must be read.
        mode: Whether all labels must be there or any one will do.
        sufficient: Whether the criterion asks for nothing else, so that finding the labels proves it met.
        axes: For each label the axis it must stand at, ``x`` or ``y``, where the criterion says so.
        order: The way the labels must follow each other, as in `limner.judges.ocr.places.ORDERS`, where it is asked.
    """

    labels: tuple[Label, ...]
    mode: Literal["all", "any"]
    sufficient: bool
    axes: tuple[str, ...] = ()
    order: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the words prove: 1 met, 0 not met, None nothing; with the lines or the missing label."""

    value: int | None
    reason: str


def claim(text: str, asks_no_more: Callable[[str, list[Label]], bool]) -> LabelClaim | None:
    """Reads a criterion as a demand for labels.

    Args:
        text: One yes-or-no question about a drawing.
        asks_no_more: Whether the criterion around its labels asks for nothing else.

    Returns:
        The claim, or None where the criterion demands no label or leaves its wording open.

    >>> always = lambda shell, labels: True
    >>> [label.text for label in claim("Is a valve shown on the left and labeled 'Inlet valve'?", always).labels]
    ['Inlet valve']
    >>> claim("Is the curve smooth?", always) is None
    True
    """
    whole = patterns.tidy(text)
    if patterns.REFUSED.search(whole) or patterns.OPEN_LABEL.search(whole):
        return None
    body = patterns.without_examples(whole)
    read = _quoted(body) if patterns.QUOTED.search(body) else _listed(body)
    if read is None:
        return None
    labels, shell, link = read
    if link == "mixed" or not all(tokens(label.text) for label in labels):
        return None
    sufficient = body == whole and asks_no_more(shell, labels)
    return LabelClaim(tuple(labels), "any" if link == "or" else "all", sufficient)


def named(labels: tuple[str, ...], also: tuple[str, ...] = ()) -> LabelClaim:
    """The claim that all these labels stand in the drawing, and nothing else; `also` are other names for one."""
    return LabelClaim(tuple(Label(text, also, names_something(text, quoted=True)) for text in labels), "all", True)


def _quoted(body: str) -> tuple[list[Label], str, str] | None:
    """Labels in quotation marks, the criterion around them, and what joins them."""
    shell = patterns.QUOTED.sub(SLOT, body)
    if not patterns.CUE.search(shell):
        return None
    texts = [m[2].strip(" ,.;") for m in patterns.QUOTED.finditer(body)]
    labels = [Label(t, firm=names_something(t, quoted=True)) for t in dict.fromkeys(texts) if t]
    between = shell[shell.find(SLOT) : shell.rfind(SLOT) + 1]
    return labels, _SLOTS.sub(SLOT, shell), joined_by(between)


def _listed(body: str) -> tuple[list[Label], str, str] | None:
    """Labels named without quotation marks, the criterion around them, and what joins them."""
    for start, phrase, sure in _lists(body):
        found = items(phrase)
        sure = sure and None not in found
        labels = [
            Label(i.text, i.variants, sure and names_something(i.text, i.variants, quoted=False)) for i in found if i
        ]
        if labels:
            slot = SLOT if None not in found else "…"
            shell = body[:start] + slot + body[start + len(phrase) :]
            return labels, shell, joined_by(phrase)
    return None


def _lists(body: str) -> Iterator[tuple[int, str, bool]]:
    """Phrases that may list labels, the surest reading first: place in the text, words, whether absence counts."""
    if m := patterns.AFTER_COLON.search(body):
        yield m.start("list"), m["list"], True
    for m in patterns.AFTER_LABELED.finditer(body):
        if _names_label(m):
            # "labeled as the internal matrix" explains a label more often than it words it.
            yield _upto_stop(m, sure=not m["list"].lower().startswith("the "))
    if m := patterns.LABEL_FOR.search(body):
        yield _upto_stop(m, sure=True)
    for pattern in (patterns.BEFORE_LABELED, patterns.SHOWN_AND_LABELED, patterns.WITH_LABELED):
        if (m := pattern.search(body)) and not _is_sentence(m["list"]):
            yield m.start("list"), m["list"], True


def _upto_stop(m: re.Match[str], *, sure: bool) -> tuple[int, str, bool]:
    phrase = upto_stop(m["list"])
    # "labeled as increase in ..." gives only the beginning of the label.
    return m.start("list"), phrase, sure and not patterns.GOES_ON.match(m["list"][len(phrase) :])


def _names_label(m: re.Match[str]) -> bool:
    """Whether the words after "labeled" are the label, as in "labeled as time", "labeled A", "a labeled pump"."""
    first = m["list"].split()[0].strip(",")
    if m["link"] == "as " or (not m["link"] and (m["before"] or "").lower() in {"a ", "an "}):
        return first.lower() not in patterns.DRAWINGS
    return is_symbol(first) or first[:1].isupper() or not first.isalpha()


def _is_sentence(phrase: str) -> bool:
    words = patterns.BRACKET.sub("", phrase).lower().split()
    return any(word.strip(",") in patterns.STOPS and len(word) > 1 for word in words)
