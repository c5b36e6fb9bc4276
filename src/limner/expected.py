"""One line of an estimate, and what an image is expected to cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .painters import ApiPainter, Painter


@dataclass(frozen=True)
class Estimate:
    """What one painter or judge would still do.

    Attributes:
        basis: Where the numbers come from: ``stored calls`` like these, the ``price list``, an ``upper bound``, or a
            ``rule of thumb``.
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


def image_price(painter: Painter) -> tuple[float | None, str]:
    """Dollars for one image by this painter, and how that is known."""
    if not isinstance(painter, ApiPainter):
        return 0.0, "free"
    if painter.facts.image_price is not None:
        return painter.facts.image_price, "price list"
    return (painter.bound, "upper bound") if painter.bound is not None else (None, "no price")
