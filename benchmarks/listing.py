"""Which benchmarks there are, and what each aims at: ``list.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("list.toml")


@dataclass(frozen=True)
class Aim:
    """What a figure of a benchmark should be.

    Attributes:
        figure: Its name in `benchmarks.table.Table.figures`.
        words: What it is, for readers.
    """

    figure: str
    words: str
    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        """Whether a measured value will do."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True)
class Benchmark:
    """One module of this folder that has a function ``rows``.

    Attributes:
        about: What it measures, as the page says it.
        by_name: Whether it runs only when it is named, because it takes long or needs a GPU.
    """

    name: str
    title: str
    about: str = ""
    by_name: bool = False
    aims: tuple[Aim, ...] = ()


def benchmarks() -> list[Benchmark]:
    """All of them, in the order of the file.

    Raises:
        ValueError: An aim has no bound, or two benchmarks have one name.
    """
    found = []
    for row in tomllib.loads(FILE.read_text("utf-8"))["benchmark"]:
        aims = tuple(Aim(**aim) for aim in row.pop("aim", ()))
        if lax := [aim.figure for aim in aims if aim.at_least is None and aim.at_most is None]:
            raise ValueError(f"{FILE.name}: the aims {lax} of {row['name']} need at_least or at_most")
        found.append(Benchmark(**row, aims=aims))
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{FILE.name} has {', '.join(twice)} twice")
    return found
