"""What a study says about a judge, as sentences and tables, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..scoring.advice import Advice
from ..scoring.purchases import EFFECTS
from ..scoring.stats.alternative_annotator import WINS
from ..scoring.stats.components import Components
from .model import MISSING, Cells, Table, number, simple_table
from .render.csv import records

COLUMNS = ("evaluator", "study", "score", "about", "what", "value")


def replaces(found: Advice) -> str:
    """May this judge replace people? In one sentence."""
    test = found.alternative
    if test.omega is None or test.rho is None:
        return f"{found.evaluator}: no alternative-annotator test: {test.reason}"
    may = "may replace" if test.passes else "may not replace"
    side = "at least" if test.passes else "below"
    return (
        f"{found.evaluator} {may} a person here: omega {test.omega:.2f}, {side} {WINS:g}, is the share of "
        f"{len(test.people)} people it proves as good as, rho {test.rho:.2f} how probably it agrees with the others as "
        f"well as a person does (eps {test.eps:g}, n = {test.n} drawings)"
    )


def decides(found: Advice) -> str:
    """Where to ask a person, in one sentence."""
    least = found.threshold
    if least.value is None:
        return f"{found.evaluator} decides nothing alone: {least.reason}; people mark all {found.drawings} drawings"
    return (
        f"{found.evaluator} decides alone where its confidence ({found.confidence}) is {least.value:.2f} or more: "
        f"{found.decides} of {found.drawings} drawings, on which it agrees with people at least {least.target:.0%} of "
        f"the time, {least.certainty:.0%} certain (seen: {least.agreement:.0%} of {least.n:.0f} questions); people "
        f"mark the other {found.drawings - found.decides}"
    )


def advice_tables(found: Advice) -> list[Table]:
    """The sentences, then where scores vary, what to buy next, and what more human marks would gain."""
    tables = [_components(found), _purchases(found)]
    return [*tables, _widths(found)] if found.widths else tables


def _components(found: Advice) -> Table:
    rows: list[Cells] = []
    for who, parts in (("judge", found.judge), ("people", found.people)):
        for name in sorted([*parts.variances, *parts.unknown], key=EFFECTS.index):
            known = name in parts.variances
            share = f"{parts.share(name):.0%}" if known else MISSING
            rows.append([who, name, number(parts.variances.get(name), 1), share])
    notes = [f"{who}, {name}: {why}" for who, name, why in _unknown(found)]
    title = f"{found.evaluator} · where {found.score} varies · study {found.study}"
    above = [replaces(found), decides(found)]
    return simple_table(title, ["who", "effect", "variance", "share"], rows, notes, above=above, names=2)


def _unknown(found: Advice) -> Iterator[tuple[str, str, str]]:
    for who, parts in (("judge", found.judge), ("people", found.people)):
        yield from ((who, name, why) for name, why in parts.unknown.items())


def _purchases(found: Advice) -> Table:
    rows: list[Cells] = [
        [each.who, f"twice the {each.what}", number(each.error, 2), number(each.then, 2)] for each in found.purchases
    ]
    best = next((each for each in found.purchases if each.then is not None), None)
    notes = ["error: the standard error of a painter's score, as painters are compared; –: nothing stored tells"]
    if best is not None:
        notes.insert(0, f"buy next: twice the {best.what} ({best.who})")
    return simple_table("what to buy next", ["who", "what", "error now", "then"], rows, notes, names=2)


def _widths(found: Advice) -> Table:
    rows: list[Cells] = []
    for painter, widths in found.widths.items():
        now = next(iter(widths))
        for n, width in widths.items():
            said = "now" if n == now else f"{n - now} more"
            rows.append([painter, str(n), said, f"±{number(width, 1)}"])
    notes = [f"human: drawings of the painter that people marked; the last line is all of them; score {found.score}"]
    heads = ["painter", "human", "marks", "interval (PPI++)"]
    return simple_table("how many more human marks", heads, rows, notes)


def advice_csv(found: Sequence[Advice]) -> str:
    """One line per number."""
    return records(COLUMNS, (row for each in found for row in _records(each)))


def _records(found: Advice) -> Iterator[dict[str, Any]]:
    head = {"evaluator": found.evaluator, "study": found.study, "score": found.score}
    test, least = found.alternative, found.threshold
    numbers: list[tuple[str, str, Any]] = [
        ("alternative", name, getattr(test, name)) for name in ("omega", "rho", "eps", "n")
    ]
    numbers += [("threshold", name, getattr(least, name)) for name in ("value", "agreement", "at_least", "n", "of")]
    numbers += [("threshold", "decides", found.decides), ("threshold", "drawings", found.drawings)]
    numbers += [row for who, parts in (("judge", found.judge), ("people", found.people)) for row in _parts(who, parts)]
    numbers += [(f"purchase {each.who}", each.what, each.then) for each in found.purchases]
    numbers += [(f"width {who}", str(n), width) for who, widths in found.widths.items() for n, width in widths.items()]
    yield from ({**head, "about": about, "what": what, "value": value} for about, what, value in numbers)


def _parts(who: str, parts: Components) -> list[tuple[str, str, Any]]:
    return [(f"variance {who}", name, value) for name, value in parts.variances.items()]
