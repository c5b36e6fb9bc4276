"""The definition of an exam that is data: its criteria, asks, scores and summaries, from ``exam.toml``.

Nothing in it is run as code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasChoices, Field, model_validator

from ...core.protocol import Reading
from ...core.schema import ONE_OR_MORE, Names, StrictModel
from ...core.vocabulary import ValueTest
from .layout import DataLayout, find_value


def _name(pattern: str, words: str) -> AfterValidator:
    def check(name: str) -> str:
        if not re.fullmatch(pattern, name):
            raise ValueError(f"{name[:40]!r} is not allowed; use {words}")
        return name

    return AfterValidator(check)


Name = Annotated[str, _name(r"[a-z][a-z0-9_-]*", "lower-case letters, digits, _ and -, a letter first")]
FileName = Annotated[str, _name(r"\w[\w.-]*", "letters, digits, ., _ and -, a letter or digit first")]


class Condition(ValueTest):
    """A test of a tag or column; in scores also of a family of criteria or an earlier score."""

    field: str = Field(min_length=1, validation_alias=AliasChoices("field", "score"))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether the value passes the test; a missing one is an empty text, and of no size."""
        value = find_value(values, self.field)
        if value is None and {self.at_least, self.at_most, self.below, self.range} != {None}:
            return False
        return self.why_not("" if value is None else value) is None


Conditions = Annotated[tuple[Condition, ...], ONE_OR_MORE]


class Family(StrictModel):
    """A family of criteria: a question's own, from a column, or one criterion of the exam.

    Attributes:
        column: The column with the question's own criteria; without it, the family is one criterion.
        text: The key of an entry's text; without a column, the text itself, with ``{{COLUMN}}`` fields.
        weight: The key of an entry's weight, or a number.
        note: The key of further words that the judge is shown with the text.
        line: The form in which the judge is shown an entry, with ``{{KEY}}`` fields; by default its text.
        low: The lowest value of a scale; `high` the highest.
        values: The words of a choice -> their worth from 0 to 1, the worst first.
        options: The key of the options of a question; `answer` of the right one, as its letter or text.
        labels: ``presence``: texts of the form "The label 'X' is present" are decided by words in the drawing;
            ``text``: words in quotes are; otherwise the key of a list of words.
        group: A name for several families together, for scores.
        when: The conditions under which a question has the criterion.
    """

    name: Name
    kind: Literal["yesno", "scale", "choice"] = "yesno"
    column: str = Field(default="", alias="from")
    text: str = ""
    weight: str | float = 1.0
    note: str = ""
    line: str = ""
    low: int = 1
    high: int = 5
    values: dict[str, float] = Field(default_factory=dict)
    options: str = "options"
    answer: str = "answer"
    labels: str = ""
    group: str = ""
    when: Conditions = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind != "scale" and self.model_fields_set & {"low", "high"}:
            raise ValueError('low and high belong to kind = "scale"')
        if self.kind == "scale" and self.low >= self.high:
            raise ValueError(f"the scale goes from {self.low} to {self.high}")
        if self.kind == "choice" and not (self.values or self.column):
            raise ValueError("a choice needs values = {WORD = WORTH}, or a column with questions and options")
        worths = list(self.values.values())
        if worths and (worths != sorted(worths) or worths[0] < 0 or worths[-1] > 1 or len(set(worths)) < len(worths)):
            raise ValueError("values rise from 0 to 1, the worst word first")
        if not self.column and not self.text:
            raise ValueError("a criterion of the exam needs a text")
        return self


class ShownText(StrictModel):
    """Words that are shown as they stand, such as before a picture."""

    text: str = Field(min_length=1)


class ReleasedForm(StrictModel):
    """The form of replies to a release's own wording: one of these.

    Attributes:
        label: A label that the number follows, such as "Final Score: 4"; a number alone is read too.
        word: Whether a word, yes or no, decides; yes counts before no.
        key: The key in an object, in which ``*`` stands for the name of the family.
        list: The key in each object of a list, whose order is that of the criteria.
    """

    label: str = ""
    word: bool = False
    key: str = ""
    entries: str = Field(default="", alias="list")

    @model_validator(mode="after")
    def _is_one_form(self) -> Self:
        if sum(map(bool, (self.label, self.word, self.key, self.entries))) != 1:
            raise ValueError("give one of label, word, key and list")
        return self


class AskPlan(StrictModel):
    """One call to the judge.

    Attributes:
        prompt: The template; ``{{criteria}}``, ``{{FAMILY}}``, ``{{reply}}``, ``{{count}}``, ``{{prompt}}`` and columns
            are fields.
        shows: What is shown in order: ``prompt``, the names of further templates, ``inputs``, ``drawing``,
            ``reference``, or words as ``{text = "…"}``.
        criteria: The families that it asks about; `each` for a call for each of their criteria.
        reply: The form of the reply: an ``object``, or for criteria of yes and no a ``list`` of zeros and ones.
        form: The template of ``{{reply}}``; by default it is made from the criteria.
        reasons: Whether a reason is asked for with each value.
        keys: A family, ``value`` or ``reason`` -> its key in the reply, if it differs.
        system: The template of the system message.
        max_side: The longest side of pictures; `detail` the detail that is asked of the service.
        only: An option, or ``variant`` -> the value with which the call is made.
        also: The form of replies to the release's own wording, which is read if a reply does not have the exam's own.
        when: The conditions under which a question has the call.
        tokens: The approximate length of a reply, for estimates.
    """

    name: Name
    prompt: str = Field(min_length=1)
    shows: tuple[str | ShownText, ...] = ("prompt", "inputs", "drawing")
    criteria: tuple[str, ...] = Field(min_length=1)
    each: bool = False
    reply: Literal["object", "list"] = "object"
    form: str = ""
    reasons: bool = True
    keys: dict[str, str] = Field(default_factory=dict)
    system: str = ""
    max_side: int | None = Field(default=None, ge=64)
    detail: str | None = None
    only: dict[str, str] = Field(default_factory=dict)
    also: ReleasedForm | None = None
    when: Conditions = ()
    tokens: int = Field(default=500, ge=1)

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates that it uses."""
        shown = (part for part in self.shows if isinstance(part, str) and part not in SHOWN)
        names = (self.prompt, *shown, self.form, self.system)
        return tuple(dict.fromkeys(name for name in names if name))


SHOWN = ("prompt", "inputs", "drawing", "reference")
Parts = str | tuple[str, ...] | dict[str, float]


class ScorePlan(StrictModel):
    """A score of a drawing.

    Attributes:
        of: The families, groups or earlier scores that it is made of; with weights for ``weighted`` and ``sum``.
        otherwise: Other weights, the first of which applies whose families the question has all.
        required: Families or groups without which ``all`` is 0.
        when: The conditions under which a question has the score; of a gate, those under which it changes the value.
        to: A gate's highest value, as a share of the best; before that the value is multiplied by `times`, and `plus`
            is added.
        top: The best value; by default 100, and for ``scale`` the scale's.
        round: The decimals to which the share of the best value is rounded.
        main: Whether tables have a column for it.
        unread: What an undecided criterion makes of the score: ``open``, so that it has no value, or ``lowest``, as if
            the criterion were at its lowest.
    """

    name: Name
    about: str = ""
    kind: Literal["share", "weighted", "all", "mean", "product", "gate", "scale", "sum"]
    of: Parts
    otherwise: Annotated[tuple[dict[str, float], ...], ONE_OR_MORE] = ()
    required: tuple[str, ...] = ()
    when: Conditions = ()
    to: float = Field(default=1.0, ge=0, le=1)
    times: float = Field(default=1.0, ge=0)
    plus: float = 0.0
    top: float | None = Field(default=None, gt=0)
    round: int | None = None
    digits: int = Field(default=1, ge=0)
    main: bool = True
    unread: Literal["open", "lowest"] = "open"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if isinstance(self.of, dict) and self.kind not in ("weighted", "sum"):
            raise ValueError(f"a {self.kind} takes no weights; list its parts")
        if any(weight < 0 for weights in (*self.otherwise, self.of) if isinstance(weights, dict)
               for weight in weights.values()):  # fmt: skip
            raise ValueError("a weight is below 0")
        if self.kind == "gate" and not self.when:
            raise ValueError("a gate needs when = {score = NAME, below = NUMBER}")
        if self.kind != "gate" and self.model_fields_set & {"to", "times", "plus"}:
            raise ValueError("to, times and plus belong to a gate")
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, without those of `otherwise`."""
        return (self.of,) if isinstance(self.of, str) else tuple(self.of)

    @property
    def words(self) -> str:
        """What it is, for tables; by default its kind and parts."""
        return self.about or f"{self.kind}: {', '.join(self.parts)}"


class SummaryPlan(StrictModel):
    """A number over many drawings other than the mean of a score over questions.

    Attributes:
        of: A score, or with `over` families of criteria.
        over: ``criteria`` for the mean over all criteria, so that questions with many count more.
        by: Tags; the number is the mean of the means of their values. A question counts for the first tag it has.
        weights: A tag's value -> its weight in that mean.
        weighted: Summary numbers or scores -> their weights in a weighted mean of them.
    """

    of: str | tuple[str, ...] = ()
    over: Literal["criteria"] | None = None
    by: Names = ()
    weights: dict[str, float] = Field(default_factory=dict)
    weighted: dict[str, float] = Field(default_factory=dict)
    about: str = ""
    top: float = Field(default=100.0, gt=0)
    digits: int = Field(default=1, ge=0)
    main: bool = True

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if sum((self.over is not None, bool(self.by), bool(self.weighted))) != 1:
            raise ValueError('a summary needs one of over = "criteria", by = [TAGS] and weighted = {NUMBER = WEIGHT}')
        if bool(self.of) == bool(self.weighted):
            raise ValueError("name what it is made of: of = SCORE, or weighted = {NUMBER = WEIGHT}")
        if self.by and not isinstance(self.of, str):
            raise ValueError("with by, of is one score")
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that `of` has."""
        return (self.of,) if isinstance(self.of, str) else self.of

    @property
    def words(self) -> str:
        """What it is, for tables; by default its parts."""
        return self.about or f"mean of {', '.join(self.parts or self.weighted)}"


class ResultColumn(StrictModel):
    """Where a release's result has the ratings of a family.

    Attributes:
        column: The column with the value, or with the list of `key`.
        key: The key of the value in each entry of a list, whose order is that of the criteria.
        reason: The column, or key in an entry, with the reason.
        reply: The column with the judge's whole reply, in its place.
    """

    column: str = ""
    key: str = ""
    reason: str = ""
    reply: str = ""

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        if bool(self.column) == bool(self.reply):
            raise ValueError("give one of column and reply")
        return self


class ResultPlan(StrictModel):
    """The files that a release's scorer writes, which ``limner import`` reads; see `limner.exams.rubric.data`.

    Attributes:
        files: Patterns of the files; `levels` and `id` are as for the data.
        id_until: A mark: an id ends before the last one, as where a number of the drawing follows.
        values: Family -> its place in a result.
    """

    files: tuple[str, ...] = Field(min_length=1)
    levels: tuple[str, ...] | None = None
    id: str | tuple[str, ...]
    id_until: str = ""
    values: dict[str, ResultColumn] = Field(min_length=1)


class ReadingPlan(StrictModel):
    """What a reading changes.

    Attributes:
        unread: What an undecided criterion is: ``open``, so that scores with it have no value; ``omit``, as if the
            question did not have it; ``lowest``; or ``drawing``, which leaves all criteria of the drawing open.
        scores: Scores that take the place of those with the same names.
    """

    unread: Literal["open", "omit", "lowest", "drawing"] = "open"
    scores: tuple[ScorePlan, ...] = ()


class Breakdowns(StrictModel):
    """The tags by which tables break down scores, the order of a tag's values, and the tag of clusters."""

    tags: tuple[str, ...] = ()
    orders: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    cluster: str = ""


class Definition(DataLayout):
    """The contents of an ``exam.toml``; `limner.exams.rubric.layout` describes the keys of the data."""

    name: FileName
    title: str = Field(min_length=1)
    licence: str = ""
    prompts: FileName = "prompts"
    variants: tuple[str, ...] = Field(default=("exam",), min_length=1)
    options: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    criteria: tuple[Family, ...] = Field(min_length=1)
    asks: tuple[AskPlan, ...] = Field(min_length=1)
    scores: tuple[ScorePlan, ...] = Field(min_length=1)
    summaries: dict[str, SummaryPlan] = Field(default_factory=dict)
    readings: dict[Reading, ReadingPlan] = Field(default_factory=dict)
    presets: dict[str, dict[str, Any]] = Field(default_factory=dict)
    results: ResultPlan | None = None
    breakdowns: Breakdowns = Breakdowns()

    def top(self, score: ScorePlan) -> float:
        """Return the best value of a score."""
        if score.top is not None:
            return score.top
        return float(self.family(score.parts[0])[0].high) if score.kind == "scale" else 100.0

    def read_as(self, reading: Reading) -> Definition:
        """Return the definition with the scores of a reading."""
        plans = {plan.name: plan for plan in self.readings.get(reading, ReadingPlan()).scores}
        if not plans:
            return self
        return self.model_copy(update={"scores": tuple(plans.get(plan.name, plan) for plan in self.scores)})

    def family(self, name: str) -> tuple[Family, ...]:
        """Return the families that a name means: one, or those of a group."""
        return tuple(each for each in self.criteria if name in (each.name, each.group))
