"""The proof of a rubric: whether each criterion works, by marks of references, controls and corruptions."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..calls import Calls
from ..core.exam import Exam, Question
from ..core.images import encode_png
from ..core.marks import Criterion
from ..core.protocol import Protocol
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..painters.controls import images
from ..painters.controls.faults import FAULTS, Effect
from ..painters.controls.painter import SIZE, partners
from ..running.estimate import Estimate
from ..running.progress import Progress
from ..scoring.stats import flips
from ..scoring.stats.resample import Plain
from ..store.markings import (
    newest_certificates,
)
from .bias import BARE, CLEAN, GUESSES, PLEA, UNSEEN, clustered_share
from .examine import Examination, MarkedTrial, Step, totals
from .trials import OTHER, ExaminedReference, Trial, TrialMaker, falls_with_nothing

ProofVerdict = Literal["proved", "mend", "undecided", "untested"]
VERDICTS: tuple[ProofVerdict, ...] = ("proved", "mend", "undecided", "untested")
"""The possible verdicts on a criterion.

In this order: met by the reference and no longer by some corruption; there is a reason to mend it; the judge abstained;
there was nothing to test it on.
"""
Passes = Literal["passes", "fails", "undecided"]
WordRules = Callable[[str, Criterion], Sequence[tuple[str, str]]]
"""A function from a question's id and a criterion to the faults of its wording, each a kind and a sentence."""
MARKS, WORDS = "marks", "words"


@dataclass(frozen=True)
class MendReason(Plain):
    """A reason to mend a criterion.

    Attributes:
        kind: ``reference``, ``blank``, ``unkilled``, ``guessed``, ``unsteady``; or a kind from `WordRules`.
        by: ``marks`` or ``words``.
        picture: The kind of the trial that shows it; None if no picture does.
    """

    kind: str
    by: str
    detail: str
    picture: str | None = None


@dataclass(frozen=True)
class CriterionProof(Plain):
    """The findings about one criterion.

    Attributes:
        shared: Whether it is a criterion of the exam, the same for every question, rather than of a rubric.
        met: Kind of picture -> whether it was met in full; None if the judge did not decide.
        killed: The corruptions in which it was no longer met.
        survived: The corruptions that remove what it names, but in which it was still met.
    """

    question: str
    criterion: str
    text: str
    shared: bool
    met: dict[str, bool | None]
    killed: tuple[str, ...]
    survived: tuple[str, ...]
    verdict: ProofVerdict
    reasons: tuple[MendReason, ...] = ()


@dataclass(frozen=True)
class RubricProof:
    """The proof of a rubric by one judge.

    Attributes:
        passes: Question -> kind of picture -> whether all criteria are met.
        guesses: Questions, each with whether one of their criteria was met without a picture.
        repeats: Questions, each with the answers to one criterion that was asked more than once.
    """

    criteria: tuple[CriterionProof, ...]
    passes: Mapping[str, Mapping[str, Passes]]
    guesses: tuple[tuple[str, bool | None], ...] = ()
    repeats: tuple[tuple[str, tuple[float | None, ...]], ...] = ()
    marked: tuple[MarkedTrial, ...] = field(default=(), repr=False)

    @property
    def mend(self) -> list[CriterionProof]:
        """The criteria to fix."""
        return [criterion for criterion in self.criteria if criterion.verdict == "mend"]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        counted = Counter(criterion.verdict for criterion in self.criteria)
        guessed = clustered_share((question, float(yes)) for question, yes in self.guesses if yes is not None)
        reasons = Counter(reason.kind for criterion in self.mend for reason in criterion.reasons)
        return {
            "criteria": {verdict: counted[verdict] for verdict in VERDICTS},
            "pictures": {kind: self._passing(kind) for kind in (CLEAN, *FAILING_PICTURES)},
            "guessed": guessed.share().to_json() | {"undecided": sum(yes is None for _, yes in self.guesses)},
            "repeats": flips(self.repeats).to_json(),
            "corruptions": {name: self._killing(name) for name in CORRUPTIONS},
            "reasons": dict(sorted(reasons.items())),
            "mend": [criterion.to_json() for criterion in self.mend],
            "all": [criterion.to_json() for criterion in self.criteria if criterion.verdict != "mend"],
        }

    def _passing(self, kind: str) -> dict[str, Any]:
        given = {id: words[kind] for id, words in self.passes.items() if kind in words}
        wrong = "fails" if kind == CLEAN else "passes"
        counted = Counter(given.values())
        return {
            **{word: counted[word] for word in ("passes", "fails", "undecided")},
            "wrong": [id for id, word in given.items() if word == wrong],
        }

    def _killing(self, name: str) -> dict[str, int]:
        seen = [criterion.met[name] for criterion in self.criteria if name in criterion.met]
        survived = sum(name in criterion.survived for criterion in self.criteria)
        decided = [yes for yes in seen if yes is not None]
        return {
            "criteria": len(seen),
            "killed": sum(name in criterion.killed for criterion in self.criteria),
            "survived": survived,
            "undecided": len(seen) - len(decided),
        }


def shared_criteria(questions: Sequence[Question[Any]], protocol: Protocol[Any]) -> frozenset[tuple[str, str]]:
    """Return id and text of the exam's own criteria, which all questions share and no rubric contains."""
    if len(questions) < 2:
        return frozenset()
    sets = [
        frozenset((criterion.id, criterion.text) for criterion in protocol.criteria(question)) for question in questions
    ]
    rubric = questions[0].rubric.model_dump_json()
    return frozenset(
        criterion for criterion in frozenset.intersection(*sets) if json.dumps(criterion[1])[1:-1] not in rubric
    )


def unkilled(marked: Iterable[MarkedTrial], protocol: Protocol[Any]) -> set[str]:
    """Return the questions with a criterion that the reference meets and that no corruption has failed so far."""
    by: dict[str, list[MarkedTrial]] = {}
    for trial in marked:
        by.setdefault(trial.trial.question.id, []).append(trial)
    questions = set()
    for id, some in by.items():
        for criterion in protocol.criteria(some[0].trial.question):
            met = _met(some, criterion)
            if met.get(CLEAN) and not any(met.get(name) is False for name in CORRUPTIONS):
                questions.add(id)
    return questions


def make_proof(
    marked: Sequence[MarkedTrial],
    questions: Sequence[Question[Any]],
    protocol: Protocol[Any],
    words: WordRules,
) -> RubricProof:
    """Return the proof from all markings; `words` finds faults in a criterion's wording."""
    by: dict[str, list[MarkedTrial]] = {question.id: [] for question in questions}
    for trial in marked:
        by[trial.trial.question.id].append(trial)
    shared = shared_criteria(questions, protocol)
    criteria: list[CriterionProof] = []
    passes: dict[str, dict[str, Passes]] = {}
    repeats: list[tuple[str, tuple[float | None, ...]]] = []
    guesses = _guesses(by, questions, protocol)
    decided = [yes for _, yes in guesses if yes is not None]
    # If the judge guesses everywhere, its guesses are no evidence about single criteria.
    telling = sum(decided) <= GUESSES * len(decided)
    for question in questions:
        some, own = by[question.id], protocol.criteria(question)
        for criterion in own:
            met, again = _met(some, criterion), _given(some, criterion)
            repeats += [(question.id, tuple(values)) for values in again.values() if len(values) > 1]
            common = (criterion.id, criterion.text) in shared
            if not telling:
                met = {kind: yes for kind, yes in met.items() if kind != UNSEEN}
            wrong_words = () if common else words(question.id, criterion)
            criteria.append(_proved(question, criterion, common, met, again, some, wrong_words))
        kinds = {trial.trial.kind for trial in some if trial.marks}
        passes[question.id] = {kind: _passes(_met(some, each).get(kind) for each in own) for kind in kinds}
    return RubricProof(tuple(criteria), passes, tuple(guesses), tuple(repeats), tuple(marked))


def _proved(
    question: Question[Any],
    criterion: Criterion,
    shared: bool,
    met: dict[str, bool | None],
    again: Mapping[str, Sequence[float | None]],
    marked: Sequence[MarkedTrial],
    words: Sequence[tuple[str, str]],
) -> CriterionProof:
    must = {trial.trial.kind: trial.trial.expected.get(criterion.id) for trial in marked}
    # A corruption that leaves what a criterion names intact does not test it.
    tests = [name for name in CORRUPTIONS if name in met and must[name] != "stand"]
    # A criterion that the reference does not meet cannot be killed.
    killed = () if met.get(CLEAN) is False else tuple(name for name in tests if met[name] is False)
    survived = tuple(name for name in tests if met[name] and must[name] == "fall")
    reasons: list[MendReason] = []
    steady = {value for value in again.get(CLEAN, again.get(BLANK, ())) if value is not None}
    if len(steady) > 1:
        shown = CLEAN if CLEAN in again else BLANK
        reasons.append(MendReason("unsteady", MARKS, "asked twice about the same picture, answered differently", shown))
    elif met.get(CLEAN) is False:
        reasons.append(MendReason("reference", MARKS, "not met by the reference" + _why(marked, criterion), CLEAN))
    # A criterion about an absence is met by a white sheet, but is sound if some corruption kills it.
    if not killed and not shared:
        reasons += _loose(met, tests, survived)
    reasons += [MendReason(kind, WORDS, detail) for kind, detail in words]
    verdict: ProofVerdict = "undecided"
    if reasons:
        verdict = "mend"
    elif met.get(CLEAN) and killed:
        verdict = "proved"
    elif CLEAN not in met or not tests:
        verdict = "untested"
    return CriterionProof(
        question.id, criterion.id, criterion.text, shared, met, killed, survived, verdict, tuple(reasons)
    )


def _loose(met: Mapping[str, bool | None], tests: Sequence[str], survived: Sequence[str]) -> Iterator[MendReason]:
    """Yield the reasons to believe that a criterion that no corruption killed is met by any drawing."""
    if met.get(CLEAN) and survived:
        detail = f"still met where what it names is gone: {_listed(survived)}"
        yield MendReason("unkilled", MARKS, detail, survived[0])
    elif met.get(CLEAN) and len(tests) > 1 and all(met[name] for name in tests):
        yield MendReason("unkilled", MARKS, f"no corruption changes it: {_listed(tests)}", tests[0])
    if met.get(BLANK):
        yield MendReason("blank", MARKS, "met by a white sheet", BLANK)
    if met.get(UNSEEN):
        yield MendReason("guessed", MARKS, "answered yes without a picture")


def _guesses(
    by: Mapping[str, Sequence[MarkedTrial]], questions: Sequence[Question[Any]], protocol: Protocol[Any]
) -> list[tuple[str, bool | None]]:
    """Return for each criterion that needs a picture its question and whether it was met without one."""
    return [
        (question.id, met[UNSEEN])
        for question in questions
        for criterion in protocol.criteria(question)
        if criterion.present_means == 1 and UNSEEN in (met := _met(by[question.id], criterion))
    ]


def _given(marked: Iterable[MarkedTrial], criterion: Criterion) -> dict[str, list[float | None]]:
    """Return kind of picture -> whether the criterion was met each time: 1, 0, or None if undecided."""
    answers: dict[str, list[float | None]] = {}
    for trial in sorted(marked, key=lambda trial: trial.repeat):
        for mark in trial.marks:
            if mark.criterion == criterion.id:
                value = None if mark.value is None else float(mark.value >= criterion.top)
                answers.setdefault(trial.trial.kind, []).append(value)
    return answers


def _met(marked: Iterable[MarkedTrial], criterion: Criterion) -> dict[str, bool | None]:
    """Return kind of picture -> whether the criterion was met in full the first time it was asked."""
    given = _given(marked, criterion)
    return {kind: None if values[0] is None else bool(values[0]) for kind, values in given.items()}


def _passes(met: Iterable[bool | None]) -> Passes:
    """Return whether all criteria are met; ``undecided`` if that depends on undecided ones."""
    answers = list(met)
    if False in answers:
        return "fails"
    return "undecided" if None in answers or not answers else "passes"


def _why(marked: Iterable[MarkedTrial], criterion: Criterion) -> str:
    for trial in marked:
        for mark in trial.marks:
            if trial.trial.kind == CLEAN and mark.criterion == criterion.id and mark.reason:
                return f": {mark.reason}"
    return ""


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"{name} ({FAULTS[name].doses[-1]})" for name in names)


BLANK, TEXT = "blank", "text"
FAILING_PICTURES = (BLANK, TEXT, OTHER)
"""The pictures that must fail: a white sheet, the typeset prompt, another question's reference."""
SWEEPING = (BARE, "arrow")
"""The corruptions that are tried first: without any label, and without anything but labels."""
CORRUPTIONS = (*SWEEPING, *(kind.name for kind in FAULTS.values() if kind.make and kind.name not in (*SWEEPING, PLEA)))
"""All corruptions of a reference, each in its largest dose."""
PURPOSE = "proof"


@dataclass(frozen=True)
class ProofTrials:
    """The pictures of one question.

    Attributes:
        first: The trials that are always asked about.
        rest: Corruptions that are asked about only if the reference meets a criterion and `first` did not kill it.
        impossible: Kind of picture -> why it could not be made.
    """

    question: Question[Any]
    first: tuple[Trial, ...]
    rest: tuple[Trial, ...]
    impossible: Mapping[str, str]


async def proof_trials(maker: TrialMaker, calls: Calls) -> list[ProofTrials]:
    """Return the pictures of every question of the maker's exam; equal seeds make equal pictures."""
    questions = maker.exam.questions
    references = {question.id: await maker.read(question, calls) for question in questions}
    readable = [reference for reference in references.values() if reference is not None]
    partner = partners(Exam(maker.exam.name, maker.exam.kind, tuple(reference.question for reference in readable)))
    made = []
    for question in questions:
        reference, other = references[question.id], references.get(partner.get(question.id, ""))
        made.append(await asyncio.to_thread(_of_question, maker, question, reference, other))
    return made


def _of_question(
    maker: TrialMaker, question: Question[Any], reference: ExaminedReference | None, other: ExaminedReference | None
) -> ProofTrials:
    criteria = maker.protocol.criteria(question)
    falls = falls_with_nothing(criteria)
    sheet, _ = maker.blobs.put(encode_png(images.blank(maker.protocol.blank_size)))
    typed, _ = maker.blobs.put(encode_png(images.typeset(_prompt(maker, question), SIZE)))
    # Without a reference, the white sheet is asked about twice to see whether answers are steady.
    first = [
        Trial(question, BLANK, 0, sheet, falls, "a white sheet", 1 if reference else 2),
        Trial(question, TEXT, 0, typed, {}, "the prompt set in type"),
        Trial(question, UNSEEN, 1, sheet, falls, "no picture at all"),
    ]
    rest: list[Trial] = []
    impossible: dict[str, str] = {}
    if reference is None:
        impossible = dict.fromkeys((CLEAN, OTHER, *CORRUPTIONS), "the question has no reference image here")
    else:
        clean, _ = maker.blobs.put(reference.data)
        stands: dict[str, Effect] = {each.criterion.id: "stand" for each in reference.labelled}
        first.insert(0, Trial(question, CLEAN, 0, clean, stands, "the reference as it is", 2))
        if other is None:
            impossible[OTHER] = "no other question has a reference image that differs"
        else:
            first.append(maker.exchanged(reference, other))
        for name in CORRUPTIONS:
            trials = [
                replace(trial, repeats=1) for trial in maker.faulty(reference, FAULTS[name], len(FAULTS[name].doses))
            ]
            if not trials:
                impossible[name] = "nothing in the reference to do it to"
            (first if name in SWEEPING else rest).extend(trials)
    named = [tuple(replace(trial, purpose=PURPOSE) for trial in some) for some in (first, rest)]
    return ProofTrials(question, named[0], named[1], impossible)


def _prompt(maker: TrialMaker, question: Question[Any]) -> str:
    """Return the prompt that a painter would be sent, as ``control/text`` does."""
    options = {name: values[0] for name, values in maker.protocol.draw_options.items()}
    return maker.protocol.drawing_prompt(question, None, options)


@dataclass(frozen=True)
class ProofRun:
    """A rubric to be proved by one judge.

    Attributes:
        every_fault: Whether to ask about every corruption, even if the first ones killed all criteria.
    """

    opened: Examination
    trials: tuple[ProofTrials, ...]
    every_fault: bool = False

    def steps(self) -> tuple[list[Step], list[Step]]:
        """Return the steps that are always asked, and those that are asked if needed."""
        first = [trial for of_question in self.trials for trial in of_question.first]
        rest = [trial for of_question in self.trials for trial in of_question.rest]
        return self.opened.steps(first), self.opened.steps(rest)

    def estimate(self, settings: Settings, retry_failed: bool = False) -> Estimate:
        """Return the cost of all steps; it may turn out lower, as unneeded corruptions are not asked about."""
        first, rest = self.steps()
        return self.opened.estimate([*first, *rest], settings, retry_failed)

    def prove(
        self,
        words: WordRules,
        *,
        budget: float | None = None,
        watch: Callable[[Progress], None] = lambda _: None,
        **how: Any,
    ) -> tuple[RubricProof, list[Progress]]:
        """Ask the steps and return the proof with the progress of each part; call it again to resume."""
        first, _ = self.steps()
        ask = self.opened.ask
        done, progress = ask(first, budget=budget, watch=watch, **how)
        parts, marked = [progress], _marked(done)
        needed = unkilled(marked, self.opened.protocol)
        rest = [of_question for of_question in self.trials if self.every_fault or of_question.question.id in needed]
        more = self.opened.steps([trial for of_question in rest for trial in of_question.rest])
        if more:
            left = None if budget is None else max(0.0, budget - progress.spent)
            done, progress = ask(more, budget=left, watch=watch, **how)
            parts.append(progress)
            marked += _marked(done)
        questions = [of_question.question for of_question in self.trials]
        return make_proof(marked, questions, self.opened.protocol, words), parts

    def impossible(self) -> list[dict[str, Any]]:
        """Return the pictures that could not be made, with the reason and the number of questions."""
        counted = Counter((what, why) for of_question in self.trials for what, why in of_question.impossible.items())
        return [{"picture": what, "why": why, "questions": count} for (what, why), count in counted.items()]

    def describe(self, proof: RubricProof, seed: int) -> dict[str, Any]:
        """Return the proof as plain JSON, with the judge, the questions and the pictures that could not be made."""
        opened = self.opened
        certificate = newest_certificates(opened.store, opened.exam.name).get(opened.setup)
        return {
            "exam": opened.exam.name,
            "judge": opened.judge.name,
            "examined": None if certificate is None else certificate.words,
            "setup": dict(opened.judge.setup),
            "seed": seed,
            "questions": len(self.trials),
            **totals(proof.marked),
            "impossible": self.impossible(),
            **proof.to_json(),
        }


def open_proof(opened: Examination, seed: int = 0, every_fault: bool = False) -> ProofRun:
    """Read the references (by OCR, at no cost), make the pictures, and return the proof to run."""
    maker = TrialMaker(opened.exam, opened.protocol, opened.store.blobs, OcrProbe(), len(opened.exam.questions), seed)

    async def make() -> list[ProofTrials]:
        async with Calls(opened.store) as calls:
            return await proof_trials(maker, calls)

    return ProofRun(opened, tuple(asyncio.run(make())), every_fault)


def _marked(steps: Sequence[Step]) -> list[MarkedTrial]:
    return [step for step in steps if isinstance(step, MarkedTrial)]
