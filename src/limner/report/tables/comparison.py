"""Tables and CSV records of comparisons of painters and of exams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...core.plot_data import plural
from ...scoring.compare import MET, Across, Comparison, Pair
from ...scoring.stats import ALPHA
from .agreement import p_words
from .model import BETWEEN, MISSING, Cells, Table, interval_cell, nothing_marked, number, simple_table

COLUMNS = (
    "exam", "reading", "judge", "score", "by", "category", "row", "painter", "other", "n", "value", "low", "high",
    "least", "most", "rank_low", "rank_high", "coverage", "pessimistic", "p", "p_holm", "corrected", "effect",
    "differing", "needed", "winner", "verdict", "evaluator",
)  # fmt: skip
ACROSS_COLUMNS = ("row", "exam", "other", "judge", "score", "painter", "n", "value", "low", "high", "evaluator")


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Return for every comparison tables of the painters' ranks, of pairs of painters, and of pairs with a control."""
    if not comparisons:
        return [nothing_marked()]
    tables = []
    for comparison in comparisons:
        title = f"{comparison.exam} · judge {comparison.evaluator.told} · reading {comparison.reading}"
        title += f" · {comparison.score.name}"
        if comparison.by is not None:
            title += f" · {comparison.by}: {comparison.category}"
        tables.append(_places(comparison, f"{title} · {_on(comparison)}"))
        tables += _pairs(comparison)
    tables[-1] = replace(tables[-1], details=tuple(_legend(comparisons)))
    return tables


def _legend(comparisons: Sequence[Comparison]) -> list[str]:
    """Return notes that explain the columns, once for all tables."""
    places = [place for comparison in comparisons for place in comparison.places]
    notes = []
    if any(comparison.score.name == MET.name for comparison in comparisons):
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
    kinds = {pair.corrected for comparison in comparisons for pair in comparison.pairs}
    if kinds:
        words = {
            True: "Holm: corrected over all tests",
            False: "uncorrected: pairs with a control do not count as tests",
        }
        tests = "; ".join(f"{about}, better below {ALPHA:g}" for kind, about in words.items() if kind in kinds)
        notes.append(
            f"p: two-sided sign-flip test; {tests}; tie: not significantly different; equal: the same on every "
            "question; needed: questions that would show the difference with power 0.8"
        )
    return notes


def _on(comparison: Comparison) -> str:
    if comparison.compared.on == "all":
        return "each painter on its own questions, every two on those they share"
    return f"{plural(comparison.questions, 'question')} that all painters have"


def _places(comparison: Comparison, title: str) -> Table:
    digits = comparison.score.digits
    bounded = any(place.bounds for place in comparison.places)
    placed = any(place.rank for place in comparison.places)
    pessimistic = any(place.pessimistic is not None for place in comparison.places)
    columns = ["painter", *(["place"] if placed else []), comparison.score.name]
    columns += [*(["could be"] if bounded else []), "coverage", *(["worst case"] if pessimistic else [])]
    rows: list[Cells] = []
    for place in comparison.places:
        score = interval_cell(place.score.value, place.score.low, place.score.high, digits)
        ends = BETWEEN.join(number(place.bounds[end], digits) for end in ("low", "high")) if place.bounds else MISSING
        cells: Cells = [place.name, *([place.rank.words if place.rank else MISSING] if placed else []), score]
        cells += [*([ends] if bounded else []), f"{place.coverage:.0%}"]
        rows.append([*cells, *([number(place.pessimistic, digits)] if pessimistic else [])])
    compared = comparison.compared
    first = compared.first
    notes = [note for note in compared.notes if (compared.cut or compared.left_out) and note not in first]
    notes += [comparison.reason] if comparison.reason else []
    missing = {group.name for group in compared.left_out}
    unscored = [place for place in comparison.places if place.reason and place.name not in missing]
    notes += dict.fromkeys(f"{place.name}: {place.reason}" for place in unscored)
    above = [title, *comparison.evaluator.warnings, *first]
    return simple_table(comparison.answer, columns, rows, notes, above=above, names=1 + placed)


def _pairs(comparison: Comparison) -> list[Table]:
    """Return a table of pairs of painters, which are tests, and one of pairs with a control, with uncorrected p."""
    tests = f"{comparison.tests} test{'s' if comparison.tests > 1 else ''}"
    painters = [pair for pair in comparison.pairs if pair.corrected]
    controls = [pair for pair in comparison.pairs if not pair.corrected]
    tables = []
    if painters:
        tables.append(
            _pair_table(comparison, painters, f"every two painters, the better one first · p corrected over {tests}")
        )
    if controls:
        tables.append(_pair_table(comparison, controls, "pairs with a control, the better one first · p uncorrected"))
    return tables


def _pair_table(comparison: Comparison, pairs: Sequence[Pair], title: str) -> Table:
    digits = comparison.score.digits
    rows: list[Cells] = []
    for pair in pairs:
        gap = interval_cell(pair.difference.value, pair.difference.low, pair.difference.high, digits)
        needed = MISSING if pair.needed.value is None else f"{pair.needed.value:.0f}"
        rows.append([pair.first, pair.second, gap, p_words(pair.deciding_p), needed, _verdict(pair)])
    columns = ["first", "second", "difference", "p", "needed", "verdict"]
    return simple_table(title, columns, rows, names=2, prose=["verdict"])


def _verdict(pair: Pair) -> str:
    if pair.winner is not None:
        return "first is better"
    return pair.verdict if pair.deciding_p is None else "tie" if pair.differing else "equal"


def comparison_records(comparisons: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    """Yield one row per painter and one per pair; the column ``row`` says which."""
    for comparison in comparisons:
        evaluator = comparison.evaluator
        head = {"exam": comparison.exam, "reading": comparison.reading, "judge": evaluator.judge}
        head |= {"by": comparison.by or "", "category": comparison.category or ""}
        head |= {"score": comparison.score.name, "evaluator": evaluator.name}
        for place in comparison.places:
            line = {**head, "row": "painter", "painter": place.name, **place.score.to_json()}
            line |= {"coverage": place.coverage, "pessimistic": place.pessimistic}
            if place.bounds:
                line |= {"least": place.bounds["low"], "most": place.bounds["high"]}
            if place.rank:
                line |= {"rank_low": place.rank.low, "rank_high": place.rank.high}
            yield line
        for pair in comparison.pairs:
            line = {**head, "row": "pair", "painter": pair.first, "other": pair.second, **pair.difference.to_json()}
            line |= {"p": pair.p.value, "p_holm": pair.p_holm, "corrected": "yes" if pair.corrected else "no"}
            line |= {"effect": pair.effect.value, "differing": pair.differing, "needed": pair.needed.value}
            yield line | {"winner": pair.winner, "verdict": pair.verdict}


def across_tables(across: Across) -> list[Table]:
    """Return a table of painters by exam, and one of how similarly each pair of exams ranks them."""
    columns = ["painter", *(column.exam for column in across.columns)]
    rows = [
        [painter, *(number(column.values.get(painter), column.score.digits) for column in across.columns)]
        for painter in across.painters
    ]
    notes = [
        f"{column.exam}: {column.score.name}, judge {column.evaluator.name}, {plural(column.questions, 'question')}"
        for column in across.columns
    ]
    notes += [f"{column.exam}: {warning}" for column in across.columns for warning in column.evaluator.warnings]
    if not rows:
        notes.insert(0, "no painter has drawn for two of these exams")
    orders: list[Cells] = []
    for pair in across.pairs:
        spearman, kendall = pair["spearman"], number(pair["kendall"]["value"], 2)
        alike = interval_cell(spearman["value"], spearman["low"], spearman["high"], 2)
        orders.append([pair["first"], pair["second"], str(pair["painters"]), alike, kendall])
    reasons = {
        f"{pair['first']} and {pair['second']}: {pair['spearman']['reason']}"
        for pair in across.pairs
        if pair["spearman"]["reason"]
    }
    order_notes = [
        *sorted(reasons),
        "1: the same order, 0: no relation, -1: reversed; [low, high]: resampling the questions",
    ]
    heads = ["first", "second", "painters", "Spearman", "Kendall"]
    return [
        simple_table("painters in several exams", columns, rows, notes),
        simple_table("how alike exams order painters", heads, orders, order_notes, names=2),
    ]


def across_records(across: Across) -> Iterator[dict[str, Any]]:
    """Yield one row per painter and exam, then one per pair of exams; the column ``row`` says which."""
    for column in across.columns:
        for painter in across.painters:
            head = {"row": "painter", "exam": column.exam, "judge": column.judge, "score": column.score.name}
            head["evaluator"] = column.evaluator.name
            yield {**head, "painter": painter, "n": column.questions, "value": column.values.get(painter)}
    for pair in across.pairs:
        head = {"exam": pair["first"], "other": pair["second"], "n": pair["painters"]}
        for how in ("spearman", "kendall"):
            yield {"row": how, **head, **{key: pair[how].get(key) for key in ("value", "low", "high")}}
