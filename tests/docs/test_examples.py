"""Examples in the help, the pages, the docstrings and the notebooks name models that can still be used.

A model is gone by the catalogue's own day, the last one on which any of its prices was looked up, never by the clock:
the test changes its mind only when the catalogue does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

from limner.core.catalogue import ModelFacts, state_of
from limner.core.settings import Settings, load_shipped
from tests.docs.blocks import PAGES, ROOT

KNOWN = Settings.model_validate(load_shipped())
READ = (".py", ".toml", ".sh", ".md")
"""What the package's own files with examples end in."""
EXEMPT_FILES = (
    "CHANGELOG.md",  # what was
    "docs/models.md",  # lists which models are gone, and since when
    "src/limner/core/models.toml",  # the catalogue itself
    "src/limner/exams/*/presets.toml",  # a paper's preset keeps its paper's judge
    "src/limner/exams/*/exam.toml",  # likewise
    "src/limner/exams/*/paper/*",  # a paper's rows are of its own models
)
EXEMPT_LINES = re.compile(
    r"limner import\b"  # results of models that were drawn and marked elsewhere, at any time
    r"|^\| `[\w.-]+(/[\w.-]+)+`(,| \|)"  # a row about models, as in the lists of sizes and prices of the catalogue
    r"|data:image/\w"  # a notebook's picture
)
"""Lines that may name any model; a command that goes on in the next line takes it along."""


def catalogue_day(known: Settings) -> date:
    """The last day on which any price of the catalogue was looked up."""
    days = {facts.priced_on for facts in known.models.values()} | {facts.priced_on for facts in known.painters.values()}
    return max(date.fromisoformat(day) for day in days if day)


def gone_names(models: dict[str, ModelFacts], day: date) -> list[str]:
    """The names of models that are gone by that day, with and without their service and maker; the longest first."""
    gone = [name for name, facts in models.items() if state_of(facts, day) == "gone"]
    alive = {name.rpartition("/")[2] for name in models.keys() - gone}
    bare = {name.rpartition("/")[2] for name in gone} - alive
    return sorted({*gone, *bare}, key=lambda name: (-len(name), name))


def examples() -> Iterator[Path]:
    """Every file with examples that a user reads, those apart that may name any model."""
    package = sorted(file for file in (ROOT / "src").rglob("*") if file.suffix in READ)
    for file in (*PAGES, *sorted((ROOT / "notebooks").glob("*.ipynb")), *package):
        if not any(file.relative_to(ROOT).match(pattern) for pattern in EXEMPT_FILES):
            yield file


def namings(lines: Iterable[str], names: list[str]) -> Iterator[tuple[int, str]]:
    """The numbers of the lines that name one of these models, and the name; exempt lines are passed over."""
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-]|\.\w)")
    continued = False
    for number, line in enumerate(lines, 1):
        exempt = continued or EXEMPT_LINES.search(line) is not None
        continued = exempt and line.endswith("\\")
        if not exempt:
            yield from ((number, name) for name in pattern.findall(line))


def test_examples_name_available_models() -> None:
    day = catalogue_day(KNOWN)
    names = gone_names(KNOWN.models, day)
    outdated = [
        f"{file.relative_to(ROOT)}:{line}: {name} is gone by {day}"
        for file in examples()
        for line, name in namings(file.read_text("utf-8").splitlines(), names)
    ]
    assert not outdated, "name a model that is still there, see `limner models`:\n" + "\n".join(outdated)
