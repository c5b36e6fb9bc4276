"""Marking by words alone: what the text in a drawing proves about a criterion, and what not.

"Not met" is said only where two readings at different scales agree that a label is absent. The second reading is made
when the first one asks for it: see `wants_second`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...core.evidence import TextLine
from ...core.marks import Criterion, Mark
from .absence import surely_absent
from .demands import demand
from .forms import same_word
from .labels import Decision, Label, LabelClaim, named
from .matching import SURE, LabelMatch, Page
from .places import follow, stand_at
from .spelling import EXACT_LENGTH, as_written, tokens
from .ticks import TickClaim, scale

SOURCE = "ocr"

_FORMULA = re.compile(r"[=^_+<>≤≥→]|\d\s*[-−/]|[-−]\s*\d|\w\(\w")
_ONCE = "not found at one scale; read again at another before it is not met: "


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
        second: What OCR read at another scale; without it nothing is not met.

    Returns:
        One mark for each criterion, most of them abstentions.
    """
    pages = [Page(read, mentions) for read in (lines, second) if read is not None]
    return [_mark(criterion, pages, kinds) for criterion in criteria]


def wants_second(marks: Iterable[Mark]) -> bool:
    """Whether a label was not found, so that a second reading would decide."""
    return any(mark.value is None and mark.reason.startswith(_ONCE) for mark in marks)


def claim_of(criterion: Criterion) -> LabelClaim | TickClaim | None:
    """What a criterion asks of the text in a drawing: the labels its rubric names, or those its words demand."""
    return named(criterion.labels, criterion.also) if criterion.labels else demand(criterion.text)


def decide(
    claim: LabelClaim | TickClaim, lines: Sequence[TextLine], second: Sequence[TextLine] | None = None
) -> Decision:
    """Holds a claim against the text of a drawing, read once or twice."""
    return _agreed(claim, [Page(read) for read in (lines, second) if read is not None])


def _mark(criterion: Criterion, pages: Sequence[Page], kinds: frozenset[str]) -> Mark:
    if criterion.kind not in kinds:
        return Mark.abstain(criterion.id, f"criteria of kind {criterion.kind!r} need eyes", SOURCE)
    demanded = claim_of(criterion)
    if demanded is None:
        return Mark.abstain(criterion.id, "demands no label that words could prove", SOURCE)
    decision = _agreed(demanded, pages, criterion.exact)
    if decision.value is None:
        return Mark.abstain(criterion.id, decision.reason, SOURCE)
    met = decision.value == criterion.present_means
    return Mark(criterion.id, met * criterion.top, decision.reason, SOURCE)


def _agreed(claim: LabelClaim | TickClaim, pages: Sequence[Page], exact: bool = False) -> Decision:
    """The first reading's decision, unless it finds a label absent: then the second one decides."""
    first = _decide(claim, pages[0], exact)
    if first.value != 0:
        return first
    return _decide(claim, pages[1], exact) if len(pages) > 1 else Decision(None, _ONCE + first.reason)


def _decide(claim: LabelClaim | TickClaim, page: Page, exact: bool = False) -> Decision:
    if isinstance(claim, TickClaim):
        return _scaled(claim, page)
    if not claim.labels:
        return Decision(None if page.lines else 0, "names no label" if page.lines else "no text at all")
    found = {label: find_label(label, page) for label in claim.labels}
    joined = " and ".join(label.text for label in claim.labels)
    together = page.find(joined) if claim.mode == "all" and len(found) > 1 else None
    if together and _exactly(joined, together).proof:
        found = {label: place if place and place.proof else together for label, place in found.items()}
    proofs = [label for label, place in found.items() if place and place.proof and (not exact or _as_is(label, place))]
    if len(proofs) == len(found) if claim.mode == "all" else proofs:
        return _found(claim, {label: place for label, place in found.items() if place}, page)
    absent = [label for label, place in found.items() if not place and surely_absent(label, page)]
    if absent and (claim.mode == "all" or len(absent) == len(found)):
        return Decision(0, "; ".join(_missing(label, page) for label in absent))
    unsure = [label.text for label in found if label not in proofs]
    return Decision(None, "neither read for certain nor surely absent: " + ", ".join(map(repr, unsure)))


def _scaled(claim: TickClaim, page: Page) -> Decision:
    numbers, asked = scale(claim, page.lines), ", ".join(f"{number:g}" for number in claim.numbers)
    if numbers is None:
        return Decision(None, f"no scale read along the {claim.axis}-axis: {asked}")
    if claim.unit and not any(same_word(claim.unit, word) for line in page.lines for word in tokens(line.text)):
        return Decision(None, f"numbers read along the {claim.axis}-axis, but not {claim.unit!r}")
    if claim.name:
        place = find_label(claim.name, page)
        if not place or not place.proof or not stand_at((claim.axis,), (place,), page.lines):
            return Decision(None, f"{claim.name.text!r} not read where the name of the axis would stand")
    return Decision(1, f"read along the {claim.axis}-axis: {', '.join(f'{number:g}' for number in numbers)}")


def _found(claim: LabelClaim, found: dict[Label, LabelMatch], page: Page) -> Decision:
    reads = "; ".join(f"{label.text!r} read as {place.span.text!r}" for label, place in found.items())
    if not claim.sufficient:
        return Decision(None, f"more is asked than the words: {reads}")
    places = list(found.values())
    if (claim.axes or claim.order) and len(places) < len(claim.labels):
        return Decision(None, f"not all were read, so that their places prove nothing: {reads}")
    if claim.axes and not stand_at(claim.axes, places, page.lines):
        return Decision(None, f"not read where the names of the axes would stand: {reads}")
    if claim.order and not follow(claim.order, places):
        return Decision(None, f"not read {claim.order} in this order: {reads}")
    return Decision(1, reads)


def find_label(label: Label, page: Page) -> LabelMatch | None:
    """The best place of the label or of a variant that is a name of its own, not a unit or a remark."""
    names = [label.text, *(v for v in label.variants if len("".join(tokens(v))) > EXACT_LENGTH or v[:1].isdigit())]
    places = [_exactly(name, place) for name in names if (place := page.find(name))]
    return min(places, key=lambda place: (not place.proof, place.slips), default=None)


def _exactly(name: str, place: LabelMatch) -> LabelMatch:
    """The place, proving nothing where a formula is not read sign by sign; a value may stand behind what it is of."""
    wanted, seen = as_written(name).casefold(), as_written(place.span.text).casefold()
    if _FORMULA.search(name) and wanted not in seen:
        return replace(place, proof=False)
    if name[:1].isdigit() and _is_sure(place) and seen.endswith(("=" + wanted, "≈" + wanted, ":" + wanted)):
        return replace(place, proof=True)
    return place


def _is_sure(place: LabelMatch) -> bool:
    return all(line.confidence >= SURE for line in place.span.lines)


def _as_is(label: Label, place: LabelMatch) -> bool:
    """Whether the label's letters stand there and no others."""
    return place.span.compact == "".join(tokens(label.text))


def _missing(label: Label, page: Page) -> str:
    nearest = page.nearest(label.text)
    return f"{label.text!r} not found" + (f", nearest line {nearest[0]!r}" if nearest else ", no text at all")
