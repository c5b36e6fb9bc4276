"""One line of an estimate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """What one painter or judge would still do.

    Attributes:
        basis: Where the numbers come from: ``stored calls`` like these, the ``price list``, an ``upper bound``, or a
            ``rule of thumb``; or ``free``.
        dollars: None when the price is not known.
    """

    who: str
    role: str
    steps: int
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    basis: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)
