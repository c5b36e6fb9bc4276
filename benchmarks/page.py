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
    parts = [f"### {one.title}", one.about.strip()]
    if result.day is None:
        parts.append(f"Not {one.how} yet{': ' + result.skipped if result.skipped else ''}.")
    else:
        parts += [markdown(result.columns, result.rows), result.note]
        later = f" Not done again since: {result.skipped}." if result.skipped else ""
        place = f": {result.machine}" if one.how == "measured" else ""
        parts.append(f"*{one.how.capitalize()}* on {result.day}{place}.{later}")
    parts.append(f"`python -m benchmarks {one.name}` runs it.")
    return "\n\n".join(part for part in parts if part)


def render(page: str, words: str, known: Sequence[Benchmark], found: Mapping[str, Result]) -> str:
    """The words of a page with its measured parts made anew.

    A benchmark stands in the place that the page has for it, else in that for all others. Aims stand on the page of
    speed.
    """
    here = {one.name: section(one, found.get(one.name, Result())) for one in known if one.page == page}
    parts = {name: text for name, text in here.items() if f"<!-- {name} -->" in words}
    if rest := [text for name, text in here.items() if name not in parts]:
        parts["benchmarks"] = "\n\n".join(rest)
    if page == "speed":
        parts["aims"] = aims(known, found)
    return written(words, parts)


def update(known: Sequence[Benchmark], found: Mapping[str, Result], docs: Path = DOCS) -> list[Path]:
    """Write the measured parts of all pages; returns the pages."""
    files = [docs / f"{name}.md" for name in dict.fromkeys(one.page for one in known)]
    for file in files:
        file.write_text(render(file.stem, file.read_text("utf-8"), known, found), "utf-8")
    return files
