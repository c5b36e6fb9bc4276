"""The own steps of WorldGenBench's recipe: regions and disciplines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from ....build.base import WARNINGS, BuildItem, BuildStep, Dropped, StepContext, StepOutcome, add_warnings
from ....build.criterion_words import plain
from ....core.data_rows import read_lines
from ....core.errors import DataError, UsageError
from ....core.schema import StrictModel
from . import checklists

TOPIC = "topic/"
COLUMNS = ("code", "name", "continent")


class Region(NamedTuple):
    """A row of the table; `also` has the other continents of a transcontinental state."""

    code: str
    name: str
    continent: str
    also: tuple[str, ...]


class RegionsSettings(StrictModel):
    """The choice of regions.

    Attributes:
        file: A table with ``code``, ``name``, ``continent`` and ``also`` (further continents, with ``|`` between them);
            the recipe's own is ISO 3166-1.
        prompts: The number of prompts for each region; with 0, there are no regions.
        continents: Only these continents; all if empty.
        codes: Only these regions; all if empty.
        transcontinental: The continent of a state on several continents: that of its ``capital`` (the column
            ``continent``), ``each`` of them, or ``none``, which leaves the state out.
    """

    file: Path = Path("iso-3166-1.csv")
    prompts: int = Field(default=3, ge=0, le=100)
    continents: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    transcontinental: Literal["capital", "each", "none"] = "capital"


def read_regions(file: Path) -> list[Region]:
    """Return the rows of a table of regions.

    Raises:
        DataError: It cannot be read, lacks a column or a cell, or names a code twice.
    """
    reader = csv.DictReader(read_lines(file))
    if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        raise DataError(f"there is no column {missing[0]}; there must be: {', '.join(COLUMNS)}", file=file, line=1)
    by_code: dict[str, Region] = {}
    for number, row in enumerate(reader, 2):
        code, name, continent = ((row.get(column) or "").strip() for column in COLUMNS)
        if not (code and name and continent):
            raise DataError(f"{', '.join(COLUMNS)} must all be there", file=file, line=number)
        if code in by_code:
            raise DataError(f"{code} occurs twice", file=file, line=number)
        also = tuple(part.strip() for part in (row.get("also") or "").split("|") if part.strip())
        by_code[code] = Region(code, name, continent, also)
    return list(by_code.values())


async def regions(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every region."""
    how: RegionsSettings = context.settings
    if not how.prompts:
        return
    table = read_regions(context.folder / how.file)
    for what, asked, names in (
        ("continents", how.continents, {name for region in table for name in (region.continent, *region.also)}),
        ("codes", how.codes, {region.code for region in table}),
    ):
        if unknown := sorted(set(asked) - names):
            raise UsageError(f"step {context.place}: {what}: {how.file} has no {unknown[0]!r}")
    for region in table:
        if how.codes and region.code not in how.codes:
            continue
        id = f"{TOPIC}region/{region.code}"
        if region.also and how.transcontinental == "none":
            yield id, Dropped("transcontinental", f"{region.name}: {region.continent}, {', '.join(region.also)}")
            continue
        for continent in (region.continent, *(region.also if how.transcontinental == "each" else ())):
            code = (
                region.code
                if continent == region.continent
                else f"{region.code}-{''.join(w[0] for w in continent.split())}"
            )
            if not how.continents or continent in how.continents:
                body = {"code": code, "name": region.name, "domain": "humanities", "wanted": how.prompts}
                body |= {"continent": continent, "country": region.name}
                yield BuildItem(f"{TOPIC}region/{code}", body, "topic")


class DisciplinesSettings(StrictModel):
    """The choice of disciplines.

    Attributes:
        names: Short name -> discipline.
        prompts: The total number of prompts, distributed evenly, any remainder to the first ones; 0 for none.
    """

    names: dict[str, str] = Field(default_factory=dict)
    prompts: int = Field(default=340, ge=0)


async def disciplines(
    items: Sequence[BuildItem], context: StepContext
) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every discipline."""
    how: DisciplinesSettings = context.settings
    for n, (code, name) in enumerate(how.names.items()):
        wanted = how.prompts // len(how.names) + (n < how.prompts % len(how.names))
        if wanted:
            body = {"code": code, "name": name, "domain": "nature", "wanted": wanted, "discipline": name}
            yield BuildItem(f"{TOPIC}discipline/{code}", body, "topic")


class RecurringSettings(StrictModel):
    """The definition of items that recur in many checklists. All numbers are our choice.

    Attributes:
        items: The fewest checklists that an item recurs in, and `share` their smallest share of all.
        least: The share of its items from which a checklist is warned of.
    """

    items: int = Field(default=3, ge=2)
    share: float = Field(default=0.02, gt=0, le=1)
    least: float = Field(default=0.3, gt=0, le=1)


async def recurring(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Warn of checklists whose items are those of many others."""
    how: RecurringSettings = context.settings
    texts = {item.id: {plain(str(entry["item"])) for entry in item.body["checklist"]} for item in items}
    counts = Counter(text for own in texts.values() for text in own)
    often = {text for text, count in counts.items() if count >= max(how.items, how.share * len(items))}
    left: dict[str, StepOutcome] = {}
    for item in items:
        same = texts[item.id] & often
        words = f"{len(same)} of {len(texts[item.id])} entries recur in other items, such as {min(same, default='')!r}"
        left[item.id] = add_warnings(item, [words] if same and len(same) >= how.least * len(texts[item.id]) else [])
    return left


STEPS = {
    "regions": BuildStep("regions", "takes countries and regions from a table", RegionsSettings, takes="topic",
                         makes="topic", source=regions, preview=True),
    "disciplines": BuildStep("disciplines", "takes disciplines, and deals prompts out among them", DisciplinesSettings,
                             takes="topic", makes="topic", source=disciplines, preview=True),
    "recurring": BuildStep("recurring", "warns of checklists whose items are those of many others", RecurringSettings,
                           reads=(WARNINGS, "checklist"), takes="prompt", makes="prompt", together=recurring),
}  # fmt: skip
"""The recipe's own steps, by name."""
WORDING = {"checklist": checklists.RULES}
"""The rules of wording that recipes may name."""
