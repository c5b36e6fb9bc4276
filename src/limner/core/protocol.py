"""The seam between an exam and the rest: what to ask, how to read replies, how to score marks. Pure."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Self

from .asks import Ask, Reply, Variant
from .errors import UsageError
from .exam import Question, R
from .marks import Criterion, Mark
from .prompts import Prompts

Reading = Literal["careful", "paper", "release"]
READINGS: tuple[Reading, ...] = ("careful", "paper", "release")


def checked_reading(word: str) -> Reading:
    """Return the word of ``--reading``, checked.

    Raises:
        UsageError: There is none of that name; says which there are.
    """
    for reading in READINGS:
        if word == reading:
            return reading
    raise UsageError(f"no reading {word!r}; there is: {', '.join(READINGS)}")


Evidence = Mapping[str, Any]
"""What was measured (``{"value": …, "backend": …}``) or asked beforehand (a reply's text), by name."""


@dataclass(frozen=True)
class Score:
    """A score's name and scale.

    Attributes:
        top: The best possible value.
        monotone: Whether a better mark can never lower it; bounds are shown only where this holds.
        digits: Decimals shown.
        main: Whether tables have a column for it; the others stand under ``--by dimension``, in JSON and in CSV.
        summaries: How its numbers per question become one number; see `limner.scoring.numbers.SUMMARIES`.
    """

    name: str
    top: float
    about: str
    monotone: bool = True
    digits: int = 1
    main: bool = True
    summaries: tuple[str, ...] = ("mean",)


@dataclass(frozen=True)
class Row:
    """One marked drawing as the summary sees it; `size` is its width and height where they are known."""

    question: Question[Any]
    marks: tuple[Mark, ...]
    scores: Mapping[str, float | None]
    evidence: Evidence = field(default_factory=dict)
    size: tuple[int, int] | None = None


def mean_of_known(parts: Sequence[Any]) -> Any:
    """Return the plain mean of numbers, or of arrays of resamples in which some may be missing (NaN).

    >>> mean_of_known([0.25, 0.75])
    0.5
    """
    import numpy as np

    table = np.array(parts)
    count = (~np.isnan(table)).sum(axis=0)
    mean = np.nansum(table, axis=0) / np.where(count, count, np.nan)
    return mean if mean.ndim else float(mean)


class Protocol(ABC, Generic[R]):
    """The pure functions of one exam."""

    scored: tuple[Score, ...]
    """The scores, the most telling first."""
    variants: tuple[str, ...]
    """Ways of asking; the first is the default."""
    options: Mapping[str, tuple[str, ...]] = {}
    """The exam's own options of asking and their values; the first value is the default."""
    draw_options: Mapping[str, tuple[str, ...]] = {}
    """The exam's own options of drawing and their values; the first value is the default."""
    selecting: frozenset[str] = frozenset()
    """Drawing options that choose among questions only, and change nothing about a drawing."""
    constants: Mapping[str, float] = {}
    """Numbers the scores are computed with, at their usual values; ``-O`` changes them where scores are shown."""
    needs: frozenset[str] = frozenset()
    """Evidence that must exist before asking or scoring."""
    uses: frozenset[str] = frozenset()
    """Evidence that the scores take where it was measured, and do without where it was not."""
    label_kinds: frozenset[str] = frozenset()
    """Kinds of criteria that words in the drawing can decide."""
    breakdowns: tuple[str, ...] = ()
    """The tags the exam's paper breaks its scores down by."""
    orders: Mapping[str, tuple[str, ...]] = {}
    """The order of a tag's values in tables, where the alphabet is not it."""
    reply_tokens: Mapping[str, int] = {}
    """About how long a reply to each ask is, thinking included, by the ask's name or its part before the first slash;
    for estimates before there are stored replies."""
    dimensions: tuple[str, ...] = ()
    """Scores that ``--by dimension`` lists."""
    weights: Mapping[str, Mapping[str, float]] = {}
    """Scores that are weighted sums: of the shares of the best value of these other scores, with these weights."""
    titles: Mapping[str, str] = {}
    """What people call scores whose names are short for something; see `called`."""
    consistency: Mapping[str, float] = {}
    """What a judge must at least give the references themselves, by score, as the exam's paper reports of its own."""
    reasons: bool = True
    """Whether numbers may be made of the reasons of marks. Where False, scores and parts are made of criteria, values
    and verdicts alone, and neither analyses nor remarks read a reason: then nobody keeps them to work out numbers."""
    blank_size: tuple[int, int] = (1024, 1024)
    """Width and height of the white sheet that ``control/blank`` hands in."""

    def tuned(self, constants: Mapping[str, float]) -> Self:
        """Return the same protocol with other constants.

        Raises:
            UsageError: It has no constant of that name.
        """
        for name in constants:
            if name not in self.constants:
                known = ", ".join(self.constants) or "none"
                raise UsageError(f"the scores have no number {name!r} to be set; there is: {known}")
        if not constants:
            return self
        other = copy.copy(self)
        other.constants = {**self.constants, **constants}
        return other

    def called(self, score: str) -> str:
        """Return a score as people call it, for heads of tables and plots; programs know it by its name."""
        return self.titles.get(score, score.replace("_", " "))

    def in_order(self, tag: str, values: Iterable[str]) -> list[str]:
        """Return a tag's values as tables list them: those of `orders` first, the others by the alphabet."""
        known = self.orders.get(tag, ())
        return sorted(values, key=lambda value: (known.index(value) if value in known else len(known), value))

    @abstractmethod
    def criteria(self, question: Question[R]) -> list[Criterion]:
        """Everything a judge decides about a drawing of this question."""

    @abstractmethod
    def asks(self, question: Question[R], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return the calls that mark one drawing; `image` is its content hash."""

    def takes(self, question: Question[R], options: Mapping[str, str]) -> bool:
        """Whether the drawing options leave this question in."""
        return True

    def drawing_prompt(self, question: Question[R], group: str | None, options: Mapping[str, str]) -> str:
        """Return what a painter is sent; `group` is ``closed`` or ``open`` where that is known of it."""
        return question.prompt

    def cluster(self, question: Question[R]) -> str:
        """Questions of one cluster are resampled together."""
        return question.id

    def needed(self, variant: Variant) -> frozenset[str]:
        """Evidence that `asks` gets in this variant; a judge measures ``ocr``, the lines of text in a drawing."""
        return self.needs

    def before(self, question: Question[R], variant: Variant) -> list[Ask]:
        """Asks answered once per question before the others; their replies become evidence by ask name."""
        return []

    @abstractmethod
    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Names of the prompt templates this variant uses."""

    @abstractmethod
    def marks(self, question: Question[R], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """One mark per criterion; what cannot be read is an unread mark, never a zero."""

    @abstractmethod
    def scores(self, question: Question[R], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Named numbers of one drawing; None where the marks do not settle it."""

    def from_evidence(self, evidence: Evidence) -> dict[str, float]:
        """Scores that follow from what was measured alone, such as readability from a count of regions."""
        return {}

    def nothing(self, question: Question[R]) -> dict[str, float | None]:
        """The scores of a drawing that was never made: no criterion met. What is not measured on it counts least."""
        return self.scores(question, [Mark(criterion.id, 0) for criterion in self.criteria(question)], {})

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return what a row adds to each summary number: numerator and denominator.

        The default makes every summary number the plain mean of the rows that have it. Exams whose averages
        run over questions or criteria rather than drawings say so here, so that resampling stays exact.
        """
        return {name: (value, 1.0) for name, value in row.scores.items() if value is not None}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Summary numbers from the ratios of `parts`; works on numbers and on arrays of resamples alike."""
        return dict(means)

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return what the exam's paper reports beyond its scores, by name; plain JSON."""
        return {}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return what a reader must know to take these scores right."""
        return []

    def summary(self, rows: Sequence[Row]) -> dict[str, float]:
        """Return the exam's numbers over many drawings."""
        sums: dict[str, list[float]] = {}
        for row in rows:
            for name, (top, bottom) in self.parts(row).items():
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += top
                total[1] += bottom
        return self.derive({name: a / b for name, (a, b) in sums.items() if b})


UNREAD = "unread"
"""In place of a mode: the model named none for this criterion, three times."""


@dataclass(frozen=True)
class FailureModes(Generic[R]):
    """What an exam says of its modes of failure.

    Attributes:
        names: The modes, by the words that the model uses for them -> what tables call them.
        about: Whose classification this is, in a line.
        prompts: The folder with the wording.
        wrong: Of a drawing's marks those that are sorted.
        ask: The one call that sorts these marks; `image` is the drawing's content hash.
        read: Criterion -> mode, as far as a reply names them.
    """

    names: Mapping[str, str]
    about: str
    prompts: Path
    wrong: Callable[[Sequence[Mark]], list[Mark]]
    ask: Callable[[Question[R], Sequence[Mark], str, Prompts], Ask]
    read: Callable[[str, Sequence[Mark]], dict[str, str]]
