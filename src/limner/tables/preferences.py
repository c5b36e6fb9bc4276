"""Choices between two drawings, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..scoring.preferences import Preferences
from ..scoring.stats import Interval
from .model import Cells, Table, interval_cell, simple_table
from .render.csv import records

COLUMNS = ("exam", "study", "evaluator", "scale", "first", "second", "measure", "n", "value", "low", "high", "p")
EVEN = 50.0


def preference_tables(found: Sequence[Preferences]) -> list[Table]:
    """For every evaluator the painters with win rate and strength, then every two of them."""
    return [table for each in found for table in (_painters(each), _pairs(each))]


def _painters(found: Preferences) -> Table:
    rows: list[Cells] = [
        [
            each.painter, str(each.wins), str(each.ties), str(each.losses), _percent(each.rate),
            interval_cell(each.strength.value, each.strength.low, each.strength.high, 2),
        ]
        for each in found.painters
    ]  # fmt: skip
    who = f"{found.evaluator} ({found.raters})" if found.raters > 1 else found.evaluator
    study = f" · study {found.study}" if found.study else ""
    notes = [f"{found.n} choices on {found.questions} questions" + _skipped(found.skipped)]
    if found.reason:
        notes.append(found.reason)
    notes += _order(found)
    if found.weighted:
        notes.append("each choice is weighted by one over the probability that it was asked")
    notes.append(
        "win %: share of its pairs, a tie for half; strength: log-odds against the mean painter, by Bradley and Terry "
        "with Davidson's ties; [low, high]: 95% interval over questions"
    )
    title = f"{found.exam} · {found.scale} · {who}{study}"
    return simple_table(title, ["painter", "wins", "ties", "losses", "win %", "strength"], rows, notes)


def _skipped(count: int) -> str:
    return f", {count} more skipped" if count else ""


def _order(found: Preferences) -> list[str]:
    if found.shown_first.value is None:
        return ["nobody knows which drawing was shown first: no order effect"]
    told = f"what was shown first won {_words(found.shown_first, 100, 1)}% of the pairs"
    if found.order.value is not None:
        told += f"; order effect {_words(found.order, 1, 2)} log-odds"
        told += f", p = {found.order_p:.3g}" if found.order_p is not None else ""
    notes = [told]
    if found.ties.value is not None:
        notes.append(
            f"ties: Davidson's nu {_words(found.ties, 1, 2)} (0 for none, 1 where equals tie every third time)"
        )
    return notes


def _words(found: Interval, scale: float, digits: int) -> str:
    ends = [None if end is None else f"{end * scale:.{digits}f}" for end in (found.value, found.low, found.high)]
    return f"{ends[0]}" + (f" [{ends[1]}, {ends[2]}]" if ends[1] is not None else "")


def _percent(rate: Interval) -> Any:
    value, low, high = (None if end is None else 100 * end for end in (rate.value, rate.low, rate.high))
    return interval_cell(value, low, high, 1)


def _pairs(found: Preferences) -> Table:
    rows: list[Cells] = [
        [each.first, each.second, str(each.wins), str(each.ties), str(each.losses), _percent(each.rate)]
        for each in found.pairs
    ]
    columns = ["first", "second", "1st wins", "ties", "2nd wins", "1st wins %"]
    return simple_table("two by two", columns, rows, [], names=2)


def preferences_csv(found: Sequence[Preferences]) -> str:
    """One line per number."""
    return records(COLUMNS, (row for each in found for row in _numbers(each)))


def _numbers(found: Preferences) -> Iterator[dict[str, Any]]:
    head = {"exam": found.exam, "study": found.study, "evaluator": found.evaluator, "scale": found.scale}
    for each in found.painters:
        n = each.wins + each.ties + each.losses
        yield {**head, "first": each.painter, "measure": "win_rate", **each.rate.to_json(), "n": n}
        yield {**head, "first": each.painter, "measure": "strength", **each.strength.to_json(), "n": n}
    for pair in found.pairs:
        n = pair.wins + pair.ties + pair.losses
        names = {"first": pair.first, "second": pair.second}
        yield {**head, **names, "measure": "win_rate", **pair.rate.to_json(), "n": n}
    yield {**head, "measure": "shown_first", **found.shown_first.to_json(), "n": found.n}
    yield {**head, "measure": "order_effect", **found.order.to_json(), "n": found.n, "p": found.order_p}
    yield {**head, "measure": "davidson_nu", **found.ties.to_json(), "n": found.n}
