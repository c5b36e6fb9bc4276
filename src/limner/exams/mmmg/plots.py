"""MMMG's own plots: what makes drawings score low, and how many regions they have."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.errors import UsageError
from ...core.evidence import REGIONS
from ...core.plot_data import Grid, Histograms, Plot, Quantity, Source
from .analysis import LIMITS, LOW

LOW_SCORES = ("mmmg_release", "mmmg_exact")
"""The scores that the analysis of failures is made for."""


def failures(source: Source) -> Grid:
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
    "failures": Plot("kinds of failure", failures, "kinds"),
    "regions": Plot("histograms of region counts", regions, "histograms"),
}
