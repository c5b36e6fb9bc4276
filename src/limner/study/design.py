"""Designs of studies: what is sampled, shown and asked, and how many people rate each item."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..core.errors import UsageError
from ..core.schema import StrictModel, Words, read_model
from ..exams import Kind, each

Name = Annotated[Words, Field(pattern=r"^[a-z][a-z0-9_-]{0,60}$")]
RESERVED = frozenset({"skip", "check", "rank", "choice", "comment"})
"""Names of common fields; a scale must have another name."""


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
