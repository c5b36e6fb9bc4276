"""The answer of an exam in a sentence or two: who is ahead, by what, and how sure that is. With a picture. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.evaluator import REFERENCE
from ...core.protocol import Score
from ...scoring import Standing, columns
from ...scoring.compare import Comparison
from ...scoring.places import lead, ordered, places, printed
from ...scoring.stats import ALPHA
from .boards import BoardRows
from .inventory import DrawingSlot, Inventory
from .judge_data import JudgeData, JudgeTable
from .leaderboard import numbers_json
from .pictures import Pictures

NAMED = 2
"""So many painters are named in one breath; of more, their number is told."""
LISTED = 4
"""So many painters stand below the answer."""
SHOWN = 3
"""And of so many a drawing is shown."""
Words = list[str | int]
"""A sentence: words, and painters by their numbers."""


def answer(judges: JudgeData, pictures: Pictures) -> dict[str, Any]:
    """Return what the first page says of an exam: of the first judge whose scores tell something."""
    inventory = judges.inventory
    if not judges.tables:
        return {"way": None, "said": ["Nothing is marked yet."], "sure": [], "rows": []}
    first: dict[str, Any] | None = None
    for table in judges.tables:
        found, tells = _answer(table, inventory)
        if tells:
            return found | {"drawn": _drawn(table, found["rows"], judges, pictures)}
        first = first or found | {"drawn": _drawn(table, found["rows"], judges, pictures)}
    return first or {}


def _answer(table: JudgeTable, inventory: Inventory) -> tuple[dict[str, Any], bool]:
    board, scores = table.boards[0], columns(inventory.protocol)
    rows = [row for row in board.rows if row.n]
    score = headline(rows, inventory)
    evaluator = table.evaluator
    head: dict[str, Any] = {"way": table.number, "judge": table.name, "examined": evaluator.examined}
    head |= evaluator.warnings_json
    head |= {"score": score.name if score else None, "questions": len(board.rows[0].compared.questions)}
    if score is None:
        return head | {"said": _no_headline(rows, inventory), "sure": [], "rows": []}, False
    order = [rows[n] for n in ordered(rows, scores, score)]
    known = [row for row in order if row.numbers.value(score.name) is not None]
    number = _numbers(inventory)
    rivals = [row for row in known if not row.control]
    said, sure = _rivals(rivals, score, board, number) if rivals else _controls(known, score, number)
    placed = dict(zip((row.name for row in known), places(known, score), strict=True))
    listed = [
        {"p": number(row), "place": placed[row.name], "numbers": numbers_json(row.numbers)}
        for row in (rivals or known)[:LISTED]
    ]
    return head | {"said": said, "sure": sure, "rows": listed}, True


def headline(rows: Sequence[Standing], inventory: Inventory) -> Score | None:
    """Return the first main score that tells something: not one that every control reaches, a blank sheet among them.

    The reference ought to get everything, so alone it proves nothing against a score.
    """
    scores = columns(inventory.protocol)
    usual = lead(rows, scores)
    main = [score for score in scores if score.main]
    start = main.index(usual) if usual in main else len(main)
    return next((score for score in main[start:] if _tells(rows, score, inventory)), None)


def _tells(rows: Sequence[Standing], score: Score, inventory: Inventory) -> bool:
    values = {row.name: value for row in rows if (value := printed(row, score)) is not None}
    controls = [row for row in rows if row.control and row.name in values]
    if not values or all(inventory.row_of(row).spec == REFERENCE for row in controls):
        return bool(values)
    return min(values[row.name] for row in controls) < max(values.values())


def _no_headline(rows: Sequence[Standing], inventory: Inventory) -> Words:
    score = lead(rows, columns(inventory.protocol))
    if score is None:
        return ["No score is known yet: this judge decides too few criteria."]
    return [f"No answer yet: by {_plain(score)}, every control gets as much as the best, a blank sheet too."]


def _rivals(rivals: Sequence[Standing], score: Score, board: BoardRows, number: Any) -> tuple[Words, Words]:
    best = [row for row in rivals if printed(row, score) == printed(rivals[0], score)]
    first, value = best[0], _value(best[0], score)
    if len(rivals) == 1:
        return [number(first), f" gets {value}."], ["There is no other painter to compare it with."]
    if len(best) == len(rivals):
        return ["All ", str(len(rivals)), f" painters get {value}."], ["They share the first place."]
    if len(best) > 1:
        return [*_listed([number(row) for row in best]), f" share the first place with {value}."], []
    said: Words = [number(first), f" is ahead with {value}."]
    return said, _sure(first, rivals, score, board.comparison, number)


def _sure(first: Standing, rivals: Sequence[Standing], score: Score, found: Comparison | None, number: Any) -> Words:
    if found is None or found.score.name != score.name:
        return []
    pairs = {row.name: found.pair(first.name, row.name) for row in rivals if row.name != first.name}
    winners = {name: pair.winner if pair else None for name, pair in pairs.items()}
    close = [row for row in rivals if row.name in pairs and winners[row.name] is None]
    # Whoever is ahead on its own questions may still lose on those that both have.
    better = [row for row in rivals if row.name in pairs and winners[row.name] == row.name]
    on = f"on the same {found.questions} questions" if found.compared.on == "common" else "on the questions both have"
    if not close and not better:
        rest = "the other painter" if len(pairs) == 1 else f"each of the {len(pairs)} others"
        return [f"It is told apart from {rest} {on} (p < {ALPHA:g}, corrected for all pairs)."]
    said: Words = []
    if better:
        said += [*_listed([number(row) for row in better]), f" {'is' if len(better) == 1 else 'are'} better {on}."]
    if not close:
        return said
    said += [" ", number(first)] if better else ["It"]
    said += [" cannot be told apart from ", *_listed([number(row) for row in close], "or"), f" {on}."]
    nearest = pairs[close[0].name]
    if nearest is not None and nearest.needed.value is not None:
        said.append(f" About {nearest.needed.value:,.0f} questions would tell it from the second.")
    return said


def _controls(known: Sequence[Standing], score: Score, number: Any) -> tuple[Words, Words]:
    first, last = known[0], known[-1]
    said: Words = ["Only controls were examined: ", number(first), f" gets {_value(first, score)}"]
    if first is not last:
        said += [", ", number(last), f" {_value(last, score)}"]
    return [*said, "."], ["A control's right outcome is known: it examines the judge."]


def _listed(some: Sequence[str | int], word: str = "and") -> Words:
    if len(some) > NAMED + 1:
        return [some[0], ", ", some[1], f" {word} {len(some) - NAMED} others"]
    if len(some) == 1:
        return [some[0]]
    found: Words = []
    for n, one in enumerate(some):
        found += [one, f" {word} " if n == len(some) - 2 else ", " if n < len(some) - 1 else ""]
    return found


def _value(row: Standing, score: Score) -> str:
    found = row.scores[score.name]
    told = f"{found.value:.{score.digits}f} {_plain(score)}"
    if found.low is None or found.high is None:
        return f"{told} (n={row.numbers.n})"
    return f"{told} [{found.low:.{score.digits}f}, {found.high:.{score.digits}f}]"


def _plain(score: Score) -> str:
    return score.name.replace("_", " ")


def _numbers(inventory: Inventory) -> Any:
    return lambda row: inventory.places[row.painter, row.strategy]


def _drawn(
    table: JudgeTable, rows: Sequence[dict[str, Any]], judges: JudgeData, pictures: Pictures
) -> dict[str, Any] | None:
    """One question drawn by the first painters: the one on which they differ most."""
    inventory, met = judges.inventory, judges.met[table.number]
    painters = [row["p"] for row in rows[:SHOWN]] or [n for n, p in enumerate(inventory.painters) if p.done][:SHOWN]
    found: dict[int, dict[int, DrawingSlot]] = {}
    for slot in inventory.slots.values():
        if slot.painter in painters and slot.image and not math.isnan(met[slot.number]):
            found.setdefault(slot.question, {}).setdefault(slot.painter, slot)
    whole = {q: slots for q, slots in found.items() if len(slots) == len(painters)}
    if not whole:
        return None

    def spread(question: int) -> float:
        values = [met[slot.number] for slot in whole[question].values()]
        return max(values) - min(values)

    question = max(whole, key=lambda q: (spread(q), -q))
    asked = inventory.questions[question]
    drawings = [
        {"p": p, "d": slot.short, "image": pictures.small(slot.image), "met": round(met[slot.number], 4)}
        for p in painters
        for slot in [whole[question][p]]
    ]
    reference = pictures.small(asked.reference.sha256) if asked.reference else None
    return {"id": asked.id, "key": inventory.keys[question], "reference": reference, "drawings": drawings}
