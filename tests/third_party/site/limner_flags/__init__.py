"""An exam about flags, as somebody else might publish it: one yes-or-no ask for every colour of a flag."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from limner.core.asks import Ask, Contract, Picture, Reply, Text, Unreadable, Variant
from limner.core.data_files import Id, Words, read_questions
from limner.core.errors import DataError
from limner.core.exam import Exam, Question
from limner.core.marks import Criterion, Mark, values
from limner.core.plot_data import Plot
from limner.core.protocol import Evidence, Protocol, Reading, Row, Score
from limner.exams import ImportedReply, Kind

from .pictures import halves, view

HERE = Path(__file__).parent
SIZES = {1: "one", 2: "two", 3: "three"}
"""What a flag's number of colours is called."""


class Rubric(BaseModel):
    """The colours a flag has."""

    colours: tuple[Words, ...] = Field(min_length=1)


class Flag(Rubric):
    """A line of flags.jsonl."""

    id: Id
    continent: Words


def read(folder: Path, name: str, columns: Mapping[str, str]) -> Exam[Rubric]:
    """Read flags.jsonl."""
    return Exam(name, "flags", tuple(read_questions(folder / "flags.jsonl", Flag, questions, columns=columns)))


def questions(flag: Flag, file: Path) -> list[Question[Rubric]]:
    """The one question of a line."""
    prompt, rubric = f"The flag of {flag.id.rsplit('/', 1)[-1].title()}", Rubric(colours=flag.colours)
    tags = {"continent": flag.continent, "size": SIZES.get(len(flag.colours), "more")}
    return [Question(flag.id, prompt, rubric, tags)]


def read_results(folder: Path) -> Iterator[ImportedReply]:
    """Read results.csv: flag, colour, reply."""
    path, results = folder / "results.csv", dict[str, list[tuple[str, str]]]()
    if not path.is_file():
        raise DataError("is missing", file=path)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            results.setdefault(row["flag"], []).append((row["colour"], row["reply"]))
    for flag, replies in results.items():
        yield ImportedReply(flag, tuple(replies), path)


def parse(text: str) -> int:
    """Yes or no."""
    word = text.strip().strip(".").casefold()
    if word not in ("yes", "no"):
        raise Unreadable('the reply must be "yes" or "no"')
    return int(word == "yes")


class Flags(Protocol[Rubric]):
    """Colours over all flags, and flags with all their colours."""

    scored = (
        Score("whole", 100, "percent of flags with all their colours"),
        Score("colours", 100, "percent of all colours that are there"),
    )
    variants = ("plain",)
    breakdowns = ("continent",)
    orders: Mapping[str, tuple[str, ...]] = {"size": (*SIZES.values(), "more")}
    label_kinds = frozenset[str]()

    def criteria(self, question: Question[Rubric]) -> list[Criterion]:
        """One for each colour."""
        return [Criterion(colour, f"Is there {colour}?", "colour") for colour in question.rubric.colours]

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """The one template."""
        return ("mark",)

    def asks(self, question: Question[Rubric], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """One for each colour."""
        asks = []
        for criterion in self.criteria(question):
            text = variant.prompts.fill("mark", prompt=question.prompt, colour=criterion.id)
            asks.append(Ask(criterion.id, (Text(text), Picture(image, 512)), (criterion,), Contract(parse)))
        return asks

    def marks(self, question: Question[Rubric], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Each colour by its own reply."""
        texts, found = {reply.ask: reply.text for reply in replies}, []
        for colour in question.rubric.colours:
            try:
                found.append(Mark(colour, parse(texts.get(colour, ""))))
            except Unreadable as error:
                found.append(Mark.unread(colour, str(error)))
        return found

    def scores(self, question: Question[Rubric], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Percentages of one flag."""
        known = values(marks)
        if len(known) < len(question.rubric.colours):
            return {"whole": 0.0 if 0 in known.values() else None, "colours": None}
        return {"whole": 100.0 * all(known.values()), "colours": 100.0 * sum(known.values()) / len(known)}

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Every colour counts the same, whatever its flag."""
        found = super().parts(row)
        if "colours" in found:
            count = float(len(row.marks))
            found["colours"] = (found["colours"][0] * count, count)
        return found


FLAGS = Kind(
    name="flags",
    title="Flags and their colours",
    rubric=Rubric,
    protocol=Flags(),
    read=read,
    prompts=HERE / "prompts",
    sample=HERE / "sample",
    read_results=read_results,
    paper=HERE / "paper",
    plots={"halves": Plot("whole flags against colours", halves, "points")},
    statistics={"stripes": lambda question: len(question.rubric.colours)},
    view=view,
)
