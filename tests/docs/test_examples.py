"""Examples in the help, the pages, the docstrings and the notebooks name models that can still be used.

A model is gone by the catalogue's own day, the last one on which any of its prices was looked up, never by the clock:
the test changes its mind only when the catalogue does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path

import pytest

from limner.core.catalogue import ModelFacts, state_of
from limner.core.settings import Settings, shipped
from tests.docs.blocks import PAGES, ROOT

KNOWN = Settings.model_validate(shipped())
READ = (".py", ".toml", ".sh", ".md")
"""What the package's own files with examples end in."""
EXEMPT_FILES = (
    "CHANGELOG.md",  # what was
    "docs/models.md",  # lists which models are gone, and since when
    "src/limner/core/models.toml",  # the catalogue itself
    "src/limner/exams/*/presets.toml",  # a paper's preset keeps its paper's judge
    "src/limner/exams/*/paper/*",  # a paper's rows are of its own models
)
EXEMPT_LINES = re.compile(
    r"limner import\b"  # results of models that were drawn and marked elsewhere, at any time
    r"|^\| `[\w.-]+(/[\w.-]+)+` \|"  # a row about one model, as in the lists of sizes and prices of the catalogue
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


def test_examples_name_models_that_can_be_used() -> None:
    day = catalogue_day(KNOWN)
    names = gone_names(KNOWN.models, day)
    told = [
        f"{file.relative_to(ROOT)}:{line}: {name} is gone by {day}"
        for file in examples()
        for line, name in namings(file.read_text("utf-8").splitlines(), names)
    ]
    assert not told, "name a model that is still there, see `limner models`:\n" + "\n".join(told)


def test_the_files_that_show_examples_are_read() -> None:
    read = {str(file.relative_to(ROOT)) for file in examples()}
    assert {
        "README.md", "docs/build.md", "docs/providers/openrouter.md", "notebooks/choose_between_two_models.ipynb",
        "src/limner/cli/help.toml", "src/limner/cli/options.py", "src/limner/site/private.py",
    } <= read  # fmt: skip
    assert not read & {"docs/models.md", "src/limner/exams/genexam/presets.toml"}
    assert not [name for name in read if "/paper/reproduce.toml" in name]


def test_a_model_is_gone_by_the_day_of_the_catalogue() -> None:
    gone, ending = ModelFacts(shutdown=date(2026, 1, 5)), ModelFacts(shutdown=date(2026, 1, 6))
    models = {"lab/old": gone, "seller/lab/old": gone, "lab/older": ending, "seller/lab/two": gone, "lab/two": ending}
    assert gone_names(models, date(2026, 1, 5)) == ["seller/lab/old", "seller/lab/two", "lab/old", "old"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("limner run x --painter lab/old --judge ocr", [(1, "lab/old")]),
        ("such as lab/old.", [(1, "lab/old")]),
        ("-S painter=lab/old\nfor old at most $1", [(1, "lab/old"), (2, "old")]),
        ("lab/old-mini, lab/old.5, older, behold", []),
        ("$ limner import x --painter old", []),
        ("$ limner import x \\\n>   --painter old\n$ limner run x --painter old", [(3, "old")]),
        ("| `lab/old` | 5.00 | 40.00 |", []),
        ("| `limner draw` | with lab/old |", [(1, "lab/old")]),
    ],
)
def test_what_counts_as_an_example(text: str, named: list[tuple[int, str]]) -> None:
    assert list(namings(text.splitlines(), ["lab/old", "old"])) == named
