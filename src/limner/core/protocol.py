"""The seam between an exam and the rest: what to ask, how to read replies, how to score marks. Pure."""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

from .errors import UsageError
from .exam import Question, R
from .marks import Criterion, Mark

Reading = Literal["careful", "paper", "release"]
READINGS: tuple[Reading, ...] = ("careful", "paper", "release")
T_co = TypeVar("T_co", covariant=True)


def checked_reading(word: str) -> Reading:
    """The word of ``--reading``, checked.

    Raises:
        UsageError: There is none of that name; says which there are.
    """
    for reading in READINGS:
        if word == reading:
            return reading
    raise UsageError(f"no reading {word!r}; there is: {', '.join(READINGS)}")


class Unreadable(ValueError):
    """A reply that breaks its contract. The message can be told to the model."""


@dataclass(frozen=True)
class Contract(Generic[T_co]):
    """What a reply must be: the parser is the authority, the schema only describes the shape.

    Attributes:
        required: Whether a reply that breaks it every time is a fault; if not, the last one is kept as it is, for the
            readings to make of it what they can.
        heavy: Whether parsing takes long enough to be done beside everything else.
    """

    parse: Callable[[str], T_co]
    schema: Mapping[str, Any] | None = None
    required: bool = True
    heavy: bool = False


@dataclass(frozen=True)
class Text:
    """Words sent to a model."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An image sent to a model, by content hash, with how it is prepared.

    Without `max_side` it goes as it is, up to what the service takes.
    """

    sha256: str
    max_side: int | None = None
    detail: str | None = None


Part = Text | Picture


@dataclass(frozen=True)
class Ask:
    """One call to a judge.

    Attributes:
        name: Tells the asks of one question apart.
        shown: What is sent, in order.
        criteria: The same in typed form, for judges that do not read prose.
        contract: What the reply must be.
        system: What the model is told of itself beforehand, where the protocol says something.
    """

    name: str
    shown: tuple[Part, ...]
    criteria: tuple[Criterion, ...]
    contract: Contract[Any]
    system: str | None = None


@dataclass(frozen=True)
class Reply:
    """A judge's answer to one ask, as text, with the call it came from."""

    ask: str
    text: str
    call: str | None = None


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


class Prompts:
    """Markdown templates with ``{{name}}`` fields: the shipped ones, or a user's own wording."""

    def __init__(self, shipped: Path, own: Path | None = None) -> None:
        self.shipped, self.own = shipped, own
        self._read: dict[str, str] = {}
        if own is not None and not own.is_dir():
            raise UsageError(f"--prompts {own}: no such folder")

    def text(self, name: str) -> str:
        """The template called `name`, from the user's folder where it has one; read once."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> str:
        for folder in (self.own, self.shipped):
            if folder is not None and (path := folder / f"{name}.md").is_file():
                try:
                    return path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise UsageError(f"prompt template {path}: cannot be read: {error}") from error
        raise UsageError(f"no prompt template {name}.md in {self.own or self.shipped}")

    def hash(self, *names: str) -> str:
        """Identifies the wording of the named templates."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + self.text(name).encode() + b"\0")
        return digest.hexdigest()[:12]

    def fill(self, name: str, **fields: str) -> str:
        """The template with its fields filled in; a field the template lacks is an error."""
        text = self.text(name)
        for field_name in fields:
            if f"{{{{{field_name}}}}}" not in text:
                raise UsageError(f"prompt template {name}.md lacks the field {{{{{field_name}}}}}")
        # One pass over the template, so that a value which itself holds "{{…}}" stays as it is.
        pieces = text.split("{{")
        out = [pieces[0]]
        for piece in pieces[1:]:
            key, end, rest = piece.partition("}}")
            out.append(fields[key] + rest if end and key in fields else "{{" + piece)
        return "".join(out)


@dataclass(frozen=True)
class Variant:
    """How a judge is asked: all of it is part of what identifies a marking."""

    name: str
    prompts: Prompts
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One marked drawing as the summary sees it; `size` is its width and height where they are known."""

    question: Question[Any]
    marks: tuple[Mark, ...]
    scores: Mapping[str, float | None]
    evidence: Evidence = field(default_factory=dict)
    size: tuple[int, int] | None = None


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
    blank_size: tuple[int, int] = (1024, 1024)
    """Width and height of the white sheet that ``control/blank`` hands in."""

    def tuned(self, constants: Mapping[str, float]) -> Self:
        """The same protocol with other constants.

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

    def in_order(self, tag: str, values: Iterable[str]) -> list[str]:
        """A tag's values as tables list them: those of `orders` first, the others by the alphabet."""
        known = self.orders.get(tag, ())
        return sorted(values, key=lambda value: (known.index(value) if value in known else len(known), value))

    @abstractmethod
    def criteria(self, question: Question[R]) -> list[Criterion]:
        """Everything a judge decides about a drawing of this question."""

    @abstractmethod
    def asks(self, question: Question[R], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """The calls that mark one drawing; `image` is its content hash."""

    def takes(self, question: Question[R], options: Mapping[str, str]) -> bool:
        """Whether the drawing options leave this question in."""
        return True

    def drawing_prompt(self, question: Question[R], group: str | None, options: Mapping[str, str]) -> str:
        """What a painter is sent; `group` is ``closed`` or ``open`` where that is known of it."""
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
        """What a row adds to each summary number: numerator and denominator.

        The default makes every summary number the plain mean of the rows that have it. Exams whose averages
        run over questions or criteria rather than drawings say so here, so that resampling stays exact.
        """
        return {name: (value, 1.0) for name, value in row.scores.items() if value is not None}

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Summary numbers from the ratios of `parts`; works on numbers and on arrays of resamples alike."""
        return dict(means)

    def analyses(self, rows: Sequence[Row]) -> dict[str, Any]:
        """What the exam's paper reports beyond its scores, by name; plain JSON."""
        return {}

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        """What a reader must know to take these scores right."""
        return []

    def summary(self, rows: Sequence[Row]) -> dict[str, float]:
        """The exam's numbers over many drawings."""
        sums: dict[str, list[float]] = {}
        for row in rows:
            for name, (top, bottom) in self.parts(row).items():
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += top
                total[1] += bottom
        return self.derive({name: a / b for name, (a, b) in sums.items() if b})
