"""An exam's result in a sentence or two: who leads, by which score, and how certain that is, with an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.evaluator import REFERENCE
from ...core.plot_data import plural
from ...core.protocol import Score
from ...scoring import Standing, columns
from ...scoring.comparable import lead, ordered, places, printed
from .chunks import no_folders
from .inventory import DrawingSlot, Inventory
from .judge_data import JudgeData
from .leaderboard import JudgeTable, numbers_json
from .pictures import Pictures

MAX_NAMED = 2
"""The most painters named in a sentence; further ones are only counted."""
MAX_LISTED = 8
"""The most painters listed below the sentence, with a drawing each."""
STRIP = 4
"""The number of best and of worst drawings."""
Words = list[str | int]
"""A sentence as a list of texts and of painters' numbers."""


def answer(judges: JudgeData, pictures: Pictures) -> dict[str, Any]:
    """Return an exam's result for the first page, by the first judge whose scores are informative."""
    inventory = judges.inventory
    scores = {table.number: headline([row for row in table.rows if row.n], inventory) for table in judges.tables}
    table = next((table for table in judges.tables if scores[table.number]), next(iter(judges.tables), None))
    if table is None:
        return {"way": None, "said": ["Nothing is marked yet."], "sure": [], "rows": [], "controls": []}
    body = _answer(table, scores[table.number], inventory)
    return body | {"drawn": _drawn(table, body["rows"], judges, pictures), **_strips(table, judges, pictures)}


def _answer(table: JudgeTable, score: Score | None, inventory: Inventory) -> dict[str, Any]:
    rows = [row for row in table.rows if row.n]
    head: dict[str, Any] = {"way": table.number, "judge": table.name, "examined": table.evaluator.examined}
    head |= {"certificate": table.certificate, **table.evaluator.warnings_json}
    head |= {"score": score.name if score else None, "questions": len(table.rows[0].compared.questions)}
    if score is None:
        return head | {"said": _no_headline(rows, inventory), "sure": [], "rows": [], "controls": []}
    scored = [rows[n] for n in ordered(rows, columns(inventory.protocol), score)]
    scored = [row for row in scored if row.numbers.value(score.name) is not None]
    number = {row.name: inventory.places[row.painter, row.strategy] for row in scored}
    rivals = [row for row in scored if not row.control]
    result, sure = _rivals(rivals, score, table, number) if rivals else _controls(scored, score, number)
    listed = [
        {"p": number[row.name], "place": place, "numbers": numbers_json(row.numbers), "cost": row.costs.drawing}
        for row, place in zip(scored, places(scored, score), strict=True)
    ]
    controls = sorted((row for row in scored if row.control), key=lambda row: -(row.numbers.value(score.name) or 0.0))
    ends = [[number[row.name], row.numbers.value(score.name)] for row in (*controls[:1], *controls[1:][-1:])]
    return head | {"said": result, "sure": sure, "rows": listed[:MAX_LISTED], "controls": ends}


def headline(rows: Sequence[Standing], inventory: Inventory) -> Score | None:
    """Return the first informative main score: one on which some control, such as a blank sheet, misses the best value.

    The reference should reach the maximum, so it alone does not count against a score.
    """
    scores = columns(inventory.protocol)
    leading = lead(rows, scores)
    main = [score for score in scores if score.main]
    start = main.index(leading) if leading in main else len(main)
    return next((score for score in main[start:] if _informative(rows, score, inventory)), None)


def _informative(rows: Sequence[Standing], score: Score, inventory: Inventory) -> bool:
    values = {row.name: value for row in rows if (value := printed(row, score)) is not None}
    controls = [row for row in rows if row.control and row.name in values]
    if not values or all(inventory.row_of(row).spec == REFERENCE for row in controls):
        return bool(values)
    return min(values[row.name] for row in controls) < max(values.values())


def _no_headline(rows: Sequence[Standing], inventory: Inventory) -> Words:
    score = lead(rows, columns(inventory.protocol))
    if score is None:
        return ["There is no score yet: this judge decides too few criteria."]
    names = _listed([row.name for row in rows if row.control])
    return [f"No result yet: by {_plain(score)}, no painter is above the controls (", *names, ")."]


def _rivals(rivals: Sequence[Standing], score: Score, table: JudgeTable, number: dict[str, int]) -> tuple[Words, Words]:
    best = [number[row.name] for row in rivals if printed(row, score) == printed(rivals[0], score)]
    value, comparison = _value(rivals[0], score), table.boards[0].comparison
    if len(rivals) == 1:
        return [*best, f" gets {value}."], ["There is no other painter to compare it with."]
    known = comparison is not None and comparison.score.name == score.name
    sure: Words = [f"{no_folders(comparison.answer)}."] if comparison is not None and known else []
    return [*_listed(best), f" {'is ahead' if len(best) == 1 else 'share the first place'} with {value}."], sure


def _controls(scored: Sequence[Standing], score: Score, number: dict[str, int]) -> tuple[Words, Words]:
    first, last = scored[0], scored[-1]
    result: Words = [number[first.name], f" gets {_value(first, score)}"]
    if first is not last:
        result += [", ", number[last.name], f" {_value(last, score)}"]
    return [*result, "."], ["All painters are controls, whose correct result is known: this examines the judge."]


def _listed(names: Sequence[str | int]) -> Words:
    """Return names with commas and "and"; many are only counted."""
    shown: Words = [*names]
    if len(shown) > MAX_NAMED + 1:
        shown = [*shown[:MAX_NAMED], f"{len(shown) - MAX_NAMED} others"]
    words: Words = [word for name in shown[:-1] for word in (name, ", ")]
    return [*words[:-1], " and ", shown[-1]] if words else shown


def _value(row: Standing, score: Score) -> str:
    interval = row.scores[score.name]
    value = f"{interval.value:.{score.digits}f} {_plain(score)}"
    if interval.low is None or interval.high is None:
        return f"{value} on {plural(row.numbers.n, 'question')}"
    return f"{value} [{interval.low:.{score.digits}f}, {interval.high:.{score.digits}f}]"


def _plain(score: Score) -> str:
    return score.name.replace("_", " ")


def _drawn(
    table: JudgeTable, rows: Sequence[dict[str, Any]], judges: JudgeData, pictures: Pictures
) -> dict[str, Any] | None:
    """Return one question drawn by the listed painters: the one on which they differ most."""
    inventory, met = judges.inventory, judges.met[table.number]
    painters = [row["p"] for row in rows] or [n for n, painter in enumerate(inventory.painters) if painter.done]
    painters = painters[:MAX_LISTED]
    drawn: dict[int, dict[int, DrawingSlot]] = {}
    for slot in inventory.slots.values():
        if slot.painter in painters and slot.image and slot.number in met:
            drawn.setdefault(slot.question, {}).setdefault(slot.painter, slot)
    most = max(map(len, drawn.values()), default=0)
    if not most:
        return None

    def spread(question: int) -> float:
        values = [met[slot.number] for slot in drawn[question].values()]
        return max(values) - min(values)

    question = max((n for n, slots in drawn.items() if len(slots) == most), key=lambda n: (spread(n), -n))
    asked, slots = inventory.questions[question], drawn[question]
    drawings = [judges.tile(table, slots[p], pictures) for p in painters if p in slots]
    reference = pictures.small(asked.reference.sha256) if asked.reference else None
    return {"id": asked.id, "key": inventory.keys[question], "reference": reference, "drawings": drawings}


def _strips(table: JudgeTable, judges: JudgeData, pictures: Pictures) -> dict[str, Any]:
    """Return the best and the worst drawings by painters other than controls, with each question and picture once."""
    inventory, met = judges.inventory, judges.met[table.number]
    slots = [
        slot
        for slot in inventory.slots.values()
        if slot.image and not inventory.painters[slot.painter].control and slot.number in met
    ]

    def strip(best: bool) -> list[dict[str, Any]]:
        order = sorted(slots, key=lambda slot: (-met[slot.number] if best else met[slot.number], slot.number))
        chosen: list[DrawingSlot] = []
        for slot in order:
            if len(chosen) < STRIP and all(slot.question != one.question and slot.image != one.image for one in chosen):
                chosen.append(slot)
        return [judges.tile(table, slot, pictures) for slot in chosen]

    return {"best": strip(True), "worst": strip(False)} if len(slots) >= 2 * STRIP else {"best": [], "worst": []}
