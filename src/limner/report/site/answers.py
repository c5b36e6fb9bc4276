"""An exam's result in a sentence or two: who leads, by which score, and how certain that is, with an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.evaluator import REFERENCE
from ...core.plot_data import plural
from ...core.protocol import Score
from ...scoring import Standing, columns
from ...scoring.comparable import lead, ordered, places, printed
from ...scoring.compare import Comparison
from ...scoring.stats import ALPHA
from .inventory import DrawingSlot, Inventory
from .judge_data import JudgeData
from .leaderboard import BoardRows, JudgeTable, numbers_json
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
    if not judges.tables:
        return {"way": None, "said": ["Nothing is marked yet."], "sure": [], "rows": [], "controls": []}
    first: dict[str, Any] | None = None
    for table in judges.tables:
        body, informative = _answer(table, inventory)
        if informative or first is None:
            body |= {"drawn": _drawn(table, body["rows"], judges, pictures), **_strips(table, judges, pictures)}
        if informative:
            return body
        first = first or body
    return first or {}


def _answer(table: JudgeTable, inventory: Inventory) -> tuple[dict[str, Any], bool]:
    board, scores = table.boards[0], columns(inventory.protocol)
    rows = [row for row in board.rows if row.n]
    score = headline(rows, inventory)
    evaluator = table.evaluator
    head: dict[str, Any] = {"way": table.number, "judge": table.name, "examined": evaluator.examined}
    head |= {"certificate": table.certificate, **evaluator.warnings_json}
    head |= {"score": score.name if score else None, "questions": len(board.rows[0].compared.questions)}
    if score is None:
        return head | {"said": _no_headline(rows, inventory), "sure": [], "rows": [], "controls": []}, False
    order = [rows[n] for n in ordered(rows, scores, score)]
    scored = [row for row in order if row.numbers.value(score.name) is not None]
    number = _numbers(inventory)
    rivals = [row for row in scored if not row.control]
    result, certainty = _rivals(rivals, score, board, number) if rivals else _controls(scored, score, number)
    placed = dict(zip((row.name for row in scored), places(scored, score), strict=True))
    listed = [
        {"p": number(row), "place": placed[row.name], "numbers": numbers_json(row.numbers), "cost": row.costs.drawing}
        for row in scored[:MAX_LISTED]
    ]
    controls = sorted((row for row in scored if row.control), key=lambda row: -(row.numbers.value(score.name) or 0.0))
    ends = [[number(row), row.numbers.value(score.name)] for row in (*controls[:1], *controls[1:][-1:])]
    return head | {"said": result, "sure": certainty, "rows": listed, "controls": ends}, True


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


def _rivals(rivals: Sequence[Standing], score: Score, board: BoardRows, number: Any) -> tuple[Words, Words]:
    best = [row for row in rivals if printed(row, score) == printed(rivals[0], score)]
    first, value = best[0], _value(best[0], score)
    if len(rivals) == 1:
        return [number(first), f" gets {value}."], ["There is no other painter to compare it with."]
    if len(best) == len(rivals):
        return ["All ", str(len(rivals)), f" painters get {value}."], ["They share the first place."]
    if len(best) > 1:
        return [*_listed([number(row) for row in best]), f" share the first place with {value}."], []
    result: Words = [number(first), f" is ahead with {value}."]
    return result, _certainty(first, rivals, score, board.comparison, number)


def _certainty(
    first: Standing, rivals: Sequence[Standing], score: Score, comparison: Comparison | None, number: Any
) -> Words:
    if comparison is None or comparison.score.name != score.name:
        return []
    pairs = {row.name: comparison.pair(first.name, row.name) for row in rivals if row.name != first.name}
    winners = {name: pair.winner if pair else None for name, pair in pairs.items()}
    close = [row for row in rivals if row.name in pairs and winners[row.name] is None]
    # A painter that leads on all its questions may still lose on the questions that both have.
    better = [row for row in rivals if row.name in pairs and winners[row.name] == row.name]
    common = comparison.compared.on == "common"
    on = f"on the same {comparison.questions} questions" if common else "on the questions both have"
    if not close and not better:
        rest = "the other painter" if len(pairs) == 1 else f"each of the {len(pairs)} others"
        return [f"It differs significantly from {rest} {on} (p\xa0<\xa0{ALPHA:g}, corrected for all pairs)."]
    words: Words = []
    if better:
        words += [*_listed([number(row) for row in better]), f" {'is' if len(better) == 1 else 'are'} better {on}."]
    if not close:
        return words
    words += [" ", number(first)] if better else ["It"]
    words += [" does not differ significantly from ", *_listed([number(row) for row in close], "or"), f" {on}."]
    nearest = pairs[close[0].name]
    if nearest is not None and nearest.needed.value is not None:
        words.append(f" About {nearest.needed.value:,.0f} questions would separate it from the second.")
    return words


def _controls(scored: Sequence[Standing], score: Score, number: Any) -> tuple[Words, Words]:
    first, last = scored[0], scored[-1]
    result: Words = [number(first), f" gets {_value(first, score)}"]
    if first is not last:
        result += [", ", number(last), f" {_value(last, score)}"]
    return [*result, "."], ["All painters are controls, whose correct result is known: this examines the judge."]


def _listed(names: Sequence[str | int], word: str = "and") -> Words:
    if len(names) > MAX_NAMED + 1:
        return [names[0], ", ", names[1], f" {word} {len(names) - MAX_NAMED} others"]
    if len(names) == 1:
        return [names[0]]
    words: Words = []
    for n, name in enumerate(names):
        words += [name, f" {word} " if n == len(names) - 2 else ", " if n < len(names) - 1 else ""]
    return words


def _value(row: Standing, score: Score) -> str:
    interval = row.scores[score.name]
    value = f"{interval.value:.{score.digits}f} {_plain(score)}"
    if interval.low is None or interval.high is None:
        return f"{value} on {plural(row.numbers.n, 'question')}"
    return f"{value} [{interval.low:.{score.digits}f}, {interval.high:.{score.digits}f}]"


def _plain(score: Score) -> str:
    return score.name.replace("_", " ")


def _numbers(inventory: Inventory) -> Any:
    return lambda row: inventory.places[row.painter, row.strategy]


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
    whole = {q: slots for q, slots in drawn.items() if len(slots) == most}
    if not whole:
        return None

    def spread(question: int) -> float:
        values = [met[slot.number] for slot in whole[question].values()]
        return max(values) - min(values)

    question = max(whole, key=lambda q: (spread(q), -q))
    asked = inventory.questions[question]
    drawings = [
        _tile(whole[question][p], met[whole[question][p].number], inventory, pictures)
        for p in painters
        if p in whole[question]
    ]
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
        return [_tile(slot, met[slot.number], inventory, pictures) for slot in chosen]

    return {"best": strip(True), "worst": strip(False)} if len(slots) >= 2 * STRIP else {"best": [], "worst": []}


def _tile(slot: DrawingSlot, met: float, inventory: Inventory, pictures: Pictures) -> dict[str, Any]:
    body = {"p": slot.painter, "d": slot.short, "image": pictures.small(slot.image), "met": round(met, 4)}
    return body | {"id": inventory.questions[slot.question].id, "key": inventory.keys[slot.question]}
