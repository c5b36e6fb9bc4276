"""Trials: the pictures that a judge is examined on, made from references, and their effects on criteria."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..calls import Calls, Fault
from ..core.errors import UsageError
from ..core.evidence import TextLine
from ..core.exam import Exam, Question
from ..core.faults import picture_faults
from ..core.images import BadImage, decode, encode_png
from ..core.marks import Criterion
from ..core.protocol import Protocol
from ..evidence.probe import OcrProbe
from ..judges.ocr.demands import Label, LabelClaim, claim_of
from ..judges.ocr.judge import find_label, surely_absent, telling_words
from ..judges.ocr.matching import EXACT_LENGTH, Page, same_word, tokens
from ..painters.controls.faults import COPIES, FAULTS, GROSS, RETYPED, Effect, Faulted, FaultKind, copy_of
from ..painters.controls.images import rect
from ..painters.controls.painter import partners
from ..store import Blobs
from .bias import BARE, CLEAN, COPY, PLEA, UNSEEN

GOLD = ((CLEAN, 0), (BARE, GROSS))
"""The kinds and doses of pictures that are asked about twice, and again when the judge is watched."""
MAX_SEEDS = 8
"""The maximum number of places tried for a fault until it affects a label that a criterion names."""
OTHER = "other"


@dataclass(frozen=True)
class LabelledCriterion:
    """A criterion whose labels are all in the reference.

    Attributes:
        presence: Whether it only asks for the words to be present.
        depicted: Whether a drawing of the thing may be enough, so that losing the label proves nothing.
    """

    criterion: Criterion
    claim: LabelClaim
    presence: bool
    depicted: bool


@dataclass(frozen=True)
class ExaminedReference:
    """A reference that trials are made from."""

    question: Question[Any]
    data: bytes
    lines: tuple[TextLine, ...]
    labelled: tuple[LabelledCriterion, ...]


@dataclass(frozen=True)
class Trial:
    """One picture to be marked.

    Attributes:
        image: The picture's content hash; for the ask without a picture, the hash of a picture that is not shown.
        expected: Criterion -> the required effect on it; other criteria may be marked either way.
        said: A description of what was done to the reference.
        repeats: How many times it is marked.
        purpose: The purpose of the ask, as recorded in the journal.
    """

    question: Question[Any]
    kind: str
    dose: int
    image: str
    expected: Mapping[str, Effect]
    said: str
    repeats: int = 1
    purpose: str = "certificate"

    @property
    def painter(self) -> str:
        """The painter's name in the journal."""
        return f"{self.purpose}/{self.kind}-{self.dose}" if self.dose else f"{self.purpose}/{self.kind}"


@dataclass(frozen=True)
class TrialMaker:
    """A maker of trials; equal seeds make equal trials.

    Attributes:
        quick: Whether to leave out repeats and everything that no test needs.
    """

    exam: Exam[Any]
    protocol: Protocol[Any]
    blobs: Blobs
    ocr: OcrProbe
    questions: int
    seed: int = 0
    quick: bool = False

    async def make(self, calls: Calls) -> list[Trial]:
        """Return all trials, question by question.

        Raises:
            UsageError: The exam has no reference to make trials from.
        """
        references = await self._references(calls)
        if not references:
            raise UsageError(
                f"{self.exam.name} has no reference image with text here: a judge is examined on altered references"
            )
        by_id = {reference.question.id: reference for reference in references}
        partner = partners(Exam(self.exam.name, self.exam.kind, tuple(reference.question for reference in references)))
        made: list[Trial] = []
        for n, reference in enumerate(references):
            other = by_id.get(partner.get(reference.question.id, ""))
            made += await asyncio.to_thread(self._of_one, n, reference, other)
        return made

    async def _references(self, calls: Calls) -> list[ExaminedReference]:
        """Return the references shuffled by the seed: those with labels that criteria name, then others with text."""
        named: list[ExaminedReference] = []
        rest: list[ExaminedReference] = []
        for question in sorted(self.exam.questions, key=lambda question: self._number(question.id)):
            if len(named) >= self.questions:
                break
            reference = await self.read(question, calls)
            if reference is not None and reference.lines:
                (named if reference.labelled else rest).append(reference)
        return [*named, *rest][: self.questions]

    async def read(self, question: Question[Any], calls: Calls) -> ExaminedReference | None:
        """Return a question's reference with its lines of text; None if it has no readable reference."""
        reference = question.reference
        if reference is None or reference.sha256 is None:
            return None
        data = reference.read()
        if data is None:
            with picture_faults(reference.name):
                data = await asyncio.to_thread(self.blobs.get, reference.sha256)
        assert data is not None
        try:
            measured = await self.ocr.measure(data, calls)
        except Fault as fault:
            if fault.kind == "image":
                return None
            raise
        lines = tuple(measured.lines)
        labelled = labelled_criteria(self.protocol.criteria(question), lines, self.protocol.label_kinds)
        return ExaminedReference(question, data, lines, tuple(labelled))

    def _number(self, *words: object) -> int:
        return int.from_bytes(hashlib.sha256("/".join(map(str, (self.seed, *words))).encode()).digest()[:4])

    def _of_one(self, n: int, reference: ExaminedReference, other: ExaminedReference | None) -> list[Trial]:
        criteria = self.protocol.criteria(reference.question)
        clean, _ = self.blobs.put(reference.data)
        stands: dict[str, Effect] = {each.criterion.id: "stand" for each in reference.labelled}
        made = [Trial(reference.question, CLEAN, 0, clean, stands, "the reference as it is", 1 if self.quick else 2)]
        made.append(Trial(reference.question, UNSEEN, 1, clean, falls_with_nothing(criteria), "no picture at all"))
        if other is not None and (exchanged := self.exchanged(reference, other)).expected:
            made.append(exchanged)
        for place, kind in enumerate(kind for kind in FAULTS.values() if kind.make is not None):
            for dose in self._doses(kind, n + place):
                # A picture about which nothing is certain costs a call and tests nothing; but the plea is compared with
                # the same picture without it, on every criterion.
                sure = kind.name == PLEA or (kind.name, dose) in GOLD
                made += [trial for trial in self.faulty(reference, kind, dose) if trial.expected or sure]
        return made

    def _doses(self, kind: FaultKind, turn: int) -> Sequence[int]:
        if self.quick:
            return (GROSS,) if kind.name in (BARE, PLEA) else ()
        return sorted({1 + turn % len(kind.doses), *((GROSS,) if kind.name in (BARE, PLEA) else ())})

    def copies(self, clean: Trial) -> list[Trial]:
        """Return copies of a reference that are as good as it is, and the reference itself as the last."""
        image = decode(self.blobs.get(clean.image))
        trials = []
        for number, words in enumerate(COPIES[:1] if self.quick else COPIES):
            sha256, _ = self.blobs.put(encode_png(copy_of(image, number)))
            trials.append(Trial(clean.question, COPY, number + 1, sha256, {}, words))
        return [*trials, Trial(clean.question, COPY, 0, clean.image, {}, "the same picture")]

    def exchanged(self, reference: ExaminedReference, other: ExaminedReference) -> Trial:
        """Return the trial with another question's reference."""
        faulted = Faulted(decode(other.data), (), f"the reference of {other.question.id}", other.lines)
        image, _ = self.blobs.put(other.data)
        effects = expected_effects(FAULTS[OTHER], 1, faulted, reference, self.protocol.criteria(reference.question))
        return Trial(reference.question, OTHER, 1, image, effects, faulted.said)

    def faulty(self, reference: ExaminedReference, kind: FaultKind, dose: int) -> list[Trial]:
        """Return the trial with this fault, or an empty list if the reference does not allow it."""
        assert kind.make is not None
        criteria, best = self.protocol.criteria(reference.question), None
        first = self._number(reference.question.id, kind.name)
        try:
            image = decode(reference.data)
        except BadImage:
            return []
        for seed in range(first, first + MAX_SEEDS):
            faulted = kind.make(image, reference.lines, dose, seed)
            if faulted is None:
                continue
            effects = expected_effects(kind, dose, faulted, reference, criteria)
            best = best or (faulted, effects)
            if "fall" in effects.values() or not faulted.left or not reference.labelled:
                best = faulted, effects
                break
        if best is None:
            return []
        faulted, effects = best
        sha256, _ = self.blobs.put(encode_png(faulted.image))
        repeats = 2 if (kind.name, dose) in GOLD and not self.quick else 1
        return [Trial(reference.question, kind.name, dose, sha256, effects, faulted.said, repeats)]


def pairs_of(trials: Sequence[Trial], maker: TrialMaker) -> list[tuple[Trial, Trial]]:
    """Return for each question its reference beside a picture with a gross fault, and beside copies as good as it is.

    The fault is one that some criterion must notice, where there is one; otherwise all labels are erased.
    """
    clean = {trial.question.id: trial for trial in trials if trial.kind == CLEAN}
    faults: dict[str, Trial] = {}
    for trial in trials:
        kind = FAULTS.get(trial.kind)
        if kind is None or kind.make is None or trial.kind == PLEA or trial.dose != len(kind.doses):
            continue
        best = faults.setdefault(trial.question.id, trial)
        if "fall" in trial.expected.values() and "fall" not in best.expected.values():
            faults[trial.question.id] = trial
    pairs = [(clean[id], trial) for id, trial in faults.items()]
    return pairs + [(trial, copy) for trial in clean.values() for copy in maker.copies(trial)]


_ARROWS = re.compile("[←-⇿➔-➾]")
"""Arrows that OCR read as characters of a label; faults that remove drawn arrows leave them intact."""
_PRESENCE = re.compile(r"\b(?:present|written|included|appear)", re.IGNORECASE)
_READABLE = re.compile(r"\b(?:readable|legible)\b", re.IGNORECASE)
_OR_DRAWN = re.compile(r"\bor as\b", re.IGNORECASE)
_BINDS = re.compile(r"^(?:in [^,]*, )?(?:is|are) the\b", re.IGNORECASE)
"""Criteria that say which part a label belongs to, so that they fall where the label is at another part."""
_WHOLE = re.compile(
    r"\b(?:all|each|every|entire|only|exact\w*|correct\w*|accurate\w*|proper\w*|order|accordingly|respective\w*|no|not|"
    r"without|none)\b",
    re.IGNORECASE,
)
"""Words for more than the labels that a criterion names: a change of any other label may concern it."""
_SMALL_WORDS = frozenset(
    ["the", "and", "for", "with", "of", "in", "on", "at", "to", "is", "are", "an", "as", "by", "or"]
)


def falls_with_nothing(criteria: Iterable[Criterion]) -> dict[str, Effect]:
    """Return the effect of an empty picture: it meets no criterion, except those about an absence."""
    return {criterion.id: "fall" for criterion in criteria if criterion.present_means == 1}


def labelled_criteria(
    criteria: Iterable[Criterion], lines: Sequence[TextLine], kinds: frozenset[str]
) -> list[LabelledCriterion]:
    """Return the criteria whose labels were read with certainty in the reference; the others are not tested."""
    page, labelled = Page(lines), []
    for criterion in criteria:
        if criterion.kind not in kinds or criterion.present_means != 1:
            continue
        claim = claim_of(criterion)
        if claim and all(_stands(label, page) for label in claim.labels):
            presence = bool(criterion.labels or _PRESENCE.search(criterion.text))
            depicted = criterion.text in criterion.labels or _OR_DRAWN.search(criterion.text) is not None
            labelled.append(LabelledCriterion(criterion, claim, presence, depicted))
    return labelled


def expected_effects(
    kind: FaultKind, dose: int, faulted: Faulted, reference: ExaminedReference, criteria: Sequence[Criterion]
) -> dict[str, Effect]:
    """Return the effect on each criterion; criteria whose effect is unclear are left out.

    A criterion falls if nothing that may be left can be its label. It stands only if the fault touches labels and
    nothing else, none of the touched ones shares a word with the criterion, and all labels that it names are untouched.
    """
    kept = {*faulted.left, *faulted.unsure}
    changed = [line for line in reference.lines if line not in kept]
    intact = [line for line in faulted.left if not any(_overlap(line, other) for other in changed)]
    touched = [line for line in reference.lines if line not in intact]
    sure, perhaps = Page(intact), Page((*faulted.left, *faulted.unsure))
    effects = dict[str, Effect]()
    for each in reference.labelled:
        id, labels = each.criterion.id, each.claim.labels
        gone = [label for label in labels if _gone(label, perhaps)]
        if len(gone) == len(labels) if each.claim.mode == "any" else gone:
            if kind.name == OTHER or _label_is_needed(kind, each, changed):
                effects[id] = "fall"
        elif kind.spares_others and _is_untouched(each, touched) and all(_stands(label, sure) for label in labels):
            effects[id] = "stand"
    if kind.about is not None and dose == GROSS and not any(_ARROWS.search(line.text) for line in faulted.left):
        about = re.compile(rf"\b{kind.about}s?\b", re.IGNORECASE)
        effects |= {
            criterion.id: "fall"
            for criterion in criteria
            if criterion.present_means == 1 and about.search(criterion.text) and not _WHOLE.search(criterion.text)
        }
    return effects


def _overlap(line: TextLine, other: TextLine) -> bool:
    a, b = rect(line), rect(other)
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _is_untouched(each: LabelledCriterion, touched: Sequence[TextLine]) -> bool:
    text = each.criterion.text
    return not _WHOLE.search(text) and not any(_shares_word(line.text, each) for line in touched)


def _label_is_needed(kind: FaultKind, each: LabelledCriterion, changed: Sequence[TextLine]) -> bool:
    """Return whether the criterion cannot be met without its label at its place."""
    if not kind.keeps_words:
        other_words = kind.name in RETYPED and _READABLE.search(each.criterion.text)
        return not each.depicted and not other_words
    # An exchanged label is at a wrong part if the criterion says which part it means and names none of the others.
    bound = not each.presence and _BINDS.search(each.criterion.text) is not None
    return bound and sum(_shares_word(line.text, each) for line in changed) == 1


def _shares_word(text: str, each: LabelledCriterion) -> bool:
    """Return whether a label shares a word with a criterion; two numbers count as the same word."""
    wording = " ".join([each.criterion.text, *(label.text for label in each.claim.labels)])
    asked, seen = (set(tokens(words)) - _SMALL_WORDS for words in (wording, text))
    if any(char.isdigit() for char in text) and any(char.isdigit() for char in wording):
        return True
    return any(a == b or same_word(a, b) for a in asked for b in seen)


def _stands(label: Label, page: Page) -> bool:
    place = find_label(label, page)
    return place is not None and place.proof


def _gone(label: Label, page: Page) -> bool:
    """Return whether the label is certainly gone, given a page with everything that may be left."""
    if find_label(label, page) is not None:
        return False
    if telling_words(label.text):
        return surely_absent(replace(label, firm=True), page)
    plain = "".join(char for char in label.text if char.isalnum())
    # No other word can replace a number, so one that is not found is gone; single characters are unclear.
    if any(char.isdigit() for char in plain):
        return len(plain) > 1
    return len(plain) > EXACT_LENGTH and page.hints(label.text) is None
