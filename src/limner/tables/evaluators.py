"""Any two evaluators held against each other, as tables: judges, people, metrics and panels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..scoring.compare import Agreement, PairNumber
from ..scoring.compare.opinions import ANYONE, PEOPLE
from ..scoring.stats import MEASURES
from .model import MISSING, Cell, Cells, Table, interval_cell, simple_table

MARKS = ("accuracy", "kappa", "ac1", "ac2", "alpha_nominal", "alpha_interval")
HEADS = {
    "mae": "MAE", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "shift": "shift", "std": "std",
    "accuracy": "accuracy %", "kappa": "kappa", "ac1": "AC1", "ac2": "AC2", "alpha_nominal": "alpha nominal",
    "alpha_interval": "interval",
}  # fmt: skip
CEILING = "one person (ceiling)"
Line = tuple[str, str, str, str, str]
"""First, second, tag, category, score."""


def evaluator_tables(found: Agreement) -> list[Table]:
    """Per drawing, per painter, mark by mark with people, and people among themselves; only what there is."""
    each = [
        one for one in found.numbers if one.first in (ANYONE,) or not one.first.startswith("person/") or _apart(one)
    ]
    drawings = [one for one in each if one.unit == "drawing"]
    scored = [one for one in drawings if one.measure not in MARKS]
    tables = [
        _table("drawing by drawing", scored, ("mae", *MEASURES)),
        _table("painter by painter", [one for one in each if one.unit != "drawing"], ("mae", *MEASURES)),
    ]
    marked = {(one.first, one.second, one.score) for one in drawings if one.measure == "accuracy"}
    with_people = [
        one
        for one in drawings
        if one.measure in MARKS and one.second.startswith(PEOPLE) and (one.first, one.second, one.score) in marked
    ]
    tables.append(_table("marks compared with people's", with_people, MARKS, "criteria"))
    tables.append(_deviations([one for one in found.numbers if one.first.startswith("person/") and not _apart(one)]))
    return [table for table in tables if table is not None]


def _apart(one: PairNumber) -> bool:
    """Whether a person is compared with somebody else than the others of the same study."""
    return one.first == ANYONE or not one.second.startswith(PEOPLE) or one.p is not None


def _lines(numbers: Iterable[PairNumber]) -> dict[Line, dict[str, PairNumber]]:
    found: dict[Line, dict[str, PairNumber]] = {}
    for one in numbers:
        line = (one.first, one.second, one.tag or "", one.category or "", one.score)
        found.setdefault(line, {})[one.measure] = one
    return found


def _cell(one: PairNumber | None) -> str | Cell:
    if one is None or one.value is None:
        return MISSING
    scale = 100 if one.measure == "accuracy" else 1
    value, low, high = (None if end is None else scale * end for end in (one.value, one.low, one.high))
    return interval_cell(value, low, high, 1 if scale == 100 else 2)


def p_words(p: float | None) -> str:
    """A p as tables show it.

    >>> p_words(24 / 720), p_words(0.00001), p_words(None)
    ('0.033', '<0.001', '–')
    """
    if p is None:
        return MISSING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _table(title: str, numbers: Sequence[PairNumber], measures: Sequence[str], what: str = "score") -> Table | None:
    lines = _lines(numbers)
    kept = [measure for measure in measures if any(measure in line for line in lines.values())]
    if not kept:
        return None
    tagged = any(tag for _, _, tag, _, _ in lines)
    ranked = "spearman" in kept
    rows: list[Cells] = []
    for (first, second, tag, category, score), line in lines.items():
        if not any(measure in line for measure in kept):
            continue
        by = [f"{tag} {category}".strip()] if tagged else []
        n = max(one.n for measure, one in line.items() if measure in kept)
        p = [p_words(line["spearman"].p if "spearman" in line else None)] if ranked else []
        name = CEILING if first == ANYONE else first
        rows.append([name, second, *by, score, str(n), *(_cell(line.get(measure)) for measure in kept), *p])
    heads = ["first", "second", *(["by"] if tagged else []), what, "n"]
    heads += [HEADS.get(measure, measure) for measure in kept] + (["p (Spearman)"] if ranked else [])
    return simple_table(title, heads, rows, _notes(numbers, kept), names=4 if tagged else 3)


def _notes(numbers: Sequence[PairNumber], kept: Sequence[str]) -> list[str]:
    found = []
    units = {one.unit for one in numbers}
    if "spearman" in kept:
        over = "drawings" if units == {"drawing"} else "painters, or painters by values of the tag"
        found.append(f"n: {over}; [low, high]: 95% interval over questions; p: two-sided, exact where n is small")
    if "ac1" in kept:
        found.append("n: marks; people's mark is what most of them say; AC1, AC2 are Gwet's, alpha is Krippendorff's")
    if any(" / " in one.score for one in numbers):
        found.append(
            "A / B: the first one's score A, the second one's B; where B is a rank, 1 is best and agreement negative"
        )
    if any(one.first == ANYONE for one in numbers):
        found.append(f"{CEILING}: each person against the others of the study, averaged over people")
    return found


def _deviations(numbers: Sequence[PairNumber]) -> Table | None:
    rows: list[Cells] = [
        [first, score, str(line["mae"].n), *(_cell(line.get(measure)) for measure in ("shift", "mae", "spearman"))]
        for (first, _, _, _, score), line in _lines(numbers).items()
        if "mae" in line
    ]
    if not rows:
        return None
    heads = ["person", "score", "drawings", "shift", "MAE", "Spearman"]
    notes = ["each person against the mean of the others; shift: how much higher this person's numbers are"]
    return simple_table("how people deviate from each other", heads, rows, notes, names=2)
