"""The older rules labels-2, kept as they were so that a run can go on with them."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.evidence import TextLine
from ...core.marks import Criterion, Mark
from .labels import Decision, Label, LabelClaim, claim, named
from .matching import LabelMatch, Page
from .patterns import GENERIC, SYNONYMS
from .spelling import EXACT_LENGTH, tokens

MANY_SIGNS = 4
"""OCR may overlook a single letter, but hardly every one of this many."""


def examine(
    criteria: Sequence[Criterion],
    lines: Sequence[TextLine],
    kinds: frozenset[str],
    mentions: bool = False,
    second: Sequence[TextLine] | None = None,
) -> list[Mark]:
    """Marks every criterion of one drawing.

    Args:
        criteria: What is asked of the drawing.
        lines: The text that OCR read in it.
        kinds: The kinds of criteria that speak about what a drawing shows; others are left alone.
        mentions: Whether words in running text count as labels. Easily fooled: printing the question is enough.
        second: Not looked at: these rules read once.

    Returns:
        One mark for each criterion, most of them abstentions.
    """
    page = Page(lines, mentions)
    return [_mark(criterion, page, kinds) for criterion in criteria]


def _mark(criterion: Criterion, page: Page, kinds: frozenset[str]) -> Mark:
    if criterion.kind not in kinds:
        return Mark.abstain(criterion.id, f"criteria of kind {criterion.kind!r} need eyes", "ocr")
    demanded = named(criterion.labels, criterion.also) if criterion.labels else claim(criterion.text)
    if demanded is None:
        return Mark.abstain(criterion.id, "demands no label that words could prove", "ocr")
    decision = _decide(demanded, page, criterion.exact)
    if decision.value is None:
        return Mark.abstain(criterion.id, decision.reason, "ocr")
    met = decision.value == criterion.present_means
    return Mark(criterion.id, met * criterion.top, decision.reason, "ocr")


def _decide(claim: LabelClaim, page: Page, exact: bool = False) -> Decision:
    found = {label: _find(label, page) for label in claim.labels}
    proofs = [label for label, place in found.items() if place and place.proof and (not exact or _as_is(label, place))]
    met = len(proofs) == len(found) if claim.mode == "all" else bool(proofs)
    if met:
        reads = "; ".join(f"{label.text!r} read as {place.span.text!r}" for label, place in found.items() if place)
        return Decision(1, reads) if claim.sufficient else Decision(None, f"more is asked than the words: {reads}")
    absent = [label for label, place in found.items() if not place and _absent(label, page)]
    if absent and (claim.mode == "all" or len(absent) == len(found)):
        return Decision(0, "; ".join(_missing(label, page) for label in absent))
    signs = [label.text for label in claim.labels if len(label.text) == 1]
    if claim.mode == "all" and len(signs) >= MANY_SIGNS and not any(page.find(sign) for sign in signs):
        return Decision(0, f"none of {', '.join(map(repr, signs))} found")
    unsure = [label.text for label in found if label not in proofs]
    return Decision(None, "neither read for certain nor surely absent: " + ", ".join(map(repr, unsure)))


def _find(label: Label, page: Page) -> LabelMatch | None:
    """The best place of the label or of a variant that is a name of its own, not a unit or a remark."""
    names = [label.text, *(v for v in label.variants if len("".join(tokens(v))) > EXACT_LENGTH)]
    places = [place for name in names if (place := page.find(name))]
    return min(places, key=lambda place: (not place.proof, place.slips), default=None)


def _as_is(label: Label, place: LabelMatch) -> bool:
    """Whether the label's letters stand there and no others."""
    return place.span.compact == "".join(tokens(label.text))


def _absent(label: Label, page: Page) -> bool:
    """Whether nothing on the page could stand for the label."""
    return label.firm and not any(page.hints(n, GENERIC, SYNONYMS) for n in (label.text, *label.variants))


def _missing(label: Label, page: Page) -> str:
    nearest = page.nearest(label.text)
    return f"{label.text!r} not found" + (f", nearest line {nearest[0]!r}" if nearest else ", no text at all")
