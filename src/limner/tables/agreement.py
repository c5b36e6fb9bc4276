"""Judges held against each other, as tables and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..scoring.compare import MET, Agreement, JudgePair
from ..scoring.compare.opinions import PEOPLE
from ..scoring.stats import Interval, Measure
from .evaluators import evaluator_tables
from .model import MISSING, Cell, Cells, Table, interval_cell, number, simple_table

COLUMNS = (
    "exam", "reading", "first", "second", "sort", "measure", "n", "value", "low", "high", "reason",
    "unit", "tag", "category", "score", "p",
)  # fmt: skip
ICC = ("ICC(2,1)", "ICC(3,1)")


def agreement_tables(found: Agreement) -> list[Table]:
    """The judges one by one, then every two of them: marks, scores and orders; then all together."""
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
            alpha = pair.alphas[sort]
            kappa = interval_cell(marks.kappa.value, marks.kappa.low, marks.kappa.high, 2)
            alphas = [number(alpha[level].value, 2) for level in ("nominal", "interval")]
            decided = [str(marks.n), *map(str, pair.alone.get(sort, (0, 0)))]
            rows.append([pair.first, pair.second, sort, *decided, _percent(marks.same), kappa, *alphas])
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
        for sort, alpha in found.alphas.items()
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
            for level, alpha in pair.alphas[sort].items():
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
    for sort, alphas in found.alphas.items():
        for level, alpha in alphas.items():
            yield "", "", sort, f"alpha_{level}", alpha
    for form, each in found.icc.items():
        yield "", "", "", form, each
