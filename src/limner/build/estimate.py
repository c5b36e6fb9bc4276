"""Estimates of what a build will cost: for each step from its own calls so far, or from its prompt, items and pictures.

The upper bound assumes that earlier steps drop no more items.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance

import sqlalchemy as sa

from ..calls import Calls
from ..core.catalogue import price_of
from ..core.errors import LimnerError
from ..core.settings import Settings
from ..models import ChatModel
from ..models.base import PICTURE_TOKENS
from ..running.estimate import TOKENS_IN, TOKENS_OUT, Estimate
from ..store import Store
from ..store.schema import attempts, calls
from .ask import AskSettings
from .base import WARNINGS, BuildItem, StepContext, Use
from .engine import Builder, purpose_of
from .recipe import RecipeStep
from .records import Items, StepCount, items_of_sort, load_rows

LETTERS = 3.5
"""Characters of a token, at a cautious count."""
UNKNOWN_TEXT = 1500
"""Tokens of an item that does not exist yet."""
SHOWN_ITEMS = 50
"""The most items whose length is measured."""
QUANTILE = 2.2
"""The spreads above the mean that hold 19 runs in 20. Costs of items are skewed, so the normal quantile is too low."""
REPEATS = 3
"""The times that a request may be sent until its reply can be read."""
FEW = 5
"""Items with own calls from which these decide."""


@dataclass(frozen=True)
class ItemCost:
    """The cost of one item at a step: tokens, dollars, and the variance of the dollars between items.

    Attributes:
        items: The number of items it was measured on; 0 if it was derived from the prompt.
    """

    tokens_in: float
    tokens_out: float
    dollars: float | None
    variance: float = 0.0
    items: int = 0

    def at_most(self, items: int) -> float | None:
        """Return an upper bound of the dollars for so many items."""
        if self.dollars is None:
            return None
        if not self.items:
            return self.dollars * items * REPEATS
        spread = sqrt(items * self.variance + items * items * self.variance / self.items)
        # A small sample underestimates rare repetitions.
        return self.dollars * items * (1 + 1 / self.items) + QUANTILE * (1 + 3 / self.items) * spread


def build_estimate(builder: Builder, settings: Settings, until: str | None = None) -> list[Estimate]:
    """Return an upper estimate for every step that asks a model, up to the step `until`."""
    estimates, coming, known = list[Estimate](), dict[str, int](), dict[str, list[BuildItem]]()
    for place, before, count, _ in builder.stages(until):
        step = place.step
        known[step.takes] = items_of_sort(before, step.takes) or known.get(step.takes, [])
        if step.source is not None:
            known.setdefault(step.makes, []).extend(seen := previewed_items(builder, place))
            expected = len(seen) or expected_items(builder, place, before, coming)
            coming[step.makes] = coming.get(step.makes, 0) + max(0, expected - count.arrived)
        still = count.pending + sum(count.failed.values())
        items = still + (coming.get(step.takes, 0) if step.source is None else 0)
        if step.source is None or step.roles:
            lines = (_line(builder, settings, place, use, items, known[step.takes]) for use in step.use)
            estimates += [line for line in lines if line is not None]
        if step.source is None:
            for name, entries in _entries(place, known[step.takes]):
                name = f"{step.takes}.{name}"
                coming[name] = coming.get(name, 0) + round(items * entries)
            coming[step.takes] = coming.get(step.takes, 0) + still + count.waiting
    return estimates


def _entries(place: RecipeStep, known: Sequence[BuildItem]) -> Iterator[tuple[str, float]]:
    """Yield the lists that a model will write for each item, and the most entries of each, as far as it is known."""
    how = place.settings
    if not isinstance(how, AskSettings):
        return
    for name, source in how.saved().items():
        field = how.reply.get(source) if isinstance(source, str) else None
        if field is not None and "most" in field.model_fields_set:
            yield name, field.most
    if how.batches is not None and known:
        yield how.batches.list, fmean(int(each.body[how.batches.wanted]) * how.asks(each.body) for each in known)


def previewed_items(builder: Builder, place: RecipeStep) -> list[BuildItem]:
    """Return the items that a source will make, if it needs only its settings and files for that."""
    step, build = place.step, builder.build.name
    if step.source is None or not step.preview:
        return []
    recipe, store = builder.recipe, builder.store
    context = StepContext(
        build, place.name, place.settings, builder.prompts, recipe.folder, recipe.code, {}, Calls(store), store.blobs
    )
    made = step.source([], context)

    async def collect() -> list[BuildItem]:
        return [item async for item in made if isinstance(item, BuildItem)]

    try:
        return asyncio.run(collect())
    except LimnerError:
        return []  # The run says what is missing.


def expected_items(builder: Builder, place: RecipeStep, items: Items, coming: Mapping[str, int]) -> int:
    """Return the number of items that a source will have made; 0 if nothing is known."""
    expect = place.step.expect
    return expect(place.settings, builder.recipe.folder, list(items.values()), coming) if expect is not None else 0


def _line(
    builder: Builder, settings: Settings, place: RecipeStep, use: Use, items: int, known: Sequence[BuildItem]
) -> Estimate | None:
    role = use.role
    if role in builder.painters:
        painter = builder.painters[role]
        price, how = price_of(painter)
        dollars = None if price is None else price * items
        return Estimate(painter.name, f"{place.name}: {role}", items, items, 0, 0, dollars, how)
    model = builder.models.get(role)
    if model is None and use.role in place.step.optional:
        return None
    name = model.name if model is not None else role
    cost = measured_cost(builder.store, builder.build.name, place.name, name)
    basis = "stored calls"
    if cost is None or cost.items < FEW:
        cost, basis = _prior(builder, settings, place, use, name, known), "rule of thumb"
    dollars = None if model is None else cost.at_most(items) if isinstance(model, ChatModel) else 0.0
    tokens = round(cost.tokens_in * items), round(cost.tokens_out * items)
    return Estimate(name, f"{place.name}: {role}", items, items * use.calls, *tokens, dollars, basis)


def _prior(
    builder: Builder, settings: Settings, place: RecipeStep, use: Use, name: str, known: Sequence[BuildItem]
) -> ItemCost:
    """Return the cost of an item by the length of the prompt and of the item's fields that it shows."""
    template = builder.prompts.text(use.prompt) if use.prompt else ""
    shown = fmean(_length(place, item) for item in known[:SHOWN_ITEMS]) if known else UNKNOWN_TEXT * LETTERS
    calls = use.calls * (fmean(use.batches(item.body) for item in known) if use.batches and known else 1)
    sent = ((len(template) + shown) / LETTERS + use.pictures * PICTURE_TOKENS) * calls
    written = use.tokens_out * calls
    return ItemCost(sent, written, settings.price(name, round(sent), round(written)))


def _length(place: RecipeStep, item: BuildItem) -> float:
    """Return the length of what a step sees of an item, which may lack fields of the steps between."""
    length = len(json.dumps(place.step.seen(item.body), ensure_ascii=False))
    lacking = {*(place.step.reads or ())} - {*item.body, WARNINGS}
    return length + (UNKNOWN_TEXT * LETTERS if lacking else 0)


def measured_cost(store: Store, build: str, step: str, target: str) -> ItemCost | None:
    """Return the cost of an item by the step's own calls, all turns and repetitions included."""
    query = (
        sa.select(calls.c.key, sa.func.sum(attempts.c.cost), sa.func.sum(TOKENS_IN), sa.func.sum(TOKENS_OUT))
        .select_from(calls.join(attempts, attempts.c.call == calls.c.key))
        .where(calls.c.exam == purpose_of(build), calls.c.painter == step, calls.c.target == target)
        .group_by(calls.c.key)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    costs = [row.cost for row in load_rows(store, build, step).values() if row.cost]
    if not rows or not costs:
        return None
    sent, written = (sum(float(row[n] or 0) for row in rows) / len(costs) for n in (2, 3))
    return ItemCost(sent, written, fmean(costs), variance(costs) if len(costs) > 1 else fmean(costs) ** 2, len(costs))


def empty_sources(builder: Builder, counts: Sequence[StepCount]) -> list[str]:
    """Return the source steps of which nothing is known yet; the steps after them cannot be counted."""
    coming = {place.step.makes: 1 for place in builder.recipe.places}
    pairs = zip(builder.recipe.places, counts, strict=False)
    return [
        place.name
        for place, count in pairs
        if place.step.source is not None
        and not count.arrived
        and not previewed_items(builder, place)
        and not expected_items(builder, place, {}, coming)
    ]
