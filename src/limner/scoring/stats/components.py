"""Where scores vary: variance components of crossed and nested effects, and what more of each would gain. Pure.

Components are found by equating sums of squares of group sums with what is expected of them (MINQUE(0)), which for
balanced data is the analysis of variance and needs no balance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .types import Floats, Plain

REST = "rest"
"""What no named effect explains."""


@dataclass(frozen=True)
class Components(Plain):
    """How much of the variance each effect has.

    Attributes:
        variances: Effect -> variance; one that comes out below nothing is 0.
        unknown: Effect -> why it cannot be told apart.
        n: Numbers that were given.
    """

    variances: Mapping[str, float]
    unknown: Mapping[str, str]
    n: int

    def share(self, name: str) -> float:
        """Of all variance."""
        total = sum(self.variances.values())
        return self.variances.get(name, 0.0) / total if total else 0.0


def components(values: Sequence[float], effects: Mapping[str, Sequence[Hashable]], rest: str = REST) -> Components:
    """The variance of each random effect.

    Args:
        values: What was measured.
        effects: Effect -> the level each value has of it.
        rest: What to call what remains.

    >>> found = components([1, 3, 5, 7.0], {"row": "aabb", "column": "xyxy"})
    >>> {name: round(value, 3) for name, value in found.variances.items()}
    {'row': 8.0, 'column': 2.0, 'rest': 0.0}
    """
    y = np.asarray(values, dtype=np.float64)
    n, unknown, kept = len(y), dict[str, str](), dict[str, np.ndarray[tuple[int], np.dtype[np.intp]]]()
    for name, levels in effects.items():
        codes = _codes(levels)
        count = int(codes.max()) + 1 if n else 0
        same = next((other for other, each in kept.items() if np.array_equal(each, codes)), None)
        if count < 2:
            unknown[name] = "there is only one"
        elif count == n:
            unknown[name] = f"each has one value: it cannot be told from {rest}"
        elif same is not None:
            unknown[name] = f"it goes with {same}"
        else:
            kept[name] = codes
    if n < 3:
        return Components({}, unknown, n)
    names = [*kept, rest]
    squares, expected = np.zeros(len(names)), np.zeros((len(names), len(names)))
    centred = y - y.mean()
    for k, one in enumerate(kept.values()):
        sizes = np.bincount(one).astype(np.float64)
        squares[k] = float((np.bincount(one, centred) ** 2).sum())
        expected[k, -1] = expected[-1, k] = n - float((sizes**2).sum()) / n
        for place, other in enumerate(kept.values()):
            expected[k, place] = _crossed(one, other, n)
    squares[-1], expected[-1, -1] = float((centred**2).sum()), n - 1.0
    found = np.linalg.lstsq(expected, squares, rcond=None)[0]
    return Components({name: max(0.0, float(value)) for name, value in zip(names, found, strict=True)}, unknown, n)


def _codes(levels: Sequence[Hashable]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(level, len(places)) for level in levels], dtype=np.intp)


def _crossed(one: np.ndarray[tuple[int], np.dtype[np.intp]], other: Sequence[int] | Floats | object, n: int) -> float:
    """What a component of the other effect adds to the squares of sums over the levels of the first."""
    second = np.asarray(other, dtype=np.intp)
    rows, columns = int(one.max()) + 1, int(second.max()) + 1
    cells, counts = np.unique(one * columns + second, return_counts=True)
    sizes = (
        np.bincount(one, minlength=rows).astype(np.float64),
        np.bincount(second, minlength=columns).astype(np.float64),
    )
    counted = counts.astype(np.float64)
    through = float((counted * sizes[0][cells // columns] * sizes[1][cells % columns]).sum())
    return float((counted**2).sum()) - 2 * through / n + float((sizes[0] ** 2).sum() * (sizes[1] ** 2).sum()) / n**2
