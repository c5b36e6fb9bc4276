"""The interface of exams: what to ask, how to read replies, and how to score marks. Pure."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Self

from .asks import Ask, Prompts, Reply, Variant
from .errors import UsageError
from .exam import Question, R
from .marks import Criterion, Mark

Reading = Literal["careful", "paper", "release"]
READINGS: tuple[Reading, ...] = ("careful", "paper", "release")


def parse_reading(word: str) -> Reading:
    """Return the reading called `word`, as given to ``--reading``.

    Raises:
        UsageError: There is no such reading; the message lists the available ones.
    """
    for reading in READINGS:
        if word == reading:
            return reading
    raise UsageError(f"no reading {word!r}; choose from: {', '.join(READINGS)}")


Evidence = Mapping[str, Any]
"""Measurements (``{"value": …, "backend": …}``) and replies to preliminary asks (text), by name."""


@dataclass(frozen=True)
class Score:
    """A score's name and scale.

    Attributes:
        top: The best possible value.
        monotone: Whether a better mark can never lower it; bounds are shown only for such scores.
        digits: The number of decimals shown.
        main: Whether tables have a column for it; others appear with ``--by dimension``, in JSON and in CSV.
        summaries: The ways in which its values per question are summarised; see `limner.scoring.numbers.SUMMARIES`.
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
    """One marked drawing, as input of summaries."""

    question: Question[Any]
    marks: tuple[Mark, ...]
    scores: Mapping[str, float | None]
    evidence: Evidence = field(default_factory=dict)


def mean_of_known(parts: Sequence[Any]) -> Any:
    """Return the mean of numbers, or of arrays of resamples that may contain NaN for missing values.

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
    """The scores, the most important first."""
    variants: tuple[str, ...]
    """Ways of asking; the first is the default."""
    options: Mapping[str, tuple[str, ...]] = {}
    """The exam's options for asking judges, with their values; the first value is the default."""
    draw_options: Mapping[str, tuple[str, ...]] = {}
    """The exam's options for drawing, with their values; the first value is the default."""
    selecting: frozenset[str] = frozenset()
    """Drawing options that only select questions and do not affect drawings."""
    constants: Mapping[str, float] = {}
    """Constants of the scores, with their default values; ``-O`` changes them when scores are shown."""
    needs: frozenset[str] = frozenset()
    """Evidence that must exist before asking or scoring."""
    uses: frozenset[str] = frozenset()
    """Evidence that the scores use if it was measured, but do not require."""
    label_kinds: frozenset[str] = frozenset()
    """Kinds of criteria that can be decided by words in the drawing."""
    breakdowns: tuple[str, ...] = ()
    """The tags by which the exam's paper breaks down its scores."""
    orders: Mapping[str, tuple[str, ...]] = {}
    """The order of a tag's values in tables, if it is not alphabetical."""
    reply_tokens: Mapping[str, int] = {}
    """The approximate length of replies, including thinking, by the ask's name or its part before the first slash.

    Used for estimates if there are no stored replies."""
    dimensions: tuple[str, ...] = ()
    """Scores that ``--by dimension`` lists."""
    weights: Mapping[str, Mapping[str, float]] = {}
    """Scores that are weighted sums of other scores, each as a share of its best value, with these weights."""
    titles: Mapping[str, str] = {}
    """Titles of scores whose names are abbreviations; see `called`."""
    consistency: Mapping[str, float] = {}
    """The minimum score that a judge must give to the references, by score, as the paper reports for its own judge."""
    asked: str = ""
    """A hash of what judges are asked beside the templates, in exams that are data."""
    reasons: bool = True
    """Whether numbers may depend on the reasons of marks. If False, scores, parts, analyses and remarks use criteria,
    values and verdicts only, so that reasons need not be loaded to compute numbers."""
    blank_size: tuple[int, int] = (1024, 1024)
    """Width and height of the white image of ``control/blank``."""

    def tuned(self, constants: Mapping[str, float]) -> Self:
        """Return the protocol with other constants.

        Raises:
            UsageError: The protocol has no constant of that name.
        """
        for name in constants:
            if name not in self.constants:
                names = ", ".join(self.constants) or "none"
                raise UsageError(f"the scores have no constant {name!r}; they have: {names}")
        if not constants:
            return self
        other = copy.copy(self)
        other.constants = {**self.constants, **constants}
        return other

    def read_as(self, reading: Reading) -> Protocol[R]:
        """Return the protocol that scores marks as a reading wants; most exams have the same scores in all."""
        return self

    def called(self, score: str) -> str:
        """Return a score's title for table headers and plots."""
        return self.titles.get(score, score.replace("_", " "))

    def in_order(self, tag: str, values: Iterable[str]) -> list[str]:
        """Return a tag's values in table order: first those in `orders`, then the others alphabetically."""
        order = self.orders.get(tag, ())
        return sorted(values, key=lambda value: (order.index(value) if value in order else len(order), value))

    @abstractmethod
    def criteria(self, question: Question[R]) -> list[Criterion]:
        """Return all criteria for marking a drawing of this question."""

    @abstractmethod
    def asks(self, question: Question[R], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return the calls that mark one drawing; `image` is its content hash."""

    def takes(self, question: Question[R], options: Mapping[str, str]) -> bool:
        """Return whether the drawing options select this question."""
        return True

    def drawing_template(self, group: str | None) -> str | None:
        """Return the template of the prompt for a painter; None if the question's own prompt is sent.

        `group` is ``closed`` or ``open``, None if unknown.
        """
        return None

    def drawing_prompt(
        self, question: Question[R], group: str | None, options: Mapping[str, str], prompts: Prompts | None = None
    ) -> str:
        """Return the prompt for a painter, in the wording of `prompts`, by default the shipped one."""
        return question.prompt

    def cluster(self, question: Question[R]) -> str:
        """Return the name of a question's cluster; questions of one cluster are resampled together."""
        return question.id

    def needed(self, variant: Variant) -> frozenset[str]:
        """Return the evidence that `asks` gets in this variant; a judge measures ``ocr``, lines of text."""
        return self.needs

    def before(self, question: Question[R], variant: Variant) -> list[Ask]:
        """Return preliminary asks, answered once per question; their replies become evidence under the ask's name."""
        return []

    @abstractmethod
    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the names of the prompt templates that this variant uses."""

    @abstractmethod
    def marks(self, question: Question[R], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return one mark per criterion; an answer that cannot be read becomes an unread mark, never a zero."""

    @abstractmethod
    def scores(self, question: Question[R], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Return the scores of one drawing by name; None for a score that the marks do not determine."""

    def from_evidence(self, evidence: Evidence) -> dict[str, float]:
        """Return scores that follow from evidence alone, such as readability from a count of regions."""
        return {}

    def nothing(self, question: Question[R]) -> dict[str, float | None]:
        """Return the scores of a missing drawing: no criterion met, and the worst values for evidence."""
        return self.scores(question, [Mark(criterion.id, criterion.low) for criterion in self.criteria(question)], {})

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return a row's contribution to each summary number, as numerator and denominator.

        By default, each summary number is the mean over the rows that have it. Exams that average over questions or
        criteria rather than drawings override this, so that resampling stays exact.
        """
        return {name: (value, 1.0) for name, value in row.scores.items() if value is not None}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Compute summary numbers from the ratios of `parts`, which are numbers or arrays of resamples."""
        return dict(means)

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return analyses that the exam's paper reports beyond its scores, by name; plain JSON."""
        return {}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """Return caveats that a reader needs to interpret these scores."""
        return []

    def summary(self, rows: Sequence[Row]) -> dict[str, float]:
        """Return the exam's summary numbers over many drawings."""
        sums: dict[str, list[float]] = {}
        for row in rows:
            for name, (top, bottom) in self.parts(row).items():
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += top
                total[1] += bottom
        return self.derive({name: a / b for name, (a, b) in sums.items() if b})


UNREAD = "unread"
"""The mode of a criterion for which the model named none in three attempts."""


@dataclass(frozen=True)
class FailureModes(Generic[R]):
    """An exam's classification of failures.

    Attributes:
        names: The model's word for each mode -> its title in tables.
        about: A one-line description of the classification's source.
        prompts: The folder of prompt templates.
        wrong: Selects the marks to classify.
        ask: Makes the call that classifies these marks; `image` is the drawing's content hash.
        read: Reads a reply into criterion -> mode, as far as it names them.
    """

    names: Mapping[str, str]
    about: str
    prompts: Path
    wrong: Callable[[Sequence[Mark]], list[Mark]]
    ask: Callable[[Question[R], Sequence[Mark], str, Prompts], Ask]
    read: Callable[[str, Sequence[Mark]], dict[str, str]]
