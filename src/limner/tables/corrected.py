"""Scores corrected by what people marked, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ..core.evaluator import by_evaluator
from ..core.protocol import Protocol, Score
from ..exams import kind
from ..scoring import Standing, columns
from ..scoring.corrected import Corrected, HumanInterval
from .model import Cell, Cells, Table, interval_cell, score_cell, simple_table

COLUMNS = (
    "exam", "reading", "painter", "strategy", "judge", "evaluator", "study", "method", "against", "score", "value",
    "low", "high", "n", "human", "reason",
)  # fmt: skip
RAW, PPI = "raw", "PPI++"


def corrected_tables(rows: Sequence[Standing], exam_kind: str) -> list[Table]:
    """For each evaluator the raw and the corrected scores, and painters two by two."""
    protocol = kind(exam_kind).protocol
    return [table for members in by_evaluator(rows) for table in _under_one(members, protocol)]


def corrections(rows: Sequence[Standing]) -> list[tuple[Standing, Corrected]]:
    """The rows that have corrected scores, with these."""
    return [(row, row.corrected) for row in rows if isinstance(row.corrected, Corrected)]


def _under_one(members: Sequence[Standing], protocol: Protocol[Any]) -> Iterator[Table]:
    found = corrections(members)
    shown = [score for score in columns(protocol) if score.main and any(score.name in each.ppi for _, each in found)]
    if found and shown:
        yield _scores(found, shown)
        if len(found) > 1:
            yield _differences(found, shown[0])


def _scores(found: Sequence[tuple[Standing, Corrected]], scores: Sequence[Score]) -> Table:
    body: list[Cells] = []
    notes: list[str] = []
    for row, each in found:
        for score in scores:
            raw = score_cell(row.scores.get(score.name), row.bounds.get(score.name), score.digits)
            number = each.ppi.get(score.name, HumanInterval())
            cell = interval_cell(number.value, number.low, number.high, score.digits)
            body.append([row.name, score.name, raw, cell, f"{number.human} of {number.n}"])
            if number.reason:
                notes.append(f"{score.name}: {number.reason}")
    first, one = found[0]
    notes = list(dict.fromkeys(notes))
    notes.append(
        "PPI++ is unbiased for any judge; human: drawings that people marked, of those the judge marked; "
        "[low, high]: 95% interval over questions"
    )
    title = f"corrected by the study {one.study} · judge {first.evaluator.name}"
    heads = ["painter", "score", RAW, PPI, "human"]
    rules = range(len(scores), len(body), len(scores)) if len(scores) > 1 else ()
    return simple_table(title, heads, body, notes, names=2, rules=rules)


def _differences(found: Sequence[tuple[Standing, Corrected]], score: Score) -> Table:
    body: list[Cells] = []
    for (first, one), (second, _) in combinations(found, 2):
        told = one.differences.get(second.name, {}).get(score.name)
        raw = [row.numbers.value(score.name) for row in (first, second)]
        plain = interval_cell(None if None in raw else (raw[0] or 0) - (raw[1] or 0), None, None, score.digits)
        cell = interval_cell(told.value, told.low, told.high, score.digits) if told else Cell()
        body.append([first.name, second.name, plain, cell, _verdict(told)])
    notes = ["paired by question; the same interval as above, of the difference"]
    return simple_table(
        f"every two painters by {score.name}, corrected (PPI++)",
        ["first", "second", "raw difference", PPI, "verdict"], body, notes, names=2, prose=["verdict"],
    )  # fmt: skip


def _verdict(told: HumanInterval | None) -> str:
    if told is None or told.low is None or told.high is None:
        return "too few people's marks"
    if told.low > 0 or told.high < 0:
        return f"the {'first' if told.low > 0 else 'second'} is better"
    return "not settled"


def corrected_records(rows: Sequence[Standing]) -> Iterator[dict[str, Any]]:
    """One row per number."""
    for row, each in corrections(rows):
        head = {key: getattr(row, key) for key in ("exam", "reading", "painter", "strategy", "judge")}
        head |= {"evaluator": row.evaluator.name, "study": each.study}
        for score, interval in row.scores.items():
            yield {**head, "method": "raw", "score": score, **interval.to_json()}
        for score, found in each.ppi.items():
            yield {**head, "method": "ppi", "score": score, **found.to_json()}
        for other, differences in each.differences.items():
            for score, found in differences.items():
                yield {**head, "method": "ppi", "against": other, "score": score, **found.to_json()}
