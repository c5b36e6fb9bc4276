"""Painters and exams held against each other, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...scoring.compare import MET, Across, Comparison, Pair
from ...scoring.stats import ALPHA
from .model import BETWEEN, MISSING, Cells, Table, interval_cell, nothing_marked, number, simple_table

COLUMNS = (
    "exam", "reading", "judge", "score", "by", "category", "row", "painter", "other", "n", "value", "low", "high",
    "least", "most", "rank_low", "rank_high", "coverage", "pessimistic", "p", "p_holm", "corrected", "effect",
    "differing", "needed", "winner", "verdict", "evaluator",
)  # fmt: skip
ACROSS_COLUMNS = ("row", "exam", "other", "judge", "score", "painter", "n", "value", "low", "high", "evaluator")
SENTENCES = 6
"""How many pairs are told in sentences below a table; the table has them all."""


def comparison_tables(found: Sequence[Comparison]) -> list[Table]:
    """For every comparison who stands where, every two painters, and every pair with a control."""
    if not found:
        return [nothing_marked()]
    tables = []
    for one in found:
        title = f"{one.exam} · judge {one.evaluator.told} · reading {one.reading} · {one.score.name}"
        if one.by is not None:
            title += f" · {one.by}: {one.category}"
        tables.append(_places(one, f"{title} · {_on(one)}"))
        tables += _pairs(one)
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *_legend(found)))
    return tables


def _legend(found: Sequence[Comparison]) -> list[str]:
    """Return what the columns mean, once for all tables."""
    places = [place for one in found for place in one.places]
    notes = []
    if any(one.score.name == MET.name for one in found):
        notes.append(
            "met: percent of criteria met, of those the judge decided for every painter; it is used where the judge "
            "leaves the exam's scores open"
        )
    if any(place.rank for place in places):
        notes.append("place: the places held in 95% of resamples of the questions; [low, high]: 95% interval")
    elif any(place.score.low is not None for place in places):
        notes.append("[low, high]: 95% interval")
    if any(place.pessimistic is not None for place in places):
        notes.append(
            "worst case: the score on all questions of the exam or selection, with what is missing counted as zero"
        )
    kinds = {pair.corrected for one in found for pair in one.pairs}
    if kinds:
        words = {
            True: "Holm: corrected over all tests",
            False: "uncorrected: pairs with a control do not count as tests",
        }
        told = "; ".join(f"{said}, better below {ALPHA:g}" for kind, said in words.items() if kind in kinds)
        notes.append(
            f"p: two-sided sign-flip test; {told}; d_z: the difference in standard deviations of the differences by "
            "question; needed: questions to tell the two apart"
        )
    return notes


def _count(questions: int) -> str:
    return "1 question" if questions == 1 else f"{questions} questions"


def _on(found: Comparison) -> str:
    if found.compared.on == "all":
        return "each painter on its own questions, every two on those they share"
    return f"{_count(found.questions)} that all painters have"


def _places(found: Comparison, title: str) -> Table:
    digits = found.score.digits
    bounded = any(place.bounds for place in found.places)
    columns = ["painter", "place", found.score.name, *(["could be"] if bounded else []), "coverage", "worst case"]
    rows: list[Cells] = []
    for place in found.places:
        score = interval_cell(place.score.value, place.score.low, place.score.high, digits)
        ends = BETWEEN.join(number(place.bounds[end], digits) for end in ("low", "high")) if place.bounds else MISSING
        cells: Cells = [place.name, place.rank.words if place.rank else MISSING, score, *([ends] if bounded else [])]
        rows.append([*cells, f"{place.coverage:.0%}", number(place.pessimistic, digits)])
    compared = found.compared
    first = compared.first
    notes = [note for note in compared.notes if (compared.cut or compared.left_out) and note not in first]
    notes += [found.reason] if found.reason else []
    missing = {group.name for group in compared.left_out}
    told = [place for place in found.places if place.reason and place.name not in missing]
    notes += dict.fromkeys(f"{place.name}: {place.reason}" for place in told)
    return simple_table(title, columns, rows, notes, above=[*found.evaluator.warnings, *first], names=2)


def _pairs(found: Comparison) -> list[Table]:
    """Pairs of two painters, which are tests, and those with a control, whose p is not corrected."""
    tests = f"{found.tests} test{'s' if found.tests > 1 else ''}"
    painters = [pair for pair in found.pairs if pair.corrected]
    controls = [pair for pair in found.pairs if not pair.corrected]
    tables = []
    if painters:
        tables.append(_pair_table(found, painters, f"every two painters, the better one first · {tests}"))
    if controls:
        tables.append(_pair_table(found, controls, "pairs with a control, the better one first · p uncorrected"))
    return tables


def _pair_table(found: Comparison, pairs: Sequence[Pair], title: str) -> Table:
    digits, corrected = found.score.digits, pairs[0].corrected
    rows: list[Cells] = []
    for pair in pairs:
        gap = interval_cell(pair.difference.value, pair.difference.low, pair.difference.high, digits)
        needed = MISSING if pair.needed.value is None else f"{pair.needed.value:.0f}"
        p = [_p(pair.p.value), _p(pair.p_holm)] if corrected else [_p(pair.p.value)]
        rows.append([pair.first, pair.second, gap, *p, number(pair.effect.value, 2), needed, pair.verdict])
    heads = ["p", "p (Holm)"] if corrected else ["p (uncorrected)"]
    columns = ["first", "second", "difference", *heads, "d_z", "needed", "verdict"]
    return simple_table(title, columns, rows, _sentences(found, pairs), names=2, prose=["verdict"])


def _p(value: float | None) -> str:
    return MISSING if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _sentences(found: Comparison, pairs: Sequence[Pair]) -> list[str]:
    open_pairs = [pair for pair in pairs if pair.winner is None and pair.needed.value is not None]
    told = [_sentence(pair, found) for pair in open_pairs[:SENTENCES]]
    if len(open_pairs) > SENTENCES:
        told.append(f"… and {len(open_pairs) - SENTENCES} more pairs: see the column needed")
    return told


def _sentence(pair: Pair, found: Comparison) -> str:
    return (
        f"to tell {pair.first} from {pair.second} at a gap of {number(pair.gap, found.score.digits)} you would need "
        f"about {pair.needed.value:.0f} questions (power 0.8, alpha {ALPHA:g}); there are {found.questions}"
    )


def comparison_records(found: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """One row per painter and one per pair; `row` says which."""
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
            yield line
        for pair in one.pairs:
            line = {**head, "row": "pair", "painter": pair.first, "other": pair.second, **pair.difference.to_json()}
            line |= {"p": pair.p.value, "p_holm": pair.p_holm, "corrected": "yes" if pair.corrected else "no"}
            line |= {"effect": pair.effect.value, "differing": pair.differing, "needed": pair.needed.value}
            yield line | {"winner": pair.winner, "verdict": pair.verdict}


def across_tables(found: Across) -> list[Table]:
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
    notes += [f"{column.exam}: {said}" for column in found.columns for said in column.evaluator.warnings]
    if not rows:
        notes.insert(0, "no painter stands in two of these exams")
    orders: list[Cells] = []
    for pair in found.pairs:
        spearman, kendall = pair["spearman"], number(pair["kendall"]["value"], 2)
        alike = interval_cell(spearman["value"], spearman["low"], spearman["high"], 2)
        orders.append([pair["first"], pair["second"], str(pair["painters"]), alike, kendall])
    reasons = {
        f"{pair['first']} and {pair['second']}: {pair['spearman']['reason']}"
        for pair in found.pairs
        if pair["spearman"]["reason"]
    }
    told = [*sorted(reasons), "1: the same order, 0: no relation, -1: reversed; [low, high]: resampling the questions"]
    heads = ["first", "second", "painters", "Spearman", "Kendall"]
    return [
        simple_table("painters in several exams", columns, rows, notes),
        simple_table("how alike exams order painters", heads, orders, told, names=2),
    ]


def across_records(found: Across) -> Iterator[dict[str, Any]]:
    """One row per painter and exam, then one per pair of exams; `row` says which."""
    for column in found.columns:
        for painter in found.painters:
            head = {"row": "painter", "exam": column.exam, "judge": column.judge, "score": column.score.name}
            head["evaluator"] = column.evaluator.name
            yield {**head, "painter": painter, "n": column.questions, "value": column.values.get(painter)}
    for pair in found.pairs:
        head = {"exam": pair["first"], "other": pair["second"], "n": pair["painters"]}
        for how in ("spearman", "kendall"):
            yield {"row": how, **head, **{key: pair[how].get(key) for key in ("value", "low", "high")}}
