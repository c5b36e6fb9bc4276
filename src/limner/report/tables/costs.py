"""Tables of the estimated cost of a run, of spending, and of models with their prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from ...calls.batches import BatchState
from ...calls.budget import PurseState
from ...core.catalogue import ModelFacts, PainterFacts, state_of, successor_of
from ...core.plot_data import plural
from ...core.settings import Settings
from ...running.estimate import Estimate, Spent, total
from ...running.plan import Shard
from ...running.progress import duration, spent_text
from ...store import now
from .model import MISSING, Table, simple_table


def estimate_table(exam: str, questions: int, estimates: Sequence[Estimate], shard: Shard | None = None) -> Table:
    """Return a table with a row for every painter, judge and helper model of a run, or of one shard."""
    rows = []
    for estimate in estimates:
        cost = "unknown" if estimate.dollars is None else f"{estimate.dollars:.2f}"
        numbers = (estimate.steps, estimate.calls, estimate.tokens_in, estimate.tokens_out)
        rows.append([estimate.who, estimate.role, *(f"{number:,}" for number in numbers), cost, estimate.basis])
    heads = ["who", "role", "steps", "calls", "tokens in", "tokens out", "dollars", "basis"]
    dollars, unknown = total(estimates)
    lacking = f", and what {', '.join(unknown)} costs: add the price to limner.toml" if unknown else ""
    notes = [f"in all about ${dollars:.2f}{lacking}"]
    part = "" if shard is None else f"shard {shard} of "
    return simple_table(
        f"{exam}: {part}{questions} questions, still to do", heads, rows, notes, names=2, prose=["basis"]
    )


def spend_table(store: str, by: Sequence[str], groups: Sequence[Spent]) -> Table:
    """Return a table with a row for every group of calls."""
    rows = []
    for group in groups:
        numbers = [group.calls, group.attempts, group.failed, group.unpriced, group.tokens_in, group.tokens_out]
        rows.append([*(group.group[name] or MISSING for name in by), *map(str, numbers), f"{group.dollars:.4f}"])
    heads = [*by, "calls", "attempts", "failed", "unpriced", "tokens in", "tokens out", "dollars"]
    unpriced = "unpriced: attempts whose cost is not known (no price, or ended before a reply)"
    notes = [unpriced] if any(group.unpriced for group in groups) else []
    if doubted := sum(group.doubted for group in groups):
        notes.append(
            f"{doubted} {'reply reports' if doubted == 1 else 'replies report'} a usage that is not credible: "
            "counted at the most it can have cost"
        )
    dollars, unknown = (sum(getattr(group, name) for group in groups) for name in ("dollars", "unpriced"))
    title = f"spent in {store}: {spent_text(dollars, unknown)}"
    return simple_table(title, heads, rows, notes, names=len(by))


def purse_table(purse: PurseState) -> Table:
    """Return a table with a row for every process that spent from a purse."""
    states = {True: "running", False: "ended", None: "unknown"}
    rows = []
    for by in purse.by:
        dollars = map(_dollars, (by.spent, by.at_bound, by.reserved))
        rows.append([by.host, str(by.pid), states[by.running], str(by.attempts), *dollars])
    heads = ["machine", "process", "state", "attempts", "spent", "of it at the bound", "set aside"]
    parts = f"${_dollars(purse.spent)} spent, ${_dollars(purse.reserved)} set aside, ${_dollars(purse.left)} left"
    title = f"purse {purse.purse}: {parts} of ${purse.limit:g}"
    notes = []
    if any(by.at_bound for by in purse.by):
        notes.append("at the bound: the cost is not known, so the most it can be counts")
    if purse.beyond:
        notes.append(f"${_dollars(purse.beyond)} was reported beyond what calls can cost by the price list")
    if purse.lost:
        held = f"${_dollars(purse.lost)} is still set aside by processes that ended during a call"
        notes.append(f"{held}: their cost is not known, so it counts")
    return simple_table(title, heads, rows, notes, names=3)


def batches_table(store: str, batches: Sequence[BatchState]) -> Table:
    """Return a table with a row for every batch."""
    rows, at = [], now()
    for batch in batches:
        price = "unknown" if batch.bound is None else _dollars(batch.bound)
        counts = f"{batch.calls or batch.waiting:,}", f"{batch.waiting:,}"
        rows.append(
            [batch.id[:8], batch.service, batch.model, *counts, batch.status, duration(at - batch.created), price]
        )
    heads = ["id", "service", "model", "calls", "waiting", "status", "age", "at most"]
    waiting = sum(batch.waiting for batch in batches)
    notes = [f"{waiting:,} calls wait: the command that submitted them fetches the results"] if waiting else []
    notes += [f"{batch.id[:8]}: {batch.detail}" for batch in batches if batch.detail][:5]
    return simple_table(f"batches in {store}: {len(batches)}", heads, rows, notes, names=3)


def _dollars(amount: float) -> str:
    return f"{amount:.4f}"


MOST_SOURCES = 20
"""The number of models up to which the table has the sources of their prices."""
HEADS = ["model", "released", "gone on", "successor", "in", "out", "an image", "priced on"]


def chosen_models(settings: Settings, word: str | None, gone: bool, day: date) -> dict[str, ModelFacts]:
    """Return the models that contain the word in a name, maker or source; with `gone`, only those gone or ending."""
    wanted = (word or "").casefold()
    return {
        name: facts
        for name, facts in settings.models.items()
        if wanted in " ".join([name, facts.maker or "", facts.source or "", *facts.paper_names]).casefold()
        and not (gone and state_of(facts, day) == "current")
    }


def models_table(rows: Mapping[str, ModelFacts], settings: Settings, day: date) -> Table:
    """Return a table with a row for every model: its dates, successor and prices."""
    cells, sources = [], dict[str, list[str]]()
    for name, facts in rows.items():
        painter = settings.painter(name)
        priced: ModelFacts | PainterFacts = facts if facts.input_price is not None else painter
        if priced.source:
            sources.setdefault(priced.source, []).append(name)
        ends = MISSING if facts.shutdown is None else f"{facts.shutdown}{' (gone)' if facts.shutdown <= day else ''}"
        cells.append(
            [
                name + ("" if facts.confirmed else " ?"),
                str(facts.released or MISSING),
                ends,
                successor_of(name, settings.models, day) or MISSING,
                _price(facts.input_price),
                _price(facts.output_price),
                _an_image(painter),
                priced.priced_on or MISSING,
            ]
        )
    notes = ["in and out: dollars per million tokens; an image: dollars each, or the most it can cost"]
    unsure = any(not facts.confirmed for facts in rows.values())
    notes += ["?: not every fact was found in pages of its maker or its service"] if unsure else []
    if len(rows) <= MOST_SOURCES:
        notes += [f"price of {', '.join(names)}: {source}" for source, names in sources.items()]
    else:
        notes.append("`--find WORD` also shows the sources of the prices")
    return simple_table(f"{plural(len(rows), 'model')}, as of {day}", HEADS, cells, notes, prose=["successor"])


def models_body(rows: Mapping[str, ModelFacts], settings: Settings, day: date) -> list[dict[str, Any]]:
    """Return the models with all facts as plain JSON."""
    return [
        {"model": name, "state": state_of(facts, day)}
        | facts.model_dump(mode="json")
        | {"painter": settings.painters[name].model_dump(mode="json") if name in settings.painters else None}
        for name, facts in rows.items()
    ]


def _price(price: float | None) -> str:
    """Return a price with two decimals, or as many as it has."""
    return MISSING if price is None else max(f"{price:.2f}", f"{price:.6f}".rstrip("0"), key=len)


def _an_image(painter: PainterFacts) -> str:
    if painter.image_price is None and painter.image_bound is not None:
        return f"≤ {_price(painter.image_bound)}"
    return _price(painter.image_price)
