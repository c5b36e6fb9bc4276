"""Analyses of MMMG's paper: failures, recovery by level, remarks, and plots. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.evidence import REGIONS, summarize_backends
from ...core.plot_data import Grid, Histograms, Plot, PlotSource, Quantity
from ...core.protocol import Row
from . import graph
from .data import LEVELS
from .replies import MISSING

LOW_SCORE = 0.5
"""The maximum MMMG-Score of a failed drawing."""
LIMITS = {
    "readability": ("readability", 0.5),
    "entity": ("entity_recall", 0.3),
    "dependency": ("dependency_accuracy", 0.4),
}
"""Kind of failure -> the score that shows it, and the maximum value that counts as a failure."""
RECOVERED = ("fidelity_release", "u_acc")
"""The scores that measure how well a graph is recovered."""


def failures(rows: Sequence[Row], score: str) -> dict[str, Any]:
    """Return the numbers of all and of low-scoring drawings, and the share of the latter with each kind of failure.

    A drawing can have several kinds of failure.
    """
    scored = [(row.scores, value) for row in rows if (value := row.scores.get(score)) is not None]
    low = [scores for scores, value in scored if value <= LOW_SCORE]
    shares: dict[str, Any] = {"drawings": len(scored), "low": len(low)}
    for name, (measure, limit) in LIMITS.items():
        hit = sum(value is not None and value <= limit for value in (scores.get(measure) for scores in low))
        shares[name] = hit / len(low) if low else None
    return shares


def recovery_by_level(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return level -> the number of drawings and the mean of each metric; levels without drawings are omitted.

    Applied to references, this is the paper's self-consistency test.
    """
    levels = {}
    for level in LEVELS:
        inside = [row.scores for row in rows if row.question.tags.get("level") == level]
        if inside:
            columns = {
                name: [value for scores in inside if (value := scores.get(name)) is not None] for name in RECOVERED
            }
            means = {name: sum(values) / len(values) if values else None for name, values in columns.items()}
            levels[level] = {"n": len(inside), **means}
    return levels


def describe_counters(rows: Sequence[Row]) -> list[str]:
    """Return remarks on the backends that counted regions, unless the counts were imported."""
    texts = []
    for who, drawings, papers in summarize_backends((row.evidence for row in rows), REGIONS):
        of = "" if drawings == len(rows) else f" on {drawings} of {len(rows)} drawings"
        judgement = "not the paper's readability, which uses SAM 2.1 large"
        if who == "sam2.1-large":
            judgement += " in float32, with the release's settings"
        if papers:
            judgement = "the paper's model and settings, but text lines are read by a different engine"
        texts.append(f"regions counted by {who}{of}: {judgement}")
    return texts


def remarks(rows: Sequence[Row]) -> list[str]:
    """Return caveats for interpreting the scores of these drawings."""
    texts = []
    stopped = {
        row.question.id: why for row in rows if (why := graph.why_scorer_stops(row.question.rubric.dependencies))
    }
    for question, why in list(stopped.items())[:3]:
        texts.append(f"{question}: no fidelity_release, because the released scorer stops with an error: {why}")
    if len(stopped) > 3:
        texts.append(f"… and {len(stopped) - 3} more questions without fidelity_release")
    if uncounted := sum(row.scores.get("readability") is None for row in rows):
        texts.append(f"MMMG-Score is missing for {uncounted} of {len(rows)} drawings: they have no region count")
    texts += describe_counters(rows)
    items = sum(len(row.marks) for row in rows)
    if unread := sum(mark.verdict == "unread" for row in rows for mark in row.marks):
        texts.append(f"{unread} of {items} items have no readable answer and stay undecided")
    if missing := sum(mark.source == MISSING for row in rows for mark in row.marks):
        texts.append(f"{missing} of {items} items have no readable answer and count as no in this reading")
    return texts


LOW_SCORES = ("mmmg_release", "mmmg_exact")
"""The scores for which failures are analysed."""


def failures_plot(source: PlotSource) -> Grid:
    """Return the share of each kind of failure among low-scoring drawings.

    Raises:
        UsageError: No drawing has the score.
    """
    name = source.score.name if source.score.name in LOW_SCORES else LOW_SCORES[0]
    failures_by_painter = [source.protocol.analyses(rows)["low_scores"][name] for rows in source.rows]
    if not any(each["drawings"] for each in failures_by_painter):
        raise UsageError(
            f"{source.exam}: no drawing has {name}; it needs a judge that decides all items, and region counts"
        )
    cells = tuple(tuple(Quantity(each[kind], n=each["low"]) for kind in LIMITS) for each in failures_by_painter)
    notes = tuple(f"{each['low']} of {each['drawings']}" for each in failures_by_painter)
    caption = source.caption + f" · low: {name} up to {LOW_SCORE:g}; their number is at the right"
    label = "share of the drawings that score low"
    return Grid(source.names, tuple(LIMITS), cells, label, 1.0, caption, source.controls, notes)


def regions(source: PlotSource) -> Histograms:
    """Return the number of regions in each drawing, and the two limits of readability.

    Raises:
        UsageError: No regions were counted.
    """
    least, most = source.protocol.constants["n_min"], source.protocol.constants["n_max"]
    counts = source.measured(REGIONS)
    if not any(counts):
        raise UsageError(f"{source.exam} has no region counts; run `limner evidence {source.exam} --probe regions`")
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
