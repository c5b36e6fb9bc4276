"""Which criteria must fall with a fault, and which must not: by the labels they name and where these stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..core.evidence import TextLine
from ..core.marks import Criterion
from ..judges.ocr.demands import Label, LabelClaim, claim_of
from ..judges.ocr.judge import find_label, surely_absent, telling_words
from ..judges.ocr.matching import EXACT_LENGTH, Page
from ..painters.controls.faults import Effect, Faulted, FaultKind

_ARROWS = re.compile("[←-⇿➔-➾]")
"""Arrows that were read as signs of a label, and so still stand there."""
_PRESENCE = re.compile(r"\b(?:present|written|included|appear)", re.IGNORECASE)


@dataclass(frozen=True)
class LabelledCriterion:
    """A criterion whose labels all stand in the reference.

    Attributes:
        presence: Whether it asks for no more than that the words are there.
    """

    criterion: Criterion
    claim: LabelClaim
    presence: bool


def labelled_criteria(
    criteria: Iterable[Criterion], lines: Sequence[TextLine], kinds: frozenset[str]
) -> list[LabelledCriterion]:
    """The criteria that name labels which were surely read in the reference; of the others nothing is claimed."""
    page, found = Page(lines), []
    for criterion in criteria:
        if criterion.kind not in kinds or criterion.present_means != 1:
            continue
        claim = claim_of(criterion)
        if claim and all(_stands(label, page) for label in claim.labels):
            found.append(
                LabelledCriterion(criterion, claim, bool(criterion.labels or _PRESENCE.search(criterion.text)))
            )
    return found


def expected(
    kind: FaultKind,
    dose: int,
    faulted: Faulted,
    labelled: Sequence[LabelledCriterion],
    criteria: Sequence[Criterion],
) -> dict[str, Effect]:
    """What must become of each criterion; those of which nobody can say are left out."""
    sure, perhaps = Page(faulted.left), Page((*faulted.left, *faulted.unsure))
    effect, found = kind.touched[dose - 1], dict[str, Effect]()
    for one in labelled:
        id, labels = one.criterion.id, one.claim.labels
        gone = [label for label in labels if _gone(label, perhaps)]
        if len(gone) == len(labels) if one.claim.mode == "any" else gone:
            if not (one.presence and kind.keeps_words):
                found[id] = effect
        elif all(_stands(label, sure) for label in labels) and (
            kind.beside == "stand" or (kind.beside == "words" and one.claim.sufficient)
        ):
            found[id] = "stand"
    if kind.about is not None and not any(_ARROWS.search(line.text) for line in faulted.left):
        told = [one for one in criteria if kind.about in one.text.lower() and one.present_means == 1]
        found |= {criterion.id: effect for criterion in told}
    return {id: word for id, word in found.items() if word != "open"}


def _stands(label: Label, page: Page) -> bool:
    place = find_label(label, page)
    return place is not None and place.proof


def _gone(label: Label, page: Page) -> bool:
    """Whether nothing that stands for the label is left, where all that is left is known."""
    if find_label(label, page) is not None:
        return False
    if telling_words(label.text):
        return surely_absent(replace(label, firm=True), page)
    plain = "".join(char for char in label.text if char.isalnum())
    # A number is what it is: no other word stands for it. Of single letters nobody can say.
    if any(char.isdigit() for char in plain):
        return len(plain) > 1
    return len(plain) > EXACT_LENGTH and page.hints(label.text) is None
