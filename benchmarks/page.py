"""The parts of the documentation's pages that hold measured figures, made from ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.pages import written

from benchmarks.listing import Aim, Benchmark
from benchmarks.results import Result
from benchmarks.table import Cell, markdown, shown

DOCS = Path(__file__).parents[1] / "docs"


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
    parts = [f"### {one.title}", one.about.strip(), f"`python -m benchmarks {one.name}` measures it."]
    if result.day is None:
        parts.append(f"Not measured yet{': ' + result.skipped if result.skipped else ''}.")
    else:
        parts += [markdown(result.columns, result.rows), result.note]
        later = f" Not measured again since: {result.skipped}." if result.skipped else ""
        parts.append(f"Measured on {result.day}: {result.machine}.{later}")
    return "\n\n".join(part for part in parts if part)


def render(page: str, words: str, known: Sequence[Benchmark], found: Mapping[str, Result]) -> str:
    """The words of a page with its measured parts made anew: aims on the page of speed, tables on each."""
    here = [one for one in known if one.page == page]
    parts = {"benchmarks": "\n\n".join(section(one, found.get(one.name, Result())) for one in here)}
    if page == "speed":
        parts["aims"] = aims(known, found)
    return written(words, parts)


def update(known: Sequence[Benchmark], found: Mapping[str, Result], docs: Path = DOCS) -> list[Path]:
    """Write the measured parts of all pages; returns the pages."""
    files = [docs / f"{name}.md" for name in dict.fromkeys(one.page for one in known)]
    for file in files:
        file.write_text(render(file.stem, file.read_text("utf-8"), known, found), "utf-8")
    return files
