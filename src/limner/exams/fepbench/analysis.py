"""What the paper reports beyond its tables: scores by complexity, correlations, gaps between conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.exam import Question
from ...core.protocol import Protocol, Row
from .data import MODALITIES, REGIMES, ROLES, Atoms
from .scores import drawn

SCORES = ("if", "re", "sp")
BINS = 4
"""The paper bins by quantiles and does not say how many; these are quarters."""
FEWEST = 3
"""Below this many drawings a correlation says nothing."""
CONDITIONS = {
    "structured - free": ("regime", "structured", "free"),
    "multi - single": ("panel_type", "multi", "single"),
}


def complexity(rows: Sequence[Row], bins: int = BINS) -> list[dict[str, Any]]:
    """Mean and quartiles of each score by the number of semantic atoms; equal numbers stay in one bin."""
    if not rows:
        return []
    counts = np.array([row.question.rubric.count for row in rows])
    inner = np.unique(np.quantile(counts, np.linspace(0, 1, bins + 1)[1:-1], method="inverted_cdf"))
    places = np.searchsorted(inner, counts, side="left")
    found = []
    for place in np.unique(places):
        inside = [row for row, where in zip(rows, places, strict=True) if where == place]
        sizes = counts[places == place]
        body = {name: _spread(_column(inside, name)) for name in SCORES}
        found.append({"atoms": [int(sizes.min()), int(sizes.max())], "n": len(inside), **body})
    return found


def correlations(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Pearson's and Spearman's coefficient of every two scores over drawings that have both."""
    from scipy.stats import rankdata

    found = {}
    for one, other in combinations(SCORES, 2):
        pairs = [(row.scores.get(one), row.scores.get(other)) for row in rows]
        both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        x, y = both[:, 0], both[:, 1]
        body: dict[str, Any] = {"n": len(both), "pearson": _correlation(x, y)}
        found[f"{one}-{other}"] = body | {"spearman": _correlation(rankdata(x), rankdata(y))}
    return found


def gaps(rows: Sequence[Row], protocol: Protocol[Any]) -> dict[str, dict[str, float]]:
    """How much every score differs between conditions; regimes are compared on samples that have both."""
    found = {}
    for name, (tag, one, other) in CONDITIONS.items():
        sides: list[Mapping[str, float]] = []
        kept = _paired(rows) if tag == "regime" else rows
        for value in (one, other):
            sides.append(protocol.summary([row for row in kept if row.question.tags.get(tag) == value]))
        found[name] = {score: sides[0][score] - sides[1][score] for score in sides[0] if score in sides[1]}
    return found


def count_atoms(question: Question[Atoms], *kinds: str) -> int:
    """The atoms, or those of the roles and modalities that `kinds` names."""
    roles = [role for role in ROLES if role in kinds] or ROLES
    modalities = [modality for modality in MODALITIES if modality in kinds] or MODALITIES
    return sum(atom.role in roles for modality in modalities for atom in question.rubric.of(modality))


def _paired(rows: Sequence[Row]) -> list[Row]:
    regimes: dict[str, set[str]] = {}
    for row in rows:
        regimes.setdefault(row.question.tags.get("sample", ""), set()).add(row.question.tags.get("regime", ""))
    return [row for row in rows if len(regimes[row.question.tags.get("sample", "")]) > 1]


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    return np.array([value for row in rows if (value := row.scores.get(name)) is not None], dtype=np.float64)


def _spread(values: NDArray[np.float64]) -> dict[str, float] | None:
    if not len(values):
        return None
    low, middle, high = (float(edge) for edge in np.quantile(values, [0.25, 0.5, 0.75]))
    return {"mean": float(values.mean()), "q1": low, "median": middle, "q3": high}


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def undefined(rows: Sequence[Row]) -> dict[str, int]:
    """For each modality how many drawings show nothing of it, so that its precision is not defined."""
    return {m: sum(drawn(row.question.rubric, row.marks, m) == (0, 0) for row in rows) for m in MODALITIES}


def remarks(rows: Sequence[Row]) -> list[str]:
    """Where precision is undefined, and whether both regimes have the same share."""
    found, empty = [], undefined(rows)
    if any(empty.values()):
        told = ", ".join(f"{modality} {count}" for modality, count in empty.items() if count)
        found.append(f"sp: of {len(rows)} drawings some show nothing ({told}); those parts are left out of the mean")
    regimes = Counter(row.question.tags.get("regime", "") for row in rows)
    if rows and len({regimes[regime] for regime in REGIMES}) > 1:
        told = ", ".join(f"{regimes[regime]} {regime}" for regime in REGIMES)
        found.append(f"prompts behind these means: {told}; the paper pools both in equal shares")
    return found
