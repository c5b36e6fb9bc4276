"""The method section: files are joined, macros expanded, and the section is found by rules or else by a model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...core.asks import Contract, Text, Unreadable
from ...core.errors import DataError, UsageError
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..latex.figures import LatexSection, method_section, rank_figures, sections
from ..latex.macros import expand_macros
from ..latex.sources import flatten, read_source
from ..paper_rules import RecipeRules, read_rules

SHOWN = 60
"""The number of words of each section that the model is shown."""


class LatexMethodSettings(StrictModel):
    """The limit on the length of a method text, in characters; longer texts fit no painter."""

    longest: int = 60_000


async def latex_method(item: BuildItem, context: StepContext) -> BuildItem:
    """Find the method section of a paper by rules, or else with a model."""
    rules = read_rules(context.folder)
    try:
        read = await asyncio.to_thread(_read, Path(item.body["path"]), item.id)
    except DataError as error:
        raise Dropped("no LaTeX that can be read", str(error)) from error
    document, preamble, names, notes = read
    parts = sections(document)
    if not parts:
        raise Dropped("no sections")
    chosen = method_section(parts, rules.method)
    section, by = chosen or (await _asked(item, context, parts, rules), "a model")
    if section.words < rules.method.least_words:
        raise Dropped("method section too short", f"{section.words} words of at least {rules.method.least_words}")
    if len(section.text) > context.settings.longest:
        raise Dropped("method section too long", f"{len(section.text):,} characters")
    try:
        figures = rank_figures(document, section.text, names, rules.figures, preamble)
    except ModuleNotFoundError as error:
        raise UsageError("reading LaTeX needs pylatexenc: pip install 'limner[build]'") from error
    return item.having(
        method=section.text, method_title=section.title, method_by=by, notes=list(notes),
        figures=[part.__dict__ for part in figures],
    )  # fmt: skip


def _read(path: Path, id: str) -> tuple[str, str, frozenset[str], tuple[str, ...]]:
    source = read_source(path, id)
    flat = flatten(source)
    document, notes = expand_macros(flat)
    missing = tuple(f"{name} is not in the source" for name in flat.missing)
    return document, flat.preamble, source.names, (*source.left_out, *missing, *notes)


async def _asked(
    item: BuildItem, context: StepContext, parts: Sequence[LatexSection], rules: RecipeRules
) -> LatexSection:
    listed = "\n\n".join(
        f"{n}. {part.title} ({part.words} words)\n{' '.join(part.text.split()[:SHOWN])}"
        for n, part in enumerate(parts, 1)
    )
    shown = Text(context.prompts.fill("method-section", sections=listed))
    contract = Contract(partial(_number, count=len(parts)))
    number = await context.ask("reader", item, [shown], contract)
    if number == 0:
        raise Dropped("no method section")
    return parts[number - 1]


def _number(text: str, count: int) -> int:
    number: Any = loads(text).get("section")
    if type(number) is not int or not 0 <= number <= count:
        raise Unreadable(f'"section" must be a number from 1 to {count}, or 0 where none is the method section')
    return number


STEP = BuildStep(
    "latex-method", "the method section, by its heading or by a model; figures by file name and caption",
    LatexMethodSettings, ("reader",), ("method-section",), ("path", "changed"), takes="paper", makes="paper",
    each=latex_method, use=(Use("reader", 1500, 20),), version=1,
)  # fmt: skip
