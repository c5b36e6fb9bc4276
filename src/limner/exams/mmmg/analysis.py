"""What the paper reports beyond its scores: failures, what each level recovers; and remarks on both. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.evidence import REGIONS, measurers
from ...core.plot_data import Grid, Histograms, Plot, Quantity, Source
from ...core.protocol import Row
from . import graph
from .data import LEVELS
from .replies import MISSING

LOW = 0.5
"""A drawing with this MMMG-Score or less has failed."""
LIMITS = {
    "readability": ("readability", 0.5),
    "entity": ("entity_recall", 0.3),
    "dependency": ("dependency_accuracy", 0.4),
}
"""The kinds of failure: the score that shows it, and the value up to which it does."""
RECOVERED = ("fidelity_release", "u_acc")
"""The scores that tell how well a graph is recovered."""


def failures(rows: Sequence[Row], score: str) -> dict[str, Any]:
    """Of the drawings that score low, how many do, and the share with each kind of failure; one can have several."""
    known = [(row.scores, value) for row in rows if (value := row.scores.get(score)) is not None]
    low = [scores for scores, value in known if value <= LOW]
    found: dict[str, Any] = {"drawings": len(known), "low": len(low)}
    for name, (measure, limit) in LIMITS.items():
        hit = sum(value is not None and value <= limit for value in (scores.get(measure) for scores in low))
        found[name] = hit / len(low) if low else None
    return found


def recovered(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Level -> drawings, and the mean of each metric over those that have it; levels without a drawing are left out.

    On references this is the paper's test of self-consistency.
    """
    found = {}
    for level in LEVELS:
        inside = [row.scores for row in rows if row.question.tags.get("level") == level]
        if inside:
            columns = {
                name: [value for scores in inside if (value := scores.get(name)) is not None] for name in RECOVERED
            }
            means = {name: sum(values) / len(values) if values else None for name, values in columns.items()}
            found[level] = {"n": len(inside), **means}
    return found


def counted(rows: Sequence[Row]) -> list[str]:
    """Who counted the regions, where the counts did not come with imported results."""
    found = []
    for who, drawings, papers in measurers((row.evidence for row in rows), REGIONS):
        of = "" if drawings == len(rows) else f" on {drawings} of {len(rows)} drawings"
        said = "not the paper's readability, which takes SAM 2.1 large"
        if who == "sam2.1-large":
            said += " in float32, with the release's settings"
        if papers:
            said = "the paper's model and settings, though lines of text are read by another engine than the paper's"
        found.append(f"regions counted by {who}{of}: {said}")
    return found


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return what a reader must know to take the scores of these drawings right."""
    found = []
    stopped = {row.question.id: why for row in rows if (why := graph.stops(row.question.rubric.dependencies))}
    for question, why in list(stopped.items())[:3]:
        found.append(f"{question}: no fidelity_release, for the released scorer stops with an error: {why}")
    if len(stopped) > 3:
        found.append(f"… and {len(stopped) - 3} more questions without fidelity_release")
    if uncounted := sum(row.scores.get("readability") is None for row in rows):
        found.append(f"MMMG-Score is missing for {uncounted} of {len(rows)} drawings: they have no region count")
    found += counted(rows)
    items = sum(len(row.marks) for row in rows)
    if unread := sum(mark.verdict == "unread" for row in rows for mark in row.marks):
        found.append(f"{unread} of {items} items have no readable answer and stay undecided")
    if missing := sum(mark.source == MISSING for row in rows for mark in row.marks):
        found.append(f"{missing} of {items} items have no readable answer and count as no in this reading")
    return found


LOW_SCORES = ("mmmg_release", "mmmg_exact")
"""The scores that the analysis of failures is made for."""


def failures_plot(source: Source) -> Grid:
    """Of the drawings that score low, the share with each kind of failure.

    Raises:
        UsageError: No drawing has the score.
    """
    name = source.score.name if source.score.name in LOW_SCORES else LOW_SCORES[0]
    found = [source.protocol.analyses(rows)["low_scores"][name] for rows in source.rows]
    if not any(each["drawings"] for each in found):
        raise UsageError(
            f"{source.exam}: no drawing has {name}; it takes a judge that decides all items, and region counts"
        )
    cells = tuple(tuple(Quantity(each[kind], n=each["low"]) for kind in LIMITS) for each in found)
    notes = tuple(f"{each['low']} of {each['drawings']}" for each in found)
    caption = source.caption + f" · low: {name} up to {LOW:g}; at the right how many are"
    label = "share of the drawings that score low"
    return Grid(source.names, tuple(LIMITS), cells, label, 1.0, caption, source.controls, notes)


def regions(source: Source) -> Histograms:
    """How many regions were counted in each drawing, and the two numbers that readability is computed with.

    Raises:
        UsageError: Nobody has counted.
    """
    least, most = source.protocol.constants["n_min"], source.protocol.constants["n_max"]
    counts = source.measured(REGIONS)
    if not any(counts):
        raise UsageError(f"{source.exam} has no region counts; `limner evidence {source.exam} --probe regions` counts")
    above = tuple(
        (sum(v > least for v in row) / len(row), sum(v > most for v in row) / len(row)) if row else (0.0, 0.0)
        for row in counts
    )
    missing = sum(not row for row in counts)
    caption = source.caption + (f" · {missing} painters without counts" if missing else "")
    return Histograms(source.names, tuple(counts), (least, most), above, caption, "regions")


PLOTS: Mapping[str, Plot] = {
    "failures": Plot("kinds of failure", failures_plot, "kinds"),
    "regions": Plot("histograms of region counts", regions, "histograms"),
}
