"""The parts of ``benchmarks/README.md`` that hold measured figures, made from ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.pages import written

from benchmarks.listing import Aim, Benchmark
from benchmarks.results import Result
from benchmarks.table import Cell, markdown, shown

FILE = Path(__file__).parent / "README.md"


def aims(known: Sequence[Benchmark], found: Mapping[str, Result]) -> str:
    """Every aim beside what was measured, and whether it is met."""
    rows: list[tuple[Cell, ...]] = []
    for one in known:
        figures = found.get(one.name, Result()).figures
        rows += [(aim.words, _bound(aim), *_verdict(aim, figures.get(aim.figure))) for aim in one.aims]
    return markdown(("what", "aim", "measured", "met"), tuple(rows))


def _bound(aim: Aim) -> str:
    ends = (("at least", aim.at_least), ("at most", aim.at_most))
    return " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)


def _verdict(aim: Aim, value: float | None) -> tuple[str, str]:
    return ("not measured yet", "") if value is None else (shown(value), "yes" if aim.met(value) else "**no**")


def section(one: Benchmark, result: Result) -> str:
    """A benchmark under its title: what it measures, its table, and when and where it was measured."""
    parts = [f"### {one.title}", one.about.strip()]
    if result.day is None:
        parts.append(f"Not measured yet{': ' + result.skipped if result.skipped else ''}.")
    else:
        parts += [markdown(result.columns, result.rows), result.note]
        later = f" Not done again since: {result.skipped}." if result.skipped else ""
        parts.append(f"*Measured* on {result.day}: {result.machine}.{later}")
    parts.append(f"`python -m benchmarks {one.name}` runs it.")
    return "\n\n".join(part for part in parts if part)


def render(words: str, known: Sequence[Benchmark], found: Mapping[str, Result]) -> str:
    """Return the words of the page with its measured parts written again."""
    sections = [section(one, found.get(one.name, Result())) for one in known]
    return written(words, {"aims": aims(known, found), "benchmarks": "\n\n".join(sections)})


def update(known: Sequence[Benchmark], found: Mapping[str, Result], file: Path = FILE) -> None:
    """Write the measured parts of the page."""
    file.write_text(render(file.read_text("utf-8"), known, found), "utf-8")
