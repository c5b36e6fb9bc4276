"""Judges held against each other, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...scoring.compare import MET, Agreement, JudgePair, PairNumber
from ...scoring.compare.opinions import ANYONE, PEOPLE
from ...scoring.stats import MEASURES, Interval, Measure
from .model import MISSING, Cell, Cells, Table, interval_cell, number, simple_table

COLUMNS = (
    "exam", "reading", "first", "second", "sort", "measure", "n", "value", "low", "high", "reason",
    "unit", "tag", "category", "score", "p",
)  # fmt: skip
ICC = ("ICC(2,1)", "ICC(3,1)")


def agreement_tables(found: Agreement) -> list[Table]:
    """Return the judges one by one, then every two of them: marks, scores and orders; then all together."""
    tables = [_judges(found)]
    if found.pairs:
        tables += [_marks(found), _scores(found)]
    if len(found.raters) > 2:
        tables.append(_together(found))
    return tables + evaluator_tables(found)


def _judges(found: Agreement) -> Table:
    rows: list[Cells] = []
    notes = [found.reason] if found.reason else []
    for rater in found.raters:
        flips, cost, seconds = rater.flips, rater.cost, rater.seconds
        rate = _percent(flips.rate) if flips.n else Cell()
        counts = [str(len(rater.clusters)), str(len(rater.entries))]
        rows.append([rater.name, *counts, rate, number(cost.value, 5), number(seconds.value, 2)])
        if cost.reason:
            notes.append(f"{rater.name}: {cost.reason}")
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


def _marks(found: Agreement) -> Table:
    rows: list[Cells] = []
    for pair in found.pairs:
        for sort, marks in pair.marks.items():
            kappa = interval_cell(marks.kappa.value, marks.kappa.low, marks.kappa.high, 2)
            alphas = [number(alpha.value, 2) for alpha in pair.alpha[sort].values()]
            counts = [str(marks.n), str(marks.first_only), str(marks.second_only)]
            rows.append([pair.first, pair.second, sort, *counts, _percent(marks.same), kappa, *alphas])
    columns = ["first", "second", "criteria", "both", "1st only", "2nd only", "same %", "Cohen's kappa"]
    columns += ["alpha nominal", "interval"]
    notes = _reasons((f"{pair.first} and {pair.second}", pair.marks["all"].reason) for pair in found.pairs)
    notes.append("both, 1st only, 2nd only: marks that both judges, or only one of them, decided")
    notes.append(
        "kappa, alpha: 1 full agreement, 0 no more than chance; alpha is Krippendorff's, interval counts how far marks "
        "are apart; [low, high]: 95% interval over questions"
    )
    return simple_table("the same drawings, mark by mark", columns, rows, notes, names=3)


def _scores(found: Agreement) -> Table:
    rows: list[Cells] = []
    digits = found.score.digits
    for pair in found.pairs:
        order = pair.order
        told = interval_cell(order.spearman.value, order.low, order.high, 2)
        iccs = [number(pair.icc[form].value, 2) for form in ICC]
        shift = MISSING if order.shift is None else f"{order.shift:+.{digits}f}"
        compared: Cells = [str(len(order.scores)), told, number(order.kendall.value, 2), shift]
        rows.append([pair.first, pair.second, str(pair.icc[ICC[0]].n), *iccs, *compared])
    columns = ["first", "second", "drawings", *ICC, "painters", "Spearman", "Kendall", "shift"]
    notes = [f"score: {found.score.name}"]
    if found.score.name == MET.name:
        notes[0] += ", percent of criteria met, of those that both judges decided"
    notes += _reasons((f"{pair.first} and {pair.second}", reason) for pair in found.pairs for reason in _why(pair))
    notes.append(
        "ICC: over drawings, (2,1) the same score, (3,1) the same up to a constant; Spearman, Kendall: the order of "
        "painters on common questions; shift: how much higher the second judge's scores are"
    )
    return simple_table("scores of drawings, and the order of painters", columns, rows, notes, names=2)


def _why(pair: JudgePair) -> list[str | None]:
    icc, order = pair.icc[ICC[0]].reason, pair.order.spearman.reason
    return [f"no ICC: {icc}" if icc else None, f"no order of painters: {order}" if order else None]


def _together(found: Agreement) -> Table:
    rows = [
        [sort, str(alpha["nominal"].n), *(number(alpha[level].value, 2) for level in ("nominal", "interval"))]
        for sort, alpha in found.alpha.items()
    ]
    told = ", ".join(f"{form} {number(each.value, 2)}" for form, each in found.icc.items())
    n = found.icc[ICC[0]].n
    why = found.icc[ICC[0]].reason
    notes = [f"{found.score.name} over {n} drawings: " + (why if why else told)]
    columns = ["criteria", "marked by two or more", "alpha nominal", "interval"]
    return simple_table(f"all {len(found.raters)} judges together", columns, rows, notes)


def _reasons(told: Iterator[tuple[str, str | None]]) -> list[str]:
    return list(dict.fromkeys(f"{who}: {why}" for who, why in told if why))


def agreement_records(found: Agreement) -> Iterator[dict[str, Any]]:
    """One row per number."""
    head = {"exam": found.exam, "reading": found.reading}
    for first, second, sort, measure, each in _numbers(found):
        yield {**head, "first": first, "second": second, "sort": sort, "measure": measure, **each.to_json()}
    yield from ({**head, **number.to_json()} for number in found.numbers)


def _numbers(found: Agreement) -> Iterator[tuple[str, str, str, str, Interval | Measure]]:
    for rater in found.raters:
        flips = rater.flips
        yield rater.name, "", "", "flip_rate", flips.rate
        yield rater.name, "", "", "ever_flipped", flips.ever
        yield rater.name, "", "", "cost_per_image", rater.cost
        yield rater.name, "", "", "seconds_per_image", rater.seconds
    for pair in found.pairs:
        who = (pair.first, pair.second)
        for sort, marks in pair.marks.items():
            yield (*who, sort, "same", marks.same)
            yield (*who, sort, "kappa", marks.kappa)
            for level, alpha in pair.alpha[sort].items():
                yield (*who, sort, f"alpha_{level}", alpha)
        for form, each in pair.icc.items():
            yield (*who, "", form, each)
        order = pair.order
        yield (*who, "", "spearman", Interval(order.spearman.value, order.low, order.high, order.spearman.n))
        yield (*who, "", "kendall", order.kendall)
        yield (*who, "", "shift", Measure(order.shift, len(order.scores)))
    for replacement in found.replacements:
        test = replacement.test
        win_rate = Measure(test.win_rate, test.n, test.reason)
        yield replacement.judge, PEOPLE + replacement.study, "", "win_rate", win_rate
    for sort, alphas in found.alpha.items():
        for level, alpha in alphas.items():
            yield "", "", sort, f"alpha_{level}", alpha
    for form, each in found.icc.items():
        yield "", "", "", form, each


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
