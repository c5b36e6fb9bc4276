"""Judges held against each other, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from ...scoring.compare import Agreement, PairNumber
from ...scoring.compare.opinions import ANYONE, PEOPLE, put
from ...scoring.stats import MEASURES, Interval, Measure
from .model import MISSING, Cell, Cells, Table, interval_cell, number, simple_table

COLUMNS = ("exam", "reading", *(field.name for field in fields(PairNumber)))
ICC = ("ICC(2,1)", "ICC(3,1)")
MARKS = ("accuracy", "kappa", "ac1", "ac2", "alpha_nominal", "alpha_interval", "first_only", "second_only")
SCORES = ("mae", "shift", *MEASURES, *ICC)
HEADS = {
    "mae": "MAE", "pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall", "shift": "shift", "std": "std",
    "accuracy": "accuracy %", "kappa": "kappa", "ac1": "AC1", "ac2": "AC2", "alpha_nominal": "alpha nominal",
    "alpha_interval": "interval", "first_only": "1st only", "second_only": "2nd only",
}  # fmt: skip
COUNTS = ("first_only", "second_only")
SHORT = ("shift", "ac1", "ac2", "alpha_nominal", "alpha_interval", *ICC)
"""Measures that are shown without their interval."""


def agreement_tables(found: Agreement) -> list[Table]:
    """Return the judges one by one, then every two evaluators: marks, drawings and painters; then all together."""
    tables = [_judges(found), *_pair_tables(found)]
    if found.together:
        tables.append(_together(found))
    return tables


def _judges(found: Agreement) -> Table:
    rows: list[Cells] = []
    notes = [found.reason] if found.reason else []
    for rater in found.raters:
        flips, cost, seconds = rater.flips, rater.cost, rater.seconds
        rate = _percent(flips.rate) if flips.n else Cell()
        counts = [str(len(rater.parts)), str(rater.markings)]
        rows.append([rater.name, *counts, rate, number(cost.value, 5), number(seconds.value, 2)])
        if cost.reason and cost.n:
            notes.append(f"{rater.name}: {cost.reason}")
        if rater.ties:
            notes.append(f"{rater.name}: {rater.ties} criteria left out because its repeats are tied")
    if any(rater.flips.n for rater in found.raters):
        notes.append("flips: percent of marks on which two repeats of the same marking differ")
    else:
        notes.append("no flip rate: nothing was marked more than once; `--repeats` does that")
    notes += [each.sentence for each in found.replacements if each.sentence]
    title = f"{found.exam} · judges · reading {found.reading}"
    return simple_table(title, ["judge", "drawings", "markings", "flips %", "$ per image", "s per image"], rows, notes)


def _percent(share: Interval) -> Cell:
    value, low, high = (None if each is None else 100 * each for each in (share.value, share.low, share.high))
    return interval_cell(value, low, high, 1)


def _together(found: Agreement) -> Table:
    lines = _lines(one for one in found.together if one.measure in MARKS)
    rows: list[Cells] = [
        [score, str(line["alpha_nominal"].n), *(_cell(line.get(f"alpha_{level}")) for level in ("nominal", "interval"))]
        for (*_, score), line in lines.items()
        if "alpha_nominal" in line
    ]
    forms = [one for one in found.together if one.measure.startswith("ICC")]
    said = ", ".join(f"{one.measure} {number(one.value, 2)}" for one in forms) or "no ICC"
    notes = [f"{found.score.name} over {forms[0].n if forms else 0} drawings: {said}"]
    columns = ["criteria", "marked by two or more", "alpha nominal", "interval"]
    return simple_table(f"all {len(found.raters)} judges together", columns, rows, notes)


def agreement_records(found: Agreement) -> Iterator[dict[str, Any]]:
    """Yield one row per number."""
    for one in (*_own_numbers(found), *found.numbers, *found.together):
        yield {"exam": found.exam, "reading": found.reading, **one.to_json()}


def _own_numbers(found: Agreement) -> Iterator[PairNumber]:
    """Yield the numbers of each judge alone, and whether it may replace a person."""
    for rater in found.raters:
        head = PairNumber(rater.name, "", unit="")
        yield put(head, "flip_rate", rater.flips.rate)
        yield put(head, "ever_flipped", rater.flips.ever)
        yield put(head, "cost_per_image", rater.cost)
        yield put(head, "seconds_per_image", rater.seconds)
        yield put(head, "ties", Measure(float(rater.ties), rater.markings))
    for each in found.replacements:
        win_rate = Measure(each.test.win_rate, each.test.n, each.test.reason)
        yield put(PairNumber(each.judge, PEOPLE + each.study, unit=""), "win_rate", win_rate)


CEILING = "one person (ceiling)"
Line = tuple[str, str, str, str, str]
"""First, second, tag, category, score."""


def _pair_tables(found: Agreement) -> list[Table]:
    """Return the tables of two evaluators that have a row: mark by mark, drawing by drawing, painter by painter."""
    pairs = [one for one in found.numbers if not one.first.startswith("person/") or _apart(one)]
    drawings = [one for one in pairs if one.unit == "drawing"]
    marked = {(one.first, one.second, one.score) for one in drawings if one.measure == "accuracy"}
    marks = [one for one in drawings if one.measure in MARKS and (one.first, one.second, one.score) in marked]
    tables = [
        _table("mark by mark", marks, MARKS, "criteria"),
        _table("drawing by drawing", [one for one in drawings if one.measure not in MARKS], SCORES),
        _table("painter by painter", [one for one in pairs if one.unit != "drawing"], SCORES),
        _deviations([one for one in found.numbers if one.first.startswith("person/") and not _apart(one)]),
    ]
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


def _cell(one: PairNumber | None, short: Sequence[str] = SHORT) -> str | Cell:
    if one is None or one.value is None:
        return MISSING
    if one.measure in COUNTS:
        return str(int(one.value))
    scale = 100 if one.measure == "accuracy" else 1
    ends = (None, None) if one.measure in short else (one.low, one.high)
    value, low, high = (None if end is None else scale * end for end in (one.value, *ends))
    return interval_cell(value, low, high, 1 if scale == 100 else 2)


def p_words(p: float | None) -> str:
    """Return a p as tables show it.

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
        found.append("n: marks that both decided; 1st only, 2nd only: marks that only one of them decided")
        found.append("a mark is the majority's, of repeats and of people; kappa is Cohen's, AC1 and AC2 are Gwet's")
        found.append("alpha is Krippendorff's, interval counts how far marks are apart; 1 full agreement, 0 chance")
    found += list(dict.fromkeys(f"{one.first} and {one.second}: {one.reason}" for one in numbers if one.reason))
    if "shift" in kept:
        found.append("shift: how much higher the second one's numbers are")
    if ICC[0] in kept:
        found.append("ICC: (2,1) the same score, (3,1) the same up to a constant")
    if any(" / " in one.score for one in numbers):
        found.append(
            "A / B: the first one's score A, the second one's B; where B is a rank, 1 is best and agreement negative"
        )
    if any(one.first == ANYONE for one in numbers):
        found.append(f"{CEILING}: each person against the others of the study, averaged over people")
    return found


def _deviations(numbers: Sequence[PairNumber]) -> Table | None:
    rows: list[Cells] = [
        [first, score, str(line["mae"].n), *(_cell(line.get(measure), ()) for measure in ("shift", "mae", "spearman"))]
        for (first, _, _, _, score), line in _lines(numbers).items()
        if "mae" in line
    ]
    if not rows:
        return None
    heads = ["person", "score", "drawings", "shift", "MAE", "Spearman"]
    notes = ["each person against the mean of the others; shift: how much higher theirs are"]
    return simple_table("how people deviate from each other", heads, rows, notes, names=2)
