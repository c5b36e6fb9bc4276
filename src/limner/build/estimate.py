"""What a build would still cost, before anything is paid."""

from __future__ import annotations

from ..core.catalogue import price_of
from ..core.settings import Settings
from ..models import ChatModel
from ..models.base import PICTURE_TOKENS
from ..running.estimate import Estimate, mean_use
from .engine import Builder


def build_estimate(builder: Builder, settings: Settings) -> list[Estimate]:
    """A line for every step that asks a model, at most: as if no step before it took an item out any more."""
    counts, _ = builder.look()
    found, coming = list[Estimate](), dict[str, int]()
    for place, count in zip(builder.recipe.places, counts, strict=True):
        sort = place.step.takes
        still = count.pending + sum(count.failed.values())
        steps = still + coming.get(sort, 0)
        for use in place.step.use:
            role = place.roles[use.role]
            if role in builder.painters:
                painter = builder.painters[role]
                price, how = price_of(painter)
                dollars = None if price is None else price * steps
                found.append(Estimate(painter.name, f"{place.name}: {role}", steps, steps, 0, 0, dollars, how))
                continue
            if use.role in place.step.optional and role not in builder.models:
                continue
            model = builder.models.get(role)
            name = model.name if model is not None else role
            calls = steps * use.calls
            tokens = (use.tokens_in + use.pictures * PICTURE_TOKENS) * calls, use.tokens_out * calls
            known = mean_use(builder.store, name) if model is not None else None
            if known is not None:
                tokens = round(known[0] * calls), round(known[1] * calls)
            dollars = settings.price(name, *tokens) if isinstance(model, ChatModel) else None if model is None else 0.0
            basis = "stored calls" if known else "rule of thumb"
            found.append(Estimate(name, f"{place.name}: {role}", steps, calls, *tokens, dollars, basis))
        coming[sort] = coming.get(sort, 0) + still
    return found


def empty_sources(builder: Builder) -> list[str]:
    """The steps that make items and have made none yet: what comes after them cannot be counted."""
    counts, _ = builder.look()
    pairs = zip(builder.recipe.places, counts, strict=True)
    return [place.name for place, count in pairs if place.step.source is not None and not count.arrived]
