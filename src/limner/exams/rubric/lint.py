"""Columns that a definition and its prompts use, compared with those that the data has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.exam import Exam
from ...core.vocabulary import line_of
from .definition import FIELD, Definition, Place


def lint_definition(file: Path, definition: Definition, exam: Exam[Any]) -> Iterator[DataError]:
    """Yield what a definition says about columns or tags that the exam's data lacks, with file and line."""
    names = {name.casefold() for each in exam.questions for name in (*each.rubric.model_dump(), *each.tags)}
    yield from absent_fields(file, definition, names)
    for n, tag in enumerate(definition.breakdowns.tags):
        if tag.casefold() not in names:
            yield _problem(file, ("breakdowns", "tags", n), f"no question has a tag {tag!r}", names)


def absent_fields(file: Path, definition: Definition, names: Collection[str]) -> Iterator[DataError]:
    """Yield each use of a column that is not among these names, which are in lower case, nor said to be optional."""
    own = {"criteria", "reply", "count", "prompt", "id"}
    own |= {name for family in definition.criteria for name in (family.name, family.group)}
    own |= {score.name for score in definition.scores}
    declared = [*(name for columns in definition.columns.values() for name in columns), *definition.tags]
    own |= {name.removesuffix("?").casefold() for name in declared}
    for field, place in used_fields(definition, file.parent / definition.prompts):
        if not field.endswith("?") and not {field.casefold(), field.partition(".")[0].casefold()} & {*names, *own}:
            if isinstance(place, Path):
                lines = place.read_text(encoding="utf-8").splitlines()
                line = next(n for n, text in enumerate(lines, 1) if f"{{{{{field}}}}}" in text)
                yield DataError(f"no row has a column {field!r}", file=place, line=line)
            else:
                yield _problem(file, place, f"no row has a column {field!r}", names)


def used_fields(definition: Definition, prompts: Path) -> Iterator[tuple[str, Place | Path]]:
    """Yield the columns and tags that criteria, conditions and templates use, with their places."""
    for n, family in enumerate(definition.criteria):
        place: Place = ("criteria", n)
        if family.column:
            yield family.column, (*place, "from")
        else:
            yield from ((name, (*place, "text")) for name in FIELD.findall(family.text))
            if isinstance(family.weight, str):
                yield family.weight, (*place, "weight")
        yield from ((condition.field, (*place, "when")) for condition in family.when)
    for n, ask in enumerate(definition.asks):
        yield from ((condition.field, ("asks", n, "when")) for condition in ask.when)
        for template in ask.templates:
            file = prompts / f"{template}.md"
            yield from ((name, file) for name in dict.fromkeys(FIELD.findall(file.read_text(encoding="utf-8"))))
    for n, score in enumerate(definition.scores):
        yield from ((condition.field, ("scores", n, "when")) for condition in score.when)


def _problem(file: Path, place: Place, message: str, names: Collection[str]) -> DataError:
    line = line_of(file.read_text(encoding="utf-8"), place)
    return DataError(f"{message}; there are: {', '.join(sorted(names))}", file=file, line=line)
