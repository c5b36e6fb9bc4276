"""Designs of studies: what is sampled, by how many it is rated, what is shown and asked. Data that exams own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..core.errors import UsageError
from ..core.schema import StrictModel, Words, read_model
from ..exams import Kind, each

Name = Annotated[Words, Field(pattern=r"^[a-z][a-z0-9_-]{0,60}$")]
RESERVED = frozenset({"skip", "check", "rank", "choice", "comment"})
"""Names of fields that every form may have; a scale has another one."""


class SampleDesign(StrictModel):
    """What is taken.

    Attributes:
        of: ``drawings`` of each painter, or ``references``: questions, each with the drawings of all painters.
        painters: How many painters the paper has; None: all there are.
        original: Whether the original figure is shown among them, as the painter ``control/reference`` draws it.
        size: How many references in all, or drawings of each painter.
        each: How many in each cell that the tags of `cross` make, instead of `size`.
        strata: Tags over which `size` is spread in the exam's own proportions.
        by: ``random``, or ``disagreement``: the more judges disagree on it, the likelier it is taken.
        least: With ``disagreement``, what is added to each one's disagreement (0 to 1), so that none is left out for
            certain.
        seed: Another one takes others.
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
            raise ValueError("each is so many in each cell of cross: give both")
        if self.strata and (self.cross or self.by == "disagreement"):
            raise ValueError("strata go with size and by = 'random' alone")
        return self


class ShownDesign(StrictModel):
    """What stands beside the drawings.

    Attributes:
        prompt: The question's text: what was to be drawn, or the method text.
        reference: Whether the reference image can be looked at.
        graph: Whether the exam's graph of the question is shown, where it has one.
        side: Every picture is shown on a square of so many pixels.
    """

    prompt: bool = True
    reference: bool = True
    graph: bool = False
    side: int = Field(default=1536, ge=256, le=4096)


class QualityDesign(StrictModel):
    """How raters are looked after.

    Attributes:
        repeats: The share of its items that each rater sees a second time, for agreement with oneself.
        attention: After about so many items comes one that says what to answer; 0: none.
    """

    repeats: float = Field(default=0.0, ge=0, le=0.5)
    attention: int = Field(default=0, ge=0)


class ScalePart(StrictModel):
    """A number from `low` to `high`; kept as a rating.

    Attributes:
        ends: Words for the two ends.
        whole: Whether only whole numbers can be answered; others come from elsewhere.
    """

    kind: Literal["scale"]
    name: Name
    text: Words
    low: int
    high: int
    ends: tuple[Words, Words] | None = None
    whole: bool = True

    @model_validator(mode="after")
    def _is_a_scale(self) -> Self:
        if self.high - self.low < 1 or (self.whole and self.high - self.low > 100):
            raise ValueError("a scale has from 2 to 101 steps")
        if self.name in RESERVED:
            raise ValueError(f"{self.name!r} is no name for a scale; take another")
        return self


class CriteriaPart(StrictModel):
    """Criteria of the exam, by id or by ``name/*``; ``*`` is all that no other part asks. Kept as a marking.

    Attributes:
        texts: Other words for some of them, by id.
    """

    kind: Literal["criteria"]
    criteria: tuple[Words, ...]
    text: Words = ""
    texts: dict[str, Words] = Field(default_factory=dict)


class ListingPart(StrictModel):
    """Things that the rater lists, each with its sort and place, such as unexpected content.

    Kept as marks: ``NAME/SORT`` is 1 where nothing of the sort is listed, and ``NAME/SORT/N`` is each thing.
    """

    kind: Literal["listing"]
    name: Name
    text: Words
    sorts: tuple[Words, ...] = Field(min_length=1)


class ChoicePart(StrictModel):
    """Which of two drawings; kept as a comparison on the scale `name`."""

    kind: Literal["choice"]
    name: Name
    text: Words
    tie: bool = True


class RankPart(StrictModel):
    """An order of all drawings shown, 1 for the best; kept as ratings on the scale ``rank``."""

    kind: Literal["rank"]
    text: Words


FormPart = Annotated[ScalePart | CriteriaPart | ListingPart | ChoicePart | RankPart, Field(discriminator="kind")]


class StudyDesign(StrictModel):
    """A design.

    Attributes:
        title: What it is, in a line.
        paper: Where the paper describes it; empty for a design of one's own.
        ours: What the paper does not say and we have chosen, such as ``raters``.
        unit: What is shown at one time: one ``drawing``, a ``pair``, or all drawings of a question to ``rank``.
        raters: How many people rate each item.
        form: What is asked, in this order.
        consent: What raters agree to before they begin.
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
            raise ValueError("a pair is asked for a choice, and for nothing else")
        if self.unit == "rank" and kinds != {"rank"}:
            raise ValueError("drawings to rank are asked for a rank, and for nothing else")
        if self.unit == "drawing" and kinds & {"choice", "rank"}:
            raise ValueError("a choice needs unit = 'pair', a rank unit = 'rank'")
        if self.unit != "drawing" and (len(self.form) > 1 or self.sample.of == "drawings"):
            raise ValueError("pairs and ranks have one part, and a sample of references")
        names = [part.name for part in self.form if isinstance(part, ScalePart | ListingPart)]
        if len(set(names)) < len(names):
            raise ValueError("two parts of the form have one name")
        return self


def designs(kind: Kind[Any]) -> dict[str, Path]:
    """Return the designs that an exam ships, by name."""
    return (
        {file.stem: file for file in sorted(kind.studies.glob("*.toml"), key=lambda one: one.stem)}
        if kind.studies
        else {}
    )


def find_design(word: str, kind: Kind[Any]) -> StudyDesign:
    """Return the design of this name that the exam ships, or the one in the file that ends in .toml.

    Raises:
        UsageError: There is none; says which there are.
        DataError: The file is wrong; says where.
    """
    if word.endswith(".toml"):
        return read_model(Path(word), StudyDesign)
    shipped = designs(kind)
    if word not in shipped:
        other = next((one.name for one in each() if word in designs(one)), None)
        hint = f"; it is a design of {other}" if other else ""
        there = ", ".join(shipped) or "none"
        raise UsageError(f"{kind.name} has no design {word!r}{hint}; there is: {there}, or a FILE.toml of your own")
    return read_model(shipped[word], StudyDesign)
