"""Designs of studies: what is sampled, shown and asked, how many people rate each item, and the fields of the form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..core.errors import UsageError
from ..core.marks import Criterion
from ..core.schema import StrictModel, Words, read_model
from ..exams import Kind, each

Name = Annotated[Words, Field(pattern=r"^[a-z][a-z0-9_-]{0,60}$")]
RESERVED = frozenset({"skip", "check", "rank", "choice", "comment"})
"""Names of common fields; a scale must have another name."""
CHECK_VALUES = 5
"""The highest number that an attention check asks for."""


class SampleDesign(StrictModel):
    """The sample of a study.

    Attributes:
        of: ``drawings`` of each painter, or ``references``: questions, each with the drawings of all painters.
        painters: The number of painters in the paper; None for all.
        original: Whether the original figure, by the painter ``control/reference``, is shown among the drawings.
        size: The number of references in all, or of drawings of each painter.
        each: The number in each cell of the crossed tags `cross`, instead of `size`.
        strata: Tags over which `size` is spread in the exam's proportions.
        by: ``random``, or ``disagreement``: the more judges disagree on a drawing, the likelier it is sampled.
        least: With ``disagreement``, a number added to each disagreement (0 to 1), so that any drawing can be sampled.
        seed: The seed of the sample.
    """

    of: Literal["drawings", "references"]
    painters: int | None = Field(default=None, ge=1)
    original: bool = False
    size: int | None = Field(default=None, ge=1)
    each: int | None = Field(default=None, ge=1)
    cross: tuple[Words, ...] = ()
    strata: tuple[Words, ...] = ()
    by: Literal["random", "disagreement"] = "random"
    least: float = Field(default=0.1, gt=0, le=1)
    seed: int = 0

    @model_validator(mode="after")
    def _has_one_size(self) -> Self:
        if (self.size is None) == (self.each is None):
            raise ValueError("give either size, or each with the tags to cross")
        if (self.each is not None) != bool(self.cross):
            raise ValueError("each is the number in each cell of cross: give both")
        if self.strata and (self.cross or self.by == "disagreement"):
            raise ValueError("strata need size and by = 'random'")
        return self


class ShownDesign(StrictModel):
    """The parts of a page that are shown with the drawings.

    Attributes:
        prompt: Whether the question's text is shown.
        inputs: Whether the pictures that painters were given are shown.
        reference: Whether the reference image is shown.
        graph: Whether the exam's graph of the question is shown, if it has one.
        side: The side of the square on which every picture is shown, in pixels.
    """

    prompt: bool = True
    inputs: bool = True
    reference: bool = True
    graph: bool = False
    side: int = Field(default=1536, ge=256, le=4096)


class QualityDesign(StrictModel):
    """Checks of the raters' quality.

    Attributes:
        repeats: The share of items that each rater sees twice, to measure consistency.
        attention: The approximate number of items between attention checks; 0 for none.
    """

    repeats: float = Field(default=0.0, ge=0, le=0.5)
    attention: int = Field(default=0, ge=0)


class ScalePart(StrictModel):
    """A number from `low` to `high`, stored as a rating.

    Attributes:
        ends: Labels of the two ends.
        whole: Whether only whole numbers are valid; imported answers may have others.
        first: Whether the rest of the form appears once it is answered; only for the first part.
    """

    kind: Literal["scale"]
    name: Name
    text: Words
    low: int
    high: int
    ends: tuple[Words, Words] | None = None
    whole: bool = True
    first: bool = False

    @model_validator(mode="after")
    def _is_a_scale(self) -> Self:
        if self.high - self.low < 1 or (self.whole and self.high - self.low > 100):
            raise ValueError("a scale has from 2 to 101 steps")
        if self.name in RESERVED:
            raise ValueError(f"a scale cannot be called {self.name!r}; choose another name")
        return self


class CriteriaPart(StrictModel):
    """Criteria of the exam, by id or ``name/*``; ``*`` means all that no other part asks. Stored as a marking.

    Attributes:
        texts: Other texts for some of them, by id.
        gates: Criteria, by id or ``*/name``, whose no answers the rest of their group with no: what is not there has
            no number or place.
    """

    kind: Literal["criteria"]
    criteria: tuple[Words, ...]
    text: Words = ""
    texts: dict[str, Words] = Field(default_factory=dict)
    gates: tuple[Words, ...] = ()


class ListingPart(StrictModel):
    """Things that the rater lists, each with its sort and place, such as unexpected content.

    Stored as marks: ``NAME/SORT`` is 1 if nothing of the sort is listed, and ``NAME/SORT/N`` is each thing.
    """

    kind: Literal["listing"]
    name: Name
    text: Words
    sorts: tuple[Words, ...] = Field(min_length=1)


class ChoicePart(StrictModel):
    """A choice between two drawings, stored as a comparison on the scale `name`."""

    kind: Literal["choice"]
    name: Name
    text: Words
    tie: bool = True


class RankPart(StrictModel):
    """A ranking of all drawings shown, 1 for the best, stored as ratings on the scale ``rank``."""

    kind: Literal["rank"]
    text: Words


FormPart = Annotated[ScalePart | CriteriaPart | ListingPart | ChoicePart | RankPart, Field(discriminator="kind")]


class StudyDesign(StrictModel):
    """The design of a study.

    Attributes:
        title: A line about it.
        paper: The place in the paper that describes it; empty for a user's own design.
        ours: Settings that the paper does not give and Limner chose, such as ``raters``.
        unit: What is shown at one time: one ``drawing``, a ``pair``, or all drawings of a question to ``rank``.
        raters: The number of people who rate each item.
        form: The parts of the form, in order.
        consent: The text that raters agree to before they begin.
    """

    title: Words
    paper: Words = ""
    ours: tuple[Words, ...] = ()
    unit: Literal["drawing", "pair", "rank"] = "drawing"
    raters: int = Field(ge=1)
    sample: SampleDesign
    show: ShownDesign = ShownDesign()
    quality: QualityDesign = QualityDesign()
    form: tuple[FormPart, ...] = Field(min_length=1)
    instructions: Words = ""
    consent: Words = ""

    @model_validator(mode="after")
    def _fits_its_unit(self) -> Self:
        kinds = {part.kind for part in self.form}
        if self.unit == "pair" and kinds != {"choice"}:
            raise ValueError("the form of a pair has a choice and nothing else")
        if self.unit == "rank" and kinds != {"rank"}:
            raise ValueError("the form of a ranking has a rank and nothing else")
        if self.unit == "drawing" and kinds & {"choice", "rank"}:
            raise ValueError("a choice needs unit = 'pair', a rank unit = 'rank'")
        if self.unit != "drawing" and (len(self.form) > 1 or self.sample.of == "drawings"):
            raise ValueError("pairs and ranks have one part, and a sample of references")
        names = [part.name for part in self.form if isinstance(part, ScalePart | ListingPart)]
        if len(set(names)) < len(names):
            raise ValueError("two parts of the form have the same name")
        return self


GENERAL = Path(__file__).with_name("criteria.toml")
"""The design that every exam has."""


def designs(kind: Kind[Any]) -> dict[str, Path]:
    """Return the designs that an exam ships, by name, and the general one last."""
    own = sorted(kind.studies.glob("*.toml"), key=lambda path: path.stem) if kind.studies else []
    return {file.stem: file for file in (*own, GENERAL)}


def find_design(word: str, kind: Kind[Any]) -> StudyDesign:
    """Return the exam's design of this name, or the design in a .toml file.

    Raises:
        UsageError: There is no such design; lists the available ones.
        DataError: The file is not valid.
    """
    if word.endswith(".toml"):
        return read_model(Path(word), StudyDesign)
    shipped = designs(kind)
    if word not in shipped:
        other = next((exam_kind.name for exam_kind in each() if word in designs(exam_kind)), None)
        hint = f"; it is a design of {other}" if other else ""
        names = ", ".join(shipped)
        raise UsageError(f"{kind.name} has no design {word!r}{hint}; available: {names}, or a FILE.toml of your own")
    return read_model(shipped[word], StudyDesign)


SKIP, CHECK, CHOICE = "skip", "check", "choice"
FIRST, SECOND, TIE = "first", "second", "tie"
YES_NO = ((1, "yes"), (0, "no"))
MAX_LISTED = 100
"""The most things that can be listed about one drawing."""
MAX_TEXT = 500
"""The most characters of the description of a thing, its place, or the reason for a skip."""


@dataclass(frozen=True)
class AnswerField:
    """One field of a form.

    Attributes:
        name: As in the exchange formats: a criterion's id, a scale's name, ``rank/N``, ``choice``, a listing's name.
        kind: ``scale``, ``criterion``, ``listing``, ``choice``, ``rank`` or ``check``.
        text: The question to the rater.
        values: The valid answers with their labels; empty for a listing, and for a scale of any numbers.
        group: Fields of one group are shown together.
        sorts: The sorts of listed things.
        lead: A text above the first field of a part.
        ends: The labels of the lowest and the highest value.
        gate: The criterion whose no answers this one with no.
        opens: Whether the rest of the form appears once this is answered.
    """

    name: str
    kind: str
    text: str
    values: tuple[tuple[int | str, str], ...] = ()
    group: str = ""
    sorts: tuple[str, ...] = ()
    lead: str = ""
    ends: tuple[str, str] | None = None
    gate: str = ""
    opens: bool = False

    def checked(self, value: Any) -> Any:
        """Check a value, and return it as it is stored.

        Raises:
            ValueError: The value is not valid; lists the valid ones.
        """
        if self.kind == "listing":
            return _listing(value, self.sorts)
        if self.kind == "scale" and not self.values:
            return _number(self.name, value)
        valid = {answer for answer, _ in self.values}
        if isinstance(value, bool) or not isinstance(value, int | str) or value not in valid:
            raise ValueError(
                f"{self.name}: {value!r:.40} is not one of {', '.join(str(answer) for answer, _ in self.values)}"
            )
        return value

    def answered(self, value: Any) -> bool:
        """Return whether this value completes the field; a listing must be closed."""
        return value is not None and (self.kind != "listing" or bool(value["done"]))


def make_form(design: StudyDesign, criteria: Sequence[Criterion], drawings: int) -> list[AnswerField]:
    """Return the fields for one item, in the design's order.

    Raises:
        UsageError: The design asks for no criterion that the question has.
    """
    named = {pattern for part in design.form if isinstance(part, CriteriaPart) for pattern in part.criteria}
    fields: list[AnswerField] = []
    for part in design.form:
        if isinstance(part, ScalePart):
            values = tuple((n, str(n)) for n in range(part.low, part.high + 1)) if part.whole else ()
            fields.append(AnswerField(part.name, "scale", part.text, values, ends=part.ends, opens=part.first))
        elif isinstance(part, CriteriaPart):
            fields += _criteria(part, criteria, named)
        elif isinstance(part, ListingPart):
            fields.append(AnswerField(part.name, "listing", part.text, sorts=part.sorts))
        elif isinstance(part, ChoicePart):
            sides = ((FIRST, "first"), (SECOND, "second"), *(((TIE, "tie"),) if part.tie else ()))
            fields.append(AnswerField(CHOICE, "choice", part.text, sides))
        elif isinstance(part, RankPart):
            ranks = tuple((n, str(n)) for n in range(1, drawings + 1))
            fields += [AnswerField(f"rank/{n}", "rank", part.text, ranks, "rank") for n in range(1, drawings + 1)]
    if not fields:
        raise UsageError("the design's form asks nothing about this question; see its criteria with `limner exams`")
    return fields


def check_form(expected: int) -> list[AnswerField]:
    """Return the form of an attention check."""
    values = tuple((n, str(n)) for n in range(1, CHECK_VALUES + 1))
    text = f"This is a check that you read carefully. Please choose {expected}."
    return [AnswerField(CHECK, "check", text, values)]


def _criteria(part: CriteriaPart, criteria: Sequence[Criterion], named: set[str]) -> list[AnswerField]:
    fields: list[AnswerField] = []
    for pattern in part.criteria:
        for criterion in criteria:
            rest = pattern == "*" and any(field != "*" and fnmatchcase(criterion.id, field) for field in named)
            if rest or not fnmatchcase(criterion.id, pattern) or any(field.name == criterion.id for field in fields):
                continue
            numbers = range(criterion.low, criterion.top + 1)
            values = YES_NO if criterion.top == 1 else tuple((n, str(n)) for n in numbers)
            text, lead = part.texts.get(criterion.id, criterion.text), "" if fields else part.text
            parts = criterion.id.split("/")
            group = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
            fields.append(AnswerField(criterion.id, "criterion", text, values, group, lead=lead))
    gates = {field.group: field.name for field in fields if any(fnmatchcase(field.name, gate) for gate in part.gates)}
    return [field if gates.get(field.group, field.name) == field.name else replace(field, gate=gates[field.group])
            for field in fields]  # fmt: skip


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name}: {value!r:.40} is not a number")
    return float(value)


def _listing(value: Any, sorts: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("items"), list):
        raise ValueError("a listing needs a list of things")
    if len(value["items"]) > MAX_LISTED:
        raise ValueError(f"{len(value['items'])} things; at most {MAX_LISTED} can be listed")
    things = []
    for thing in value["items"]:
        words: dict[str, Any] = {
            name: thing.get(name) if isinstance(thing, Mapping) else None for name in ("sort", "item", "place")
        }
        if words["sort"] not in sorts:
            raise ValueError(f"the sort of each thing is one of {', '.join(sorts)}")
        for name in ("item", "place"):
            if not isinstance(words[name], str) or not 0 < len(str(words[name]).strip()) <= MAX_TEXT:
                raise ValueError(f"each thing needs a description and a place, of at most {MAX_TEXT} characters each")
        things.append({"sort": words["sort"], "item": words["item"].strip(), "place": words["place"].strip()})
    return {"items": things, "done": bool(value.get("done"))}
