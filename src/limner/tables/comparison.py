"""Painters and exams held against each other, as sheets and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from ..scoring.compare import MET, Across, Comparison, Pair
from ..scoring.stats import ALPHA
from .sheets import NOTHING, Sheet, between, number

COLUMNS = (
    "exam", "reading", "judge", "score", "by", "category", "row", "painter", "other", "n", "value", "low", "high",
    "least", "most", "rank_low", "rank_high", "coverage", "pessimistic", "p", "p_holm", "effect", "differing",
    "needed", "verdict", "evaluator",
)  # fmt: skip
SENTENCES = 6
"""How many pairs are told in sentences below a table; the table has them all."""


def comparison_sheets(found: Sequence[Comparison]) -> list[Sheet]:
    """Two sheets for every comparison: who stands where, and every pair."""
    sheets = []
    for one in found:
        title = f"{one.exam} · judge {one.evaluator.name} · reading {one.reading} · {one.score.name}"
        if one.by is not None:
            title += f" · {one.by}: {one.category}"
        sheets.append(_places(one, f"{title} · {_on(one)}"))
        if one.pairs:
            sheets.append(_pairs(one))
    if sheets:
        sheets[-1] = replace(sheets[-1], notes=[*sheets[-1].notes, *_legend(found)])
    return sheets


def _legend(found: Sequence[Comparison]) -> list[str]:
    """What the columns mean, once for all tables."""
    places = [place for one in found for place in one.places]
    notes = []
    if any(one.score.name == MET.name for one in found):
        notes.append(
            "met: percent of criteria met, of those the judge decided for every painter; it is used where the judge "
            "leaves the exam's scores open"
        )
    if any(place.rank for place in places):
        notes.append("place: the places held in 95% of resamples of the questions; [low, high]: 95% interval")
    if any(place.pessimistic is not None for place in places):
        notes.append(
            "worst case: the score on all questions of the exam or selection, with what is missing counted as zero"
        )
    if any(one.pairs for one in found):
        notes.append(
            f"p: two-sided sign-flip test; Holm: corrected over all tests, better below {ALPHA:g}; d_z: the difference "
            "in standard deviations of the differences by question; needed: questions to tell the two apart"
        )
    return notes


def _count(questions: int) -> str:
    return "1 question" if questions == 1 else f"{questions} questions"


def _on(found: Comparison) -> str:
    if found.compared.on == "all":
        return "each painter on its own questions, every two on those they share"
    return f"{_count(found.questions)} that all painters have"


def _places(found: Comparison, title: str) -> Sheet:
    digits = found.score.digits
    bounded = any(place.bounds for place in found.places)
    columns = ["painter", "place", found.score.name, *(["could be"] if bounded else []), "coverage", "worst case"]
    rows = []
    for place in found.places:
        row = [place.name, place.rank.words if place.rank else NOTHING]
        row.append(between(place.score.value, place.score.low, place.score.high, digits))
        if bounded:
            ends = place.bounds
            row.append(f"{number(ends['low'], digits)} … {number(ends['high'], digits)}" if ends else NOTHING)
        rows.append([*row, f"{place.coverage:.0%}", number(place.pessimistic, digits)])
    compared = found.compared
    first = compared.first
    notes = [note for note in compared.notes if (compared.cut or compared.left_out) and note not in first]
    notes += [found.reason] if found.reason else []
    missing = {group.name for group in compared.left_out}
    told = [place for place in found.places if place.reason and place.name not in missing]
    notes += dict.fromkeys(f"{place.name}: {place.reason}" for place in told)
    return Sheet(title, columns, rows, notes, words=2, first=first)


def _pairs(found: Comparison) -> Sheet:
    digits = found.score.digits
    rows = []
    for pair in found.pairs:
        gap = between(pair.difference.value, pair.difference.low, pair.difference.high, digits)
        needed = NOTHING if pair.needed.value is None else f"{pair.needed.value:.0f}"
        p = [_p(pair.p.value), _p(pair.p_holm)]
        words = "the first is better" if pair.better else pair.verdict
        rows.append([pair.first, pair.second, gap, *p, number(pair.effect.value, 2), needed, words])
    columns = ["first", "second", "difference", "p", "p (Holm)", "d_z", "needed", "verdict"]
    title = f"every two painters, the better one first · {found.tests} test{'s' if found.tests > 1 else ''}"
    return Sheet(title, columns, rows, _sentences(found), words=2, last=True, extra=frozenset({3, 5, 6}))


def _p(value: float | None) -> str:
    return NOTHING if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _sentences(found: Comparison) -> list[str]:
    open_pairs = [pair for pair in found.pairs if not pair.better and pair.needed.value is not None]
    told = [_sentence(pair, found) for pair in open_pairs[:SENTENCES]]
    if len(open_pairs) > SENTENCES:
        told.append(f"… and {len(open_pairs) - SENTENCES} more pairs: see the column needed")
    return told


def _sentence(pair: Pair, found: Comparison) -> str:
    return (
        f"to tell {pair.first} from {pair.second} at a gap of {number(pair.gap, found.score.digits)} you would need "
        f"about {pair.needed.value:.0f} questions (power 0.8, alpha {ALPHA:g}); there are {found.questions}"
    )


def comparison_csv(found: Sequence[Comparison]) -> str:
    """One line per painter and one per pair; `row` says which."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for one in found:
        head = {"exam": one.exam, "reading": one.reading, "judge": one.evaluator.judge, "score": one.score.name}
        head |= {"by": one.by or "", "category": one.category or "", "evaluator": one.evaluator.name}
        for place in one.places:
            line = {**head, "row": "painter", "painter": place.name, **place.score.to_json()}
            line |= {"coverage": place.coverage, "pessimistic": place.pessimistic}
            if place.bounds:
                line |= {"least": place.bounds["low"], "most": place.bounds["high"]}
            if place.rank:
                line |= {"rank_low": place.rank.low, "rank_high": place.rank.high}
            writer.writerow(line)
        for pair in one.pairs:
            line = {**head, "row": "pair", "painter": pair.first, "other": pair.second, **pair.difference.to_json()}
            line |= {"p": pair.p.value, "p_holm": pair.p_holm, "effect": pair.effect.value}
            writer.writerow(line | {"differing": pair.differing, "needed": pair.needed.value, "verdict": pair.verdict})
    return buffer.getvalue()


def across_sheets(found: Across) -> list[Sheet]:
    """Painters by exam, and how alike every two exams order them."""
    columns = ["painter", *(column.exam for column in found.columns)]
    rows = [
        [painter, *(number(column.values.get(painter), column.score.digits) for column in found.columns)]
        for painter in found.painters
    ]
    notes = [
        f"{column.exam}: {column.score.name}, judge {column.evaluator.name}, {_count(column.questions)}"
        for column in found.columns
    ]
    if not rows:
        notes.insert(0, "no painter stands in two of these exams")
    orders = []
    for pair in found.pairs:
        order = pair["spearman"]
        both = [between(order["value"], order["low"], order["high"], 2), number(pair["kendall"]["value"], 2)]
        orders.append([pair["first"], pair["second"], str(pair["painters"]), *both])
    reasons = {
        f"{pair['first']} and {pair['second']}: {pair['spearman']['reason']}"
        for pair in found.pairs
        if pair["spearman"]["reason"]
    }
    told = [*sorted(reasons), "1: the same order, 0: no relation, -1: reversed; [low, high]: resampling the questions"]
    return [
        Sheet("painters in several exams", columns, rows, notes),
        Sheet(
            "how alike exams order painters", ["first", "second", "painters", "Spearman", "Kendall"], orders, told, 2
        ),
    ]


def across_csv(found: Across) -> str:
    """One line per painter and exam, then one per pair of exams; `row` says which."""
    buffer = io.StringIO()
    names = ("row", "exam", "other", "judge", "score", "painter", "n", "value", "low", "high", "evaluator")
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    for column in found.columns:
        for painter in found.painters:
            head = {"row": "painter", "exam": column.exam, "judge": column.judge, "score": column.score.name}
            head["evaluator"] = column.evaluator.name
            writer.writerow({**head, "painter": painter, "n": column.questions, "value": column.values.get(painter)})
    for pair in found.pairs:
        head = {"exam": pair["first"], "other": pair["second"], "n": pair["painters"]}
        for how in ("spearman", "kendall"):
            ends = {key: pair[how].get(key) for key in ("value", "low", "high")}
            writer.writerow({"row": how, **head, **ends})
    return buffer.getvalue()
