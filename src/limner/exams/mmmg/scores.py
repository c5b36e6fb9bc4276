"""From answers and a region count to MMMG's scores, and from scores to the averages the paper prints. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...core.protocol import mean_of_known
from . import exact, graph

AVERAGED = ("mmmg_release", "mmmg_exact", "fidelity_release", "fidelity_exact")
"""Scores whose mean over the levels' means is given too, as the paper's tables print it."""
LEVEL = "@"
"""Stands between a score's name and the level it is a part for."""

Answers = Sequence[int | None]


def readability(regions: object, least: float, most: float) -> float | None:
    """1 up to `least` regions, 0 from `most` on, even in between; None where nobody has counted.

    >>> [round(readability(count, 70, 160), 2) for count in (70, 73, 115, 163)]
    [1.0, 0.97, 0.5, 0.0]
    """
    if not isinstance(regions, int | float) or isinstance(regions, bool) or not regions >= 0:
        return None
    return 1.0 if regions <= least else 0.0 if regions >= most else (most - regions) / (most - least)


def scores(
    elements: tuple[str, ...],
    dependencies: tuple[str, ...],
    shown: tuple[Answers, Answers],
    readable: float | None,
) -> dict[str, float | None]:
    """All scores of one drawing, unrounded; `shown` answers the entities and the dependencies in turn.

    Fidelity needs every item answered; the release's is missing too where the released scorer stops with an error.
    """
    there, linked = shown
    found: dict[str, float | None] = dict.fromkeys(AVERAGED)
    found |= {"readability": readable, "u_acc": _share([*there, *linked])}
    found |= {"entity_recall": _share(there), "dependency_accuracy": _share(linked)}
    if None not in there and None not in linked:
        found["fidelity_exact"] = exact.similarity(exact.resolve(elements, dependencies), there, linked)
        full = released(elements, dependencies)
        if full is not None:
            nodes, edges = dict(zip(elements, there, strict=True)), dict(zip(dependencies, linked, strict=True))
            found["fidelity_release"] = graph.similarity(full, graph.build(nodes, edges))
    for way in ("release", "exact"):
        fidelity = found[f"fidelity_{way}"]
        if fidelity is not None and readable is not None:
            found[f"mmmg_{way}"] = readable * fidelity
    return found


def _share(answers: Answers) -> float | None:
    known = [answer for answer in answers if answer is not None]
    return sum(known) / len(known) if known and len(known) == len(answers) else None


@lru_cache(maxsize=8192)
def released(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> graph.ReleaseGraph | None:
    """The reference graph as the released scorer builds it; None where it stops with an error."""
    try:
        return graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    except graph.ScorerError:
        return None


def averaged(means: Mapping[str, Any]) -> dict[str, Any]:
    """Means, and beside some of them ``…_avg``: the plain mean of the levels' means, over the levels there are.

    Works on numbers and on arrays of resamples, in which a level may be missing (NaN).

    >>> averaged({"mmmg_exact": 0.3, "mmmg_exact@PhD": 0.2, "mmmg_exact@preschool": 0.6})
    {'mmmg_exact': 0.3, 'mmmg_exact_avg': 0.4}
    """
    found = {name: mean for name, mean in means.items() if LEVEL not in name}
    for name in AVERAGED:
        if levels := [mean for part, mean in means.items() if part.startswith(name + LEVEL)]:
            found[f"{name}_avg"] = mean_of_known(levels)
    return found
