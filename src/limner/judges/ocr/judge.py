"""The built-in OCR examiner: it marks the criteria that words in the drawing decide, and abstains from the rest.

A criterion is "not met" only if two readings at different scales agree that a label is absent. The second reading is
made only if the first one misses a label: see `wants_second`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...calls import Calls
from ...core.errors import UsageError
from ...core.evidence import TextLine
from ...core.faults import picture_faults
from ...core.marks import Criterion, Mark
from ...evidence.probe import OcrProbe
from ..base import JudgeInputs, JudgeKind, JudgeResult, Subject
from .demands import Label, LabelClaim, claim_of
from .matching import EXACT_LENGTH, LabelMatch, Page, as_written, tokens

SOURCE = "ocr"

RULES = "labels-2"
"""The version of the rules, part of a marking's identity; increased whenever equal lines are marked differently."""

_FORMULA = re.compile(r"[=^_+<>≤≥→]|\d\s*[-−/]|[-−]\s*\d|\w\(\w")
_ONCE = "not found at one scale; read again at another before it is not met: "


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision that words prove: 1 met, 0 not met, None undecided; with the lines found or the missing label."""

    value: int | None
    reason: str


def examine(
    criteria: Sequence[Criterion],
    lines: Sequence[TextLine],
    kinds: frozenset[str],
    mentions: bool = False,
    second: Sequence[TextLine] | None = None,
) -> list[Mark]:
    """Mark every criterion of one drawing.

    Args:
        criteria: The criteria.
        lines: The text that OCR read in the drawing.
        kinds: The kinds of criteria about the content of a drawing; the examiner abstains from all others.
        mentions: Whether words in running text count as labels. Easily fooled: printing the question is enough.
        second: The text that OCR read at another scale; without it, no criterion is marked as not met.

    Returns:
        One mark for each criterion, most of them abstentions.
    """
    pages = [Page(read, mentions) for read in (lines, second) if read is not None]
    return [_mark(criterion, pages, kinds) for criterion in criteria]


def wants_second(marks: Iterable[Mark]) -> bool:
    """Return whether a label was not found, so that a second reading is needed."""
    return any(mark.value is None and mark.reason.startswith(_ONCE) for mark in marks)


def decide(claim: LabelClaim, pages: Sequence[Page], exact: bool = False) -> Decision:
    """Return the first reading's decision, unless it finds a label absent: then the second one decides."""
    first = _decide(claim, pages[0], exact)
    if first.value != 0:
        return first
    return _decide(claim, pages[1], exact) if len(pages) > 1 else Decision(None, _ONCE + first.reason)


def find_label(label: Label, page: Page) -> LabelMatch | None:
    """Return the best place of the label, or of a variant that is another name and not a unit or a remark."""
    names = [label.text, *(v for v in label.variants if len("".join(tokens(v))) > EXACT_LENGTH)]
    places = [_exactly(name, place) for name in names if (place := page.find(name))]
    return min(places, key=lambda place: (not place.proof, place.slips), default=None)


def surely_absent(label: Label, page: Page) -> bool:
    """Return whether nothing on the page could mean the label: no word of it, other form, symbol or misreading.

    Only a firm label with a word of more than `EXACT_LENGTH` letters can be surely absent. On a page without any words,
    it need not be firm.
    """
    if not telling_words(label.text):
        return False
    if not page.lines:
        return True
    return label.firm and not any(page.hints(name) for name in (label.text, *label.variants))


def telling_words(text: str) -> list[str]:
    """Return the words of a label that can prove its absence; shorter ones are misread too easily."""
    return [word for word in tokens(text) if len(word) > EXACT_LENGTH and word.isalpha()]


def _mark(criterion: Criterion, pages: Sequence[Page], kinds: frozenset[str]) -> Mark:
    if criterion.kind not in kinds:
        return Mark.abstain(criterion.id, f"criteria of kind {criterion.kind!r} need eyes", SOURCE)
    claim = claim_of(criterion)
    if claim is None:
        return Mark.abstain(criterion.id, "demands no label that words could prove", SOURCE)
    decision = decide(claim, pages, criterion.exact)
    if decision.value is None:
        return Mark.abstain(criterion.id, decision.reason, SOURCE)
    met = decision.value == criterion.present_means
    return Mark(criterion.id, criterion.top if met else criterion.low, decision.reason, SOURCE)


def _decide(claim: LabelClaim, page: Page, exact: bool) -> Decision:
    places = {label: find_label(label, page) for label in claim.labels}
    joined = " and ".join(label.text for label in claim.labels)
    together = page.find(joined) if claim.mode == "all" and len(places) > 1 else None
    if together and _exactly(joined, together).proof:
        places = {label: place if place and place.proof else together for label, place in places.items()}
    proofs = {
        label: place
        for label, place in places.items()
        if place and place.proof and (not exact or place.span.compact == "".join(tokens(label.text)))
    }
    if len(proofs) == len(places) if claim.mode == "all" else proofs:
        return _met(claim, proofs)
    absent = [label for label, place in places.items() if not place and surely_absent(label, page)]
    if absent and (claim.mode == "all" or len(absent) == len(places)):
        return Decision(0, "; ".join(_missing(label, page) for label in absent))
    unsure = [label.text for label in places if label not in proofs]
    return Decision(None, "neither read for certain nor surely absent: " + ", ".join(map(repr, unsure)))


def _met(claim: LabelClaim, proofs: dict[Label, LabelMatch]) -> Decision:
    reads = "; ".join(f"{label.text!r} read as {place.span.text!r}" for label, place in proofs.items())
    if not claim.sufficient:
        return Decision(None, f"more is asked than the words: {reads}")
    if claim.axes:
        centres = dict(zip(claim.axes, (place.span.centre for place in proofs.values()), strict=True))
        # The name of the x-axis is lower than that of the y-axis, and further right.
        if not (centres["x"][0] > centres["y"][0] and centres["x"][1] > centres["y"][1]):
            return Decision(None, f"not read where the names of the axes would be: {reads}")
    return Decision(1, reads)


def _exactly(name: str, place: LabelMatch) -> LabelMatch:
    """Return the match, without proof if a formula was not read sign by sign."""
    if _FORMULA.search(name) and as_written(name).casefold() not in as_written(place.span.text).casefold():
        return replace(place, proof=False)
    return place


def _missing(label: Label, page: Page) -> str:
    nearest = page.nearest(label.text)
    return f"{label.text!r} not found" + (f", nearest line {nearest!r}" if nearest else ", no text at all")


class OcrJudge:
    """The examiner that compares labels with the text that OCR reads; it is free and works offline.

    ``ocr`` accepts words only as labels. ``ocr/mentions`` accepts them anywhere, in titles and running text too: a
    naive examiner that shows how easily one can be fooled.
    """

    def __init__(self, given: JudgeInputs) -> None:
        if given.spec not in ("ocr", "ocr/mentions"):
            raise UsageError(f"{given.spec!r} is not a judge: there is {OCR.usage}")
        if not given.exam.protocol.label_kinds:
            raise UsageError(f"the OCR examiner cannot mark {given.exam.name}: none of its criteria is about words")
        self.name, self._mentions = given.spec, given.spec != "ocr"
        self._protocol, self._blobs, self._probe = given.exam.protocol, given.blobs, given.ocr
        self._second = OcrProbe(self._probe.seconds, again=True)
        self.setup: dict[str, Any] = {
            "judge": self.name,
            "engine": self._probe.name,
            "rules": RULES,
            "variant": "mentions" if self._mentions else "labels",
        }

    def check(self) -> None:
        """Do nothing: the engine is part of the installation, so nothing can be missing."""

    def unpriced(self) -> str | None:
        """Return None: OCR costs nothing."""
        return None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Mark by the drawing's text, read twice if a label is not found; see `limner.judges.base.Judge`."""
        with picture_faults(subject.image):
            data = await asyncio.to_thread(self._blobs.get, subject.image)
        reading = await self._probe.measure(data, calls)
        criteria = self._protocol.criteria(subject.question)
        kinds = self._protocol.label_kinds
        marks = await asyncio.to_thread(examine, criteria, reading.lines, kinds, self._mentions)
        replies = [("ocr", reading.call)]
        if wants_second(marks):
            again = await self._second.measure(data, calls)
            given = (criteria, reading.lines, kinds, self._mentions, again.lines)
            marks = await asyncio.to_thread(examine, *given)
            replies.append(("ocr again", again.call))
        return JudgeResult(tuple(replies), tuple(marks))

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Mark as if the drawing had no text; see `limner.judges.base.Unseeing`."""
        criteria, kinds = self._protocol.criteria(subject.question), self._protocol.label_kinds
        return JudgeResult((), tuple(await asyncio.to_thread(examine, criteria, (), kinds, self._mentions, ())))


OCR = JudgeKind(
    "ocr, ocr/mentions", "reads the words in the drawing and marks what they prove; free, offline", OcrJudge
)
