"""Types shared by the functions of this package: numbers with intervals or reasons, and sums by cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20_250_914
ALPHA = 0.05
NEAR = 1e-9
"""The tolerance within which numbers count as equal, because the last bits of a sum depend on its order."""
Floats = NDArray[np.float64]
Parts = Mapping[str, tuple[Floats, Floats]]
"""Name -> numerators and denominators, one of each per cluster."""
Derive = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""A function that turns ratios into the final numbers; it works on numbers and on arrays."""


class Plain:
    """A result that can be converted to plain JSON field by field."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, each as plain JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Interval(Plain):
    """A number with its 95% interval and the number of questions behind it; with too few, there is no interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Measure(Plain):
    """A number and the number of cases behind it; if there is no number, `reason` says why."""

    value: float | None
    n: int
    reason: str | None = None


def known(value: float | None) -> bool:
    """Return whether a value is neither None nor NaN.

    >>> known(0.0), known(None), known(float("nan"))
    (True, False, False)
    """
    return value is not None and not isnan(value)


def as_parts(values: Iterable[float | None], name: str = "value") -> dict[str, tuple[Floats, Floats]]:
    """Return the parts of the plain mean of one number per cluster; None and NaN leave the cluster out.

    >>> tops, bottoms = as_parts([1.0, None, 3.0])["value"]
    >>> tops.tolist(), bottoms.tolist()
    ([1.0, 0.0, 3.0], [1.0, 0.0, 1.0])
    """
    listed = list(values)
    tops = np.array([value if value is not None and known(value) else 0.0 for value in listed], dtype=np.float64)
    return {name: (tops, np.array([float(known(value)) for value in listed]))}
