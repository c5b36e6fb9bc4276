"""What the drawings of a strategy would cost: by stored drawings like them, or step by step."""

from __future__ import annotations

from collections.abc import Sequence

from .core.prices import price_of
from .expected import Estimate
from .models import ChatModel
from .models.base import BYTES_PER_TOKEN, PICTURE_TOKENS
from .painters import Painter
from .plan import Way
from .settings import Settings
from .spending import mean_use
from .store import Store


def by_strategy(
    way: Way, prompts: Sequence[str], each: float | None, store: Store, settings: Settings
) -> list[Estimate]:
    """One line per painter, editor and model of the strategy; `each` is what such a drawing has cost on average."""
    totals: dict[str, list[float]] = {}
    for prompt in prompts:
        for guess in way.strategy.guesses(len(prompt.encode()) // BYTES_PER_TOKEN):
            sum_of = totals.setdefault(guess.who, [0.0, 0.0, 0.0])
            sum_of[0] += guess.calls
            sum_of[1] += guess.calls * (guess.tokens_in + guess.pictures * PICTURE_TOKENS)
            sum_of[2] += guess.calls * guess.tokens_out
    found = []
    for role, (calls, sent, written) in totals.items():
        painter = way.painter if role == "painter" else way.strategy.editor or way.painter if role == "editor" else None
        if painter is not None:
            found.append(_painted(painter, role, len(prompts), round(calls)))
        else:
            found.append(_asked(way, role, len(prompts), calls, sent, written, store, settings))
    if each is not None and found:
        return _by_stored(way, found, each * len(prompts))
    return found


def _painted(painter: Painter, role: str, steps: int, calls: int) -> Estimate:
    price, basis = price_of(painter)
    dollars = None if price is None else price * calls
    return Estimate(painter.name, role, steps, calls if basis != "free" else 0, 0, 0, dollars, basis)


def _asked(
    way: Way, role: str, steps: int, calls: float, sent: float, written: float, store: Store, settings: Settings
) -> Estimate:
    model = way.strategy.models[role]
    name, known = model.name, mean_use(store, model.name)
    if known is not None:
        sent, written = known[0] * calls, known[1] * calls
    dollars = settings.price(name, round(sent), round(written)) if isinstance(model, ChatModel) else 0.0
    basis = "stored calls" if known else "rule of thumb"
    return Estimate(name, role, steps, round(calls), round(sent), round(written), dollars, basis)


def _by_stored(way: Way, parts: list[Estimate], dollars: float) -> list[Estimate]:
    """One line for the whole, by what such drawings have cost."""
    calls = sum(one.calls for one in parts)
    sent, written = sum(one.tokens_in for one in parts), sum(one.tokens_out for one in parts)
    name = f"{way.painter.name} {way.strategy.name}"
    return [Estimate(name, "strategy", parts[0].steps, calls, sent, written, dollars, "stored drawings")]
