"""What one step of a painter, a judge or a probe is expected to cost, for estimates."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class Costly(Protocol):
    """A painter, judge or probe."""

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None when that is known."""
        ...


@runtime_checkable
class Priced(Protocol):
    """What those have that may cost money; one that lacks it, and whose price is no secret, is free."""

    def price(self) -> tuple[float | None, str]:
        """Dollars for one image, marking or measurement, and how that is known; None where it is not."""
        ...


@runtime_checkable
class PricedEditor(Priced, Protocol):
    """A painter whose images may cost more that start from pictures."""

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """Dollars for one image that starts from so many pictures, and how that is known; None where it is not."""
        ...


def price_of(one: Costly, pictures: float = 0) -> tuple[float | None, str]:
    """Dollars for one image, marking or measurement that starts from so many pictures, and how that is known."""
    if pictures and isinstance(one, PricedEditor):
        return one.edit_price(pictures)
    if isinstance(one, Priced):
        return one.price()
    return (0.0, "free") if one.unpriced() is None else (None, "no price")
