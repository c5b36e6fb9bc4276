"""The catalogue of models as a table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from ..core.catalogue import ModelFacts, PainterFacts, state_of, successor_of
from ..core.settings import Settings
from .model import MISSING, Table, simple_table

HEADS = ["model", "released", "gone on", "successor", "in", "out", "an image", "priced on"]


def chosen_models(known: Settings, word: str | None, gone: bool, day: date) -> dict[str, ModelFacts]:
    """The models whose name or maker has the word in it; with `gone`, only those that are gone or going."""
    wanted = (word or "").casefold()
    return {
        name: facts
        for name, facts in known.models.items()
        if wanted in f"{name} {facts.maker or ''}".casefold() and not (gone and state_of(facts, day) == "current")
    }


def models_table(rows: Mapping[str, ModelFacts], known: Settings, day: date) -> Table:
    """A row for every model: how long it lives, who comes after it, what it costs."""
    cells, unsure = [], False
    for name, facts in rows.items():
        painter = known.painter(name)
        unsure |= not facts.confirmed
        ends = MISSING if facts.shutdown is None else f"{facts.shutdown}{' (gone)' if facts.shutdown <= day else ''}"
        cells.append(
            [
                name + ("" if facts.confirmed else " ?"),
                str(facts.released or MISSING),
                ends,
                successor_of(name, known.models, day) or MISSING,
                _dollars(facts.input_price),
                _dollars(facts.output_price),
                _an_image(painter),
                (facts.priced_on if facts.input_price is not None else painter.priced_on) or MISSING,
            ]
        )
    notes = ["in and out: dollars per million tokens; an image: dollars each, or the most it can cost"]
    notes += ["?: not every fact was found in pages of its maker or its service"] if unsure else []
    return simple_table(f"{len(rows)} models, as of {day}", HEADS, cells, notes, prose=["successor"])


def models_body(rows: Mapping[str, ModelFacts], known: Settings, day: date) -> list[dict[str, Any]]:
    """The same as plain JSON, with all that is known."""
    return [
        {"model": name, "state": state_of(facts, day)}
        | facts.model_dump(mode="json")
        | {"painter": known.painters[name].model_dump(mode="json") if name in known.painters else None}
        for name, facts in rows.items()
    ]


def _dollars(price: float | None) -> str:
    return MISSING if price is None else f"{price:.2f}"


def _an_image(painter: PainterFacts) -> str:
    if painter.image_price is not None:
        return f"{painter.image_price:.3f}"
    return MISSING if painter.image_bound is None else f"≤ {painter.image_bound:.2f}"
