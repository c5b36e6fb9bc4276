"""The own step of GenExam's recipe: the topics of a taxonomy, from a table or drafted by a model."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from ....build.base import BuildItem, BuildStep, Dropped, StepContext, Use
from ....core.asks import Contract, Text, Unreadable
from ....core.data_rows import read_lines
from ....core.errors import DataError
from ....core.json_text import loads
from ....core.schema import StrictModel
from ....core.vocabulary import read_text_field
from . import points

LEVELS = ("level1", "level2", "level3", "level4")


class TaxonomySettings(StrictModel):
    """The choice of topics.

    Attributes:
        file: A table with ``level1`` to ``level4`` and ``isced``; a relative path is in the recipe's folder.
        subjects: Only these subjects of the table; all if empty.
        draft: Subjects for which a model drafts a taxonomy, instead of the table.
        leaves: The approximate number of topics drafted for each subject.
    """

    file: Path = Path("taxonomy.csv")
    subjects: tuple[str, ...] = ()
    draft: tuple[str, ...] = ()
    leaves: int = 20


async def taxonomy(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every topic of the taxonomy."""
    how: TaxonomySettings = context.settings
    for levels, isced in [] if how.draft else read_taxonomy(context.folder / how.file):
        if not how.subjects or levels[0] in how.subjects:
            yield _topic(levels, isced)
    for subject in how.draft:
        shown = [Text(context.prompts.fill("taxonomy", subject=subject, leaves=str(how.leaves)))]
        root = BuildItem(f"topic/{subject}", {}, "topic")

        def read(reply: str, subject: str = subject) -> list[tuple[list[str], str]]:
            return _drafted(reply, subject)

        for levels, isced in await context.ask("annotator", root, shown, Contract(read)):
            yield _topic(levels, isced)


def _topic(levels: Sequence[str], isced: str) -> BuildItem:
    path = "/".join(level.replace("/", " ").replace(" ", "_") for level in levels)
    id = f"topic/{path}"
    if len(id) > 180:
        id = id[:160] + hashlib.sha256(id.encode()).hexdigest()[:16]
    return BuildItem(id, {"path": path, "isced": isced}, "topic")


def read_taxonomy(file: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the levels and the ISCED-F field of each leaf; a field given at a level also applies below it.

    Raises:
        DataError: It cannot be read, or a row is not in its place.
    """
    rows: list[tuple[list[str], str]] = []
    for number, row in enumerate(csv.DictReader(read_lines(file)), 2):
        levels = [(row.get(level) or "").strip() for level in LEVELS]
        named = [level for level in levels if level]
        if not named or levels[: len(named)] != named:
            raise DataError(f"{', '.join(LEVELS)}: a level is missing before another", file=file, line=number)
        rows.append((named, (row.get("isced") or "").strip()))
    inner = {tuple(levels[:n]) for levels, _ in rows for n in range(1, len(levels))}
    fields = {tuple(levels): isced for levels, isced in rows}
    for levels, _ in rows:
        if tuple(levels) not in inner:
            above = (fields.get(tuple(levels[:n]), "") for n in range(len(levels), 0, -1))
            yield levels, next((isced for isced in above if isced), "")


def _drafted(reply: str, subject: str) -> list[tuple[list[str], str]]:
    leaves: Any = loads(reply).get("topics")
    if not isinstance(leaves, list) or not leaves:
        raise Unreadable('"topics" must be a list')
    topics = []
    for entry in leaves:
        if not isinstance(entry, dict):
            raise Unreadable("each topic must be an object")
        levels = [subject, *(read_text_field(entry, level) for level in LEVELS[1:])]
        code = read_text_field(entry, "isced")
        if not (code[:4].isdigit() and len(code) > 5):
            raise Unreadable(f'"isced" is {code[:60]!r}; it must be a code of four digits and its name')
        topics.append((levels, code))
    return topics


STEPS = {
    "taxonomy": BuildStep(
        "taxonomy", "takes the topics of a taxonomy, or has one drafted", TaxonomySettings, ("annotator",),
        ("taxonomy",), takes="topic", makes="topic", source=taxonomy, use=(Use("annotator", "taxonomy", 1500),),
    ),
}  # fmt: skip
"""The recipe's own steps, by name."""
WORDING = {"points": points.RULES}
"""The rules of wording that recipes may name."""
