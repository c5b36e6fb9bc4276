"""Weights fitted to people, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..scoring.stats import Interval
from ..scoring.weights import ALONE, EQUAL, FITTED, OWN, ROUNDED, WeightsFit
from .model import MISSING, Cells, Table, interval_cell, number, simple_table
from .render.csv import records

COLUMNS = ("exam", "score", "train", "held_out", "measure", "name", "n", "value", "low", "high")
NAMES = (ROUNDED, FITTED, OWN, EQUAL, ALONE)


def weight_tables(found: WeightsFit) -> list[Table]:
    """The weights of every fold beside the exam's own, then how they do on the raters held out."""
    return [_weights(found), _shown(found)]


def _weights(found: WeightsFit) -> Table:
    rows: list[Cells] = [["the exam's own", *(number(weight, 2) for weight in found.own), MISSING, MISSING]]
    for title, fit in [*((_without(fold.held_out), fold.fitted) for fold in found.folds), ("all", found.everyone)]:
        exact = [MISSING if fit.reason else number(weight, 2) for weight in fit.exact]
        rounded = fit.reason or " / ".join(f"{weight:g}" for weight in fit.rounded)
        rows.append([title, *exact, rounded, str(fit.n)])
    notes = [
        "weights of 0 or more that add to 1, with the highest Pearson correlation between their sum and the raters' "
        "mean overall rating; rounded: the best of all weights in tenths"
    ]
    title = f"{found.exam} · weights of {found.score} · {len(found.raters)} raters"
    return simple_table(title, ["fitted on", *found.dimensions, "rounded", "drawings"], rows, notes)


def _without(names: tuple[str, ...]) -> str:
    return f"all but {', '.join(names)}"


def _shown(found: WeightsFit) -> Table:
    rows: list[Cells] = []
    for fold in found.folds:
        cells = [_cell(fold.correlations[name]) for name in NAMES]
        rows.append([", ".join(fold.held_out), str(fold.n), *cells, _cell(fold.gain)])
    heads = ["rounded", "fitted", "the exam's", "equal", f"{found.dimensions[0]} alone", "rounded less the exam's"]
    notes = [
        "Pearson's r between the weighted sum of the held-out raters' own marks and their overall rating; "
        "[low, high]: 95% interval over questions"
    ]
    return simple_table("on raters that were held out", ["held out", "drawings", *heads], rows, notes)


def _cell(found: Interval) -> Any:
    return interval_cell(found.value, found.low, found.high, 3)


def weights_csv(found: WeightsFit) -> str:
    """One line per number."""
    return records(COLUMNS, _numbers(found))


def _numbers(found: WeightsFit) -> Iterator[dict[str, Any]]:
    head = {"exam": found.exam, "score": found.score}
    for fold in found.folds:
        who = {**head, "train": ",".join(fold.train), "held_out": ",".join(fold.held_out)}
        for kind, weights in (("weight", fold.fitted.exact), ("rounded_weight", fold.fitted.rounded)):
            if fold.fitted.reason is None:
                for name, value in zip(found.dimensions, weights, strict=True):
                    yield {**who, "measure": kind, "name": name, "value": value, "n": fold.fitted.n}
        for name, each in fold.correlations.items():
            yield {**who, "measure": "pearson", "name": name, **each.to_json(), "n": fold.n}
        yield {**who, "measure": "gain", **fold.gain.to_json(), "n": fold.n}
