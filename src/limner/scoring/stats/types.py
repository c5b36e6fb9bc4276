"""What the functions of this package take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20_250_914
ALPHA = 0.05
NEAR = 1e-9
"""Numbers that differ by less are equal: the last bits of a sum depend on its order."""
Floats = NDArray[np.float64]
Parts = Mapping[str, tuple[Floats, Floats]]
"""Per name: numerators and denominators, one entry per cluster."""
Derive = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Turns ratios into the final numbers; works on numbers and on arrays alike."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95% interval and how many questions stand behind it; too few have no interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, float | int | None]:
        """``{value, low, high, n}``."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True)
class Measure:
    """A number and how many cases stand behind it; where there is none, `reason` says why in words."""

    value: float | None
    n: int
    reason: str | None = None

    def to_json(self) -> dict[str, float | int | str | None]:
        """``{value, n, reason}``."""
        return {"value": self.value, "n": self.n, "reason": self.reason}


def known(value: float | None) -> bool:
    """Whether there is a number: neither None nor NaN.

    >>> known(0.0), known(None), known(float("nan"))
    (True, False, False)
    """
    return value is not None and not np.isnan(value)


def as_parts(values: Iterable[float | None], name: str = "value") -> dict[str, tuple[Floats, Floats]]:
    """One number per cluster as parts of their plain mean; None and NaN leave the cluster out.

    >>> tops, bottoms = as_parts([1.0, None, 3.0])["value"]
    >>> tops.tolist(), bottoms.tolist()
    ([1.0, 0.0, 3.0], [1.0, 0.0, 1.0])
    """
    listed = list(values)
    tops = np.array([value if value is not None and known(value) else 0.0 for value in listed], dtype=np.float64)
    return {name: (tops, np.array([float(known(value)) for value in listed]))}
