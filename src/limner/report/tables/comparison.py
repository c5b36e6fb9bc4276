"""Comparisons of painters and of exams, with their tables, CSV records and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.plot_data import plural
from ...scoring.compare import MET, Across, Comparison, Pair
from ...scoring.stats import ALPHA
from .agreement import p_words
from .model import (
    BETWEEN,
    MISSING,
    Cells,
    Framed,
    FrameRows,
    Table,
    column_table,
    interval_cell,
    nothing_marked,
    number,
    simple_table,
)

COLUMNS = (
    "exam", "reading", "judge", "score", "by", "category", "row", "painter", "other", "n", "value", "low", "high",
    "least", "most", "rank_low", "rank_high", "coverage", "pessimistic", "p", "p_holm", "corrected", "effect",
    "differing", "needed", "winner", "verdict", "evaluator",
)  # fmt: skip
ACROSS_COLUMNS = ("row", "exam", "other", "judge", "score", "painter", "n", "value", "low", "high", "evaluator")


class Comparisons(Framed, list[Comparison]):
    """Comparisons of painters under every evaluator, as shown by `limner compare`."""

    def tables(self) -> list[Table]:
        """Return for every comparison tables of the painters' ranks, of pairs, and of pairs with a control."""
        tables = [table for comparison in self for table in (_places(comparison), *_pairs(comparison))]
        if not tables:
            return [nothing_marked()]
        return [*tables[:-1], replace(tables[-1], details=tuple(_legend(self)))]

    def frame_rows(self) -> FrameRows:
        """Return a row for each painter and each pair; the column ``row`` says which."""
        return COLUMNS, [row for comparison in self for row in _records(comparison)]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the body of ``--format json``."""
        return [comparison.to_json() for comparison in self]

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        pairs, evaluators = sum(len(each.pairs) for each in self), {each.evaluator.id for each in self}
        return f"<Comparisons: {plural(pairs, 'pair')} of painters, {plural(len(evaluators), 'evaluator')}>"


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


def _places(comparison: Comparison) -> Table:
    """Return the table of the painters' ranks; columns that nothing fills are left out."""
    compared, score, places = comparison.compared, comparison.score, comparison.places
    title = f"{comparison.exam} · judge {comparison.evaluator.told} · reading {comparison.reading} · {score.name}"
    if comparison.by is not None:
        title += f" · {comparison.by}: {comparison.category}"
    if compared.on == "all":
        title += " · each painter on its own questions, every two on those they share"
    else:
        title += f" · {plural(comparison.questions, 'question')} that all painters have"
    columns: list[tuple[str, Cells]] = [("painter", [place.name for place in places])]
    if placed := any(place.rank for place in places):
        columns.append(("place", [place.rank.words if place.rank else MISSING for place in places]))
    scores = [place.score for place in places]
    columns.append((score.name, [interval_cell(each.value, each.low, each.high, score.digits) for each in scores]))
    if any(place.bounds for place in places):
        ends = [
            [number(place.bounds[end], score.digits) for end in ("low", "high")] if place.bounds else [MISSING]
            for place in places
        ]
        columns.append(("could be", [BETWEEN.join(words) for words in ends]))
    columns.append(("coverage", [f"{place.coverage:.0%}" for place in places]))
    if any(place.pessimistic is not None for place in places):
        columns.append(("worst case", [number(place.pessimistic, score.digits) for place in places]))
    first = compared.first
    notes = [note for note in compared.notes if (compared.cut or compared.left_out) and note not in first]
    notes += [comparison.reason] if comparison.reason else []
    missing = {group.name for group in compared.left_out}
    unscored = [place for place in places if place.reason and place.name not in missing]
    notes += dict.fromkeys(f"{place.name}: {place.reason}" for place in unscored)
    above = [title, *comparison.evaluator.warnings, *first]
    return column_table(comparison.answer, columns, notes, above=above, names=1 + placed)


def _pairs(comparison: Comparison) -> Iterator[Table]:
    """Yield a table of pairs of painters, which are tests, and one of pairs with a control, with uncorrected p."""
    tests = f"{comparison.tests} test{'s' if comparison.tests > 1 else ''}"
    titles = {
        True: f"every two painters, the better one first · p corrected over {tests}",
        False: "pairs with a control, the better one first · p uncorrected",
    }
    for corrected, title in titles.items():
        if rows := [_pair_cells(comparison, pair) for pair in comparison.pairs if pair.corrected is corrected]:
            columns = ["first", "second", "difference", "p", "needed", "verdict"]
            yield simple_table(title, columns, rows, names=2, prose=["verdict"])


def _pair_cells(comparison: Comparison, pair: Pair) -> Cells:
    difference = pair.difference
    gap = interval_cell(difference.value, difference.low, difference.high, comparison.score.digits)
    return [pair.first, pair.second, gap, p_words(pair.deciding_p), number(pair.needed.value, 0), _verdict(pair)]


def _verdict(pair: Pair) -> str:
    if pair.winner is not None:
        return "first is better"
    return pair.verdict if pair.deciding_p is None else "tie" if pair.differing else "equal"


def _records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield one row per painter and one per pair; the column ``row`` says which."""
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


@dataclass(frozen=True, repr=False)
class ExamComparison(Framed, Across):
    """A comparison of painters over several exams, as shown by `limner compare --exams`."""

    def tables(self) -> list[Table]:
        """Return a table of painters by exam, and one of how similarly each pair of exams ranks them."""
        columns: list[tuple[str, Cells]] = [("painter", list(self.painters))]
        notes = []
        for column in self.columns:
            name, digits = column.evaluator.name, column.score.digits
            columns.append((column.exam, [number(column.values.get(each), digits) for each in self.painters]))
            notes.append(f"{column.exam}: {column.score.name}, judge {name}, {plural(column.questions, 'question')}")
        notes += [f"{column.exam}: {warning}" for column in self.columns for warning in column.evaluator.warnings]
        if not self.painters:
            notes.insert(0, "no painter has drawn for two of these exams")
        orders: list[Cells] = []
        reasons = set()
        for pair in self.pairs:
            first, second, spearman = pair["first"], pair["second"], pair["spearman"]
            alike = interval_cell(spearman["value"], spearman["low"], spearman["high"], 2)
            orders.append([first, second, str(pair["painters"]), alike, number(pair["kendall"]["value"], 2)])
            reasons |= {f"{first} and {second}: {spearman['reason']}"} if spearman["reason"] else set()
        meaning = "1: the same order, 0: no relation, -1: reversed; [low, high]: resampling the questions"
        heads = ["first", "second", "painters", "Spearman", "Kendall"]
        return [
            column_table("painters in several exams", columns, notes),
            simple_table("how alike exams order painters", heads, orders, [*sorted(reasons), meaning], names=2),
        ]

    def frame_rows(self) -> FrameRows:
        """Return a row for each painter and exam, then one for each pair of exams; the column ``row`` says which."""
        rows: list[dict[str, Any]] = []
        for column in self.columns:
            head: dict[str, Any] = {"row": "painter", "exam": column.exam, "judge": column.judge}
            head |= {"score": column.score.name, "evaluator": column.evaluator.name, "n": column.questions}
            rows += [{**head, "painter": painter, "value": column.values.get(painter)} for painter in self.painters]
        for pair in self.pairs:
            head = {"exam": pair["first"], "other": pair["second"], "n": pair["painters"]}
            for how in ("spearman", "kendall"):
                rows.append({"row": how, **head, **{key: pair[how].get(key) for key in ("value", "low", "high")}})
        return ACROSS_COLUMNS, rows

    def __repr__(self) -> str:
        """Return the name of the class and the counts."""
        return f"<ExamComparison: {plural(len(self.painters), 'painter')}, {plural(len(self.columns), 'exam')}>"
