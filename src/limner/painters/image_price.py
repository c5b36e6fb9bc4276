"""What an image of a service costs: by the price list, by what the service tells, and at the most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..calls import Bill, bill
from ..calls.usage import told_dollars, told_tokens
from ..core.settings import ModelFacts, PainterFacts, Settings

TOLD = ("tokens_in", "tokens_out", "thought_tokens", "picture_tokens", "cost", "upstream_cost")
"""What services tell of the cost."""


@dataclass(frozen=True)
class ServiceImage:
    """What a service sent: the image, the rest of its reply, and token counts or dollars as it gives them.

    Counts and dollars are taken over as they stand in the reply, whatever that is: they are checked before they count.

    Attributes:
        thought_tokens: How many tokens were written beside those out.
        picture_tokens: How many of the tokens in are those of pictures sent along.
        upstream_cost: Dollars that come on top of the cost.
        counted: Whether an earlier try has counted what the image cost.
        edited: Whether it was made from pictures.
        share: The part of the price list's price that it costs.
    """

    image: bytes
    raw: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: Any = None
    tokens_out: Any = None
    picture_tokens: Any = None
    prompt: str | None = None
    cost: Any = None
    counted: bool = False
    edited: bool = False
    thought_tokens: Any = None
    upstream_cost: Any = None
    share: float = 1.0


class ImagePrice:
    """What one image of a painter costs.

    Args:
        target: The provider and its model, as the price list names them.
        facts: What the settings say of it.
        options: The painter's own; some bounds hold for certain values alone.
    """

    def __init__(self, target: str, facts: PainterFacts, options: Mapping[str, Any], settings: Settings) -> None:
        self.target, self.facts, self.options, self._settings = target, facts, options, settings

    def unpriced(self) -> str | None:
        """Why nobody knows what one image can cost, or None."""
        if self.bound is not None:
            return None
        place = f'[painters."{self.target}"] in limner.toml'
        if (option := self._unbound_option()) is not None:
            known = ", ".join(self.facts.bound_for[option])
            why = f"nobody knows what {self.target} can cost with this {option}, only with {known}"
            return f"{why}: add image_price under {place}"
        return f"{self.target} has no price: add image_price (or image_bound) under {place}"

    @property
    def bound(self) -> float | None:
        """The most one image can cost; None when nobody knows."""
        if self.facts.image_price is not None:
            return self.facts.image_price
        return self.facts.image_bound if self._unbound_option() is None else None

    def _unbound_option(self) -> str | None:
        """The option that was given a value for which the bound does not hold."""
        for option, values in self.facts.bound_for.items():
            given = self.options.get(option)
            for value in given.values() if isinstance(given, Mapping) else () if given is None else (given,):
                if str(value) not in values:
                    return option
        return None

    def price(self) -> tuple[float | None, str]:
        """Dollars for one image, and how that is known; see `limner.core.catalogue.Priced`."""
        if self.facts.image_price is not None:
            return self.facts.image_price, "price list"
        return (self.bound, "upper bound") if self.bound is not None else (None, "no price")

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """The same for an image that starts from so many pictures; see `limner.core.catalogue.PricedEditor`."""
        most = self.bound_for(pictures)
        known = "price list" if self.facts.image_price is not None else "upper bound"
        return (most, known) if most is not None else (None, "no price")

    def bound_for(self, pictures: float) -> float | None:
        """The most one image can cost that starts from so many pictures."""
        if pictures and self.facts.edit_price is not None:
            return self.facts.edit_price
        if self.facts.image_price is not None or self.bound is None:
            return self.bound
        tokens = round(pictures * self._settings.models.get(self.target, ModelFacts()).image_tokens)
        more = self._settings.price(self.target, tokens, 0, of_pictures=tokens)
        return None if more is None and pictures else self.bound + (more or 0.0)

    def bill(self, drawn: ServiceImage, *, drew: bool = True) -> Bill:
        """What this try adds to the bill: nothing where an earlier one has counted it.

        Args:
            drawn: With what the service told of the cost.
            drew: Whether there is an image: where there is none, the price of one does not count.
        """
        return Bill(0.0) if drawn.counted else bill(lambda: self._told_price(drawn, drew), self.bound)

    def _told_price(self, drawn: ServiceImage, drew: bool) -> float | None:
        told = {name: getattr(drawn, name) for name in TOLD}
        sent, written, thought, pictures = (told_tokens(told, name) for name in TOLD[:4])
        cost, upstream = (told_dollars(told, name) for name in TOLD[4:])
        if cost is not None:
            return cost + (upstream or 0.0)
        if drew and drawn.edited and self.facts.edit_price is not None:
            return self.facts.edit_price * drawn.share
        if drew and self.facts.image_price is not None:
            return self.facts.image_price * drawn.share
        if sent is None or written is None:
            return None
        price = self._settings.price(self.target, sent, written + (thought or 0), of_pictures=pictures or 0)
        return None if price is None else price * drawn.share
