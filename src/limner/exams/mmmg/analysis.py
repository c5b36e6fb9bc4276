"""What the paper reports beyond its scores: failures, what each level recovers; and remarks on both. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.evidence import REGIONS, measurers
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
    """What a reader must know to take the scores of these drawings right."""
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
