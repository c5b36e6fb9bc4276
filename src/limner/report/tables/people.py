"""Tables and CSV of people's contributions: corrected scores, choices between two drawings, fitted weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from ...core.data_rows import write_csv
from ...core.evaluator import group_by_evaluator
from ...core.protocol import Protocol, Score
from ...exams import kind
from ...scoring import Standing, columns
from ...scoring.corrected import Corrected
from ...scoring.powered import HumanInterval
from ...scoring.preferences import Preferences
from ...scoring.stats import ALPHA, Interval
from ...scoring.weights import ALONE, EQUAL, FITTED, OWN, ROUNDED, WeightsFit
from .model import MISSING, Cell, Cells, Table, interval_cell, number, percent_cell, score_cell, simple_table

CORRECTED_COLUMNS = (
    "exam", "reading", "painter", "strategy", "judge", "evaluator", "study", "method", "against", "score", "value",
    "low", "high", "n", "human", "reason", "p", "p_holm",
)  # fmt: skip
RAW, PPI = "raw", "PPI++"
UNSETTLED, TOO_FEW = "not settled", "with too few people's marks"


def corrected_tables(rows: Sequence[Standing], exam_kind: str) -> list[Table]:
    """Return for each evaluator a table of raw and corrected scores, and one of the painters known to differ."""
    protocol = kind(exam_kind).protocol
    return [table for members in group_by_evaluator(rows) for table in _under_one(members, protocol)]


def corrections(rows: Sequence[Standing]) -> list[tuple[Standing, Corrected]]:
    """Return the rows that have corrected scores, each with those scores."""
    return [(row, row.corrected) for row in rows if isinstance(row.corrected, Corrected)]


def _under_one(members: Sequence[Standing], protocol: Protocol[Any]) -> Iterator[Table]:
    corrected = corrections(members)
    shown = [
        score for score in columns(protocol) if score.main and any(score.name in each.ppi for _, each in corrected)
    ]
    if corrected and shown:
        yield _scores(corrected, shown)
        if len(corrected) > 1:
            yield _differences(corrected, shown[0])


def _scores(corrected: Sequence[tuple[Standing, Corrected]], scores: Sequence[Score]) -> Table:
    body: list[Cells] = []
    notes: list[str] = []
    for row, each in corrected:
        for score in scores:
            raw = score_cell(row.scores.get(score.name), row.bounds.get(score.name), score.digits)
            number = each.ppi.get(score.name, HumanInterval())
            cell = interval_cell(number.value, number.low, number.high, score.digits)
            body.append([row.name, score.name, raw, cell, f"{number.human} of {number.n}"])
            if number.reason:
                notes.append(f"{score.name}: {number.reason}")
    first, correction = corrected[0]
    notes = list(dict.fromkeys(notes))
    notes.append(
        "PPI++ is unbiased for any judge; human: drawings that people marked, of those the judge marked; "
        "[low, high]: 95% interval over questions"
    )
    notes.append("several people: the score of their majority marks; marks on which they are tied widen the interval")
    title = f"corrected by the study {correction.study} · judge {first.evaluator.name}"
    heads = ["painter", "score", RAW, PPI, "human"]
    rules = range(len(scores), len(body), len(scores)) if len(scores) > 1 else ()
    return simple_table(title, heads, body, notes, names=2, rules=rules)


def _differences(corrected: Sequence[tuple[Standing, Corrected]], score: Score) -> Table:
    body: list[Cells] = []
    silent: Counter[str] = Counter()
    for (first, correction), (second, _) in combinations(corrected, 2):
        gap = correction.differences.get(second.name, {}).get(score.name)
        if (verdict := _verdict(gap)) in (UNSETTLED, TOO_FEW):
            silent[verdict] += 1
            continue
        raw = [row.numbers.value(score.name) for row in (first, second)]
        plain = interval_cell(None if None in raw else (raw[0] or 0) - (raw[1] or 0), None, None, score.digits)
        cell = interval_cell(gap.value, gap.low, gap.high, score.digits) if gap else Cell()
        body.append([first.name, second.name, plain, cell, verdict])
    notes = ["paired by question; is better: p of at most 0.05 after Holm's correction for all pairs of painters"]
    counts = ", ".join(f"{count} {'pair' if count == 1 else 'pairs'} {words}" for words, count in silent.items())
    if counts:
        notes.append(f"{counts}: --format json has them")
    return simple_table(
        f"every two painters by {score.name}, corrected (PPI++)",
        ["first", "second", "raw difference", PPI, "verdict"], body, notes, names=2, prose=["verdict"],
    )  # fmt: skip


def _verdict(gap: HumanInterval | None) -> str:
    if gap is None or gap.low is None or gap.high is None:
        return TOO_FEW
    p = gap.deciding_p
    if gap.value is not None and p is not None and p <= ALPHA:
        return f"the {'first' if gap.value > 0 else 'second'} is better"
    return UNSETTLED


def corrected_records(rows: Sequence[Standing]) -> Iterator[dict[str, Any]]:
    """Yield one record per number."""
    for row, each in corrections(rows):
        head = {key: getattr(row, key) for key in ("exam", "reading", "painter", "strategy", "judge")}
        head |= {"evaluator": row.evaluator.name, "study": each.study}
        for score, interval in row.scores.items():
            yield {**head, "method": "raw", "score": score, **interval.to_json()}
        for score, corrected in each.ppi.items():
            yield {**head, "method": "ppi", "score": score, **corrected.to_json()}
        for other, differences in each.differences.items():
            for score, corrected in differences.items():
                yield {**head, "method": "ppi", "against": other, "score": score, **corrected.to_json()}


PREFERENCE_COLUMNS = (
    "exam", "study", "evaluator", "scale", "first", "second", "measure", "n", "value", "low", "high", "p",
)  # fmt: skip
EVEN = 50.0


def preference_tables(preferences: Sequence[Preferences]) -> list[Table]:
    """Return for every evaluator a table of painters with win rate and strength, then one of pairs of painters."""
    return [table for each in preferences for table in (_painters(each), _pairs(each))]


def _painters(preferences: Preferences) -> Table:
    rows: list[Cells] = [
        [
            each.painter, str(each.wins), str(each.ties), str(each.losses), percent_cell(each.rate),
            interval_cell(each.strength.value, each.strength.low, each.strength.high, 2),
        ]
        for each in preferences.painters
    ]  # fmt: skip
    who = f"{preferences.evaluator} ({preferences.raters})" if preferences.raters > 1 else preferences.evaluator
    study = f" · study {preferences.study}" if preferences.study else ""
    skipped = f", {preferences.skipped} more skipped" if preferences.skipped else ""
    notes = [f"{preferences.n} choices on {preferences.questions} questions{skipped}"]
    if preferences.reason:
        notes.append(preferences.reason)
    notes += _order(preferences)
    if preferences.weighted:
        notes.append("each choice is weighted by one over the probability that it was asked")
    notes.append(
        "win %: share of its pairs, a tie for half; strength: log-odds against the mean painter, by Bradley and Terry "
        "with Davidson's ties; [low, high]: 95% interval over questions"
    )
    title = f"{preferences.exam} · {preferences.scale} · {who}{study}"
    return simple_table(title, ["painter", "wins", "ties", "losses", "win %", "strength"], rows, notes)


def _order(preferences: Preferences) -> list[str]:
    if preferences.shown_first.value is None:
        return ["which drawing was shown first is not known: no order effect"]
    shown_first = f"the drawing shown first won {_words(preferences.shown_first, 100, 1)}% of the pairs"
    if preferences.order.value is not None:
        shown_first += f"; order effect {_words(preferences.order, 1, 2)} log-odds"
        shown_first += f", p = {preferences.order_p:.3g}" if preferences.order_p is not None else ""
    notes = [shown_first]
    if preferences.ties.value is not None:
        notes.append(
            f"ties: Davidson's nu {_words(preferences.ties, 1, 2)} (0 for none, 1 where equals tie every third time)"
        )
    return notes


def _words(interval: Interval, scale: float, digits: int) -> str:
    ends = [
        None if end is None else f"{end * scale:.{digits}f}" for end in (interval.value, interval.low, interval.high)
    ]
    return f"{ends[0]}" + (f" [{ends[1]}, {ends[2]}]" if ends[1] is not None else "")


def _pairs(preferences: Preferences) -> Table:
    rows: list[Cells] = [
        [each.first, each.second, str(each.wins), str(each.ties), str(each.losses), percent_cell(each.rate)]
        for each in preferences.pairs
    ]
    columns = ["first", "second", "1st wins", "ties", "2nd wins", "1st wins %"]
    return simple_table("two by two", columns, rows, [], names=2)


def preferences_csv(preferences: Sequence[Preferences]) -> str:
    """Return CSV with one line per number."""
    return write_csv(PREFERENCE_COLUMNS, (row for each in preferences for row in _numbers(each)))


def _numbers(preferences: Preferences) -> Iterator[dict[str, Any]]:
    head = {name: getattr(preferences, name) for name in ("exam", "study", "evaluator", "scale")}

    def line(measure: str, interval: Interval, n: int = preferences.n, **more: Any) -> dict[str, Any]:
        return {**head, "measure": measure, **interval.to_json(), "n": n, **more}

    for each in preferences.painters:
        n = each.wins + each.ties + each.losses
        yield line("win_rate", each.rate, n, first=each.painter)
        yield line("strength", each.strength, n, first=each.painter)
    for pair in preferences.pairs:
        n = pair.wins + pair.ties + pair.losses
        yield line("win_rate", pair.rate, n, first=pair.first, second=pair.second)
    yield line("shown_first", preferences.shown_first)
    yield line("order_effect", preferences.order, p=preferences.order_p)
    yield line("davidson_nu", preferences.ties)


WEIGHT_COLUMNS = ("exam", "score", "train", "held_out", "measure", "name", "n", "value", "low", "high")
NAMES = (ROUNDED, FITTED, OWN, EQUAL, ALONE)


def weight_tables(weights_fit: WeightsFit) -> list[Table]:
    """Return a table of every fold's weights with the exam's own, then one of correlations on held-out raters."""
    return [_weights(weights_fit), _shown(weights_fit)]


def _weights(weights_fit: WeightsFit) -> Table:
    rows: list[Cells] = [["the exam's own", *(number(weight, 2) for weight in weights_fit.own), MISSING, MISSING]]
    fits = [(f"all but {', '.join(fold.held_out)}", fold.fitted) for fold in weights_fit.folds]
    for title, fit in [*fits, ("all", weights_fit.everyone)]:
        exact = [MISSING if fit.reason else number(weight, 2) for weight in fit.exact]
        rounded = fit.reason or " / ".join(f"{weight:g}" for weight in fit.rounded)
        rows.append([title, *exact, rounded, str(fit.n)])
    notes = [
        "weights of 0 or more that add to 1, with the highest Pearson correlation between their sum and the raters' "
        "mean overall rating; rounded: the best of all weights in tenths"
    ]
    title = f"{weights_fit.exam} · weights of {weights_fit.score} · {len(weights_fit.raters)} raters"
    return simple_table(title, ["fitted on", *weights_fit.dimensions, "rounded", "drawings"], rows, notes)


def _shown(weights_fit: WeightsFit) -> Table:
    rows: list[Cells] = []
    for fold in weights_fit.folds:
        cells = [_cell(fold.correlations[name]) for name in NAMES]
        rows.append([", ".join(fold.held_out), str(fold.n), *cells, _cell(fold.gain)])
    alone, gain = f"{weights_fit.dimensions[0]} alone", "rounded minus the exam's"
    notes = [
        "Pearson's r between the weighted sum of the held-out raters' own marks and their overall rating; "
        "[low, high]: 95% interval over questions"
    ]
    heads = ["held out", "drawings", "rounded", "fitted", "the exam's", "equal", alone, gain]
    return simple_table("on raters that were held out", heads, rows, notes)


def _cell(interval: Interval) -> Any:
    return interval_cell(interval.value, interval.low, interval.high, 3)


def weights_csv(weights_fit: WeightsFit) -> str:
    """Return CSV with one line per number."""
    return write_csv(WEIGHT_COLUMNS, _weight_numbers(weights_fit))


def _weight_numbers(weights_fit: WeightsFit) -> Iterator[dict[str, Any]]:
    head = {"exam": weights_fit.exam, "score": weights_fit.score}
    for fold in weights_fit.folds:
        who = {**head, "train": ",".join(fold.train), "held_out": ",".join(fold.held_out)}
        for measure, weights in (("weight", fold.fitted.exact), ("rounded_weight", fold.fitted.rounded)):
            if fold.fitted.reason is None:
                for name, value in zip(weights_fit.dimensions, weights, strict=True):
                    yield {**who, "measure": measure, "name": name, "value": value, "n": fold.fitted.n}
        for name, each in fold.correlations.items():
            yield {**who, "measure": "pearson", "name": name, **each.to_json(), "n": fold.n}
        yield {**who, "measure": "gain", **fold.gain.to_json(), "n": fold.n}
