"""Who is preferred: painters by the choices that evaluators made between two drawings of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from ..core.errors import UsageError
from ..core.evaluator import Evaluator, Which, labelled, row_name
from ..store import DEFAULT, Store
from ..store.ratings import PairChoice, inclusion_weights, load_comparisons
from ..store.records import Drawing, evaluator_kinds, load_drawings, load_setups
from ..store.store import open_store
from .groups import stored_exam
from .stats.preference import FIRST, TIE, Strengths, WeightedChoice, strengths, win_rates
from .stats.types import Interval, Plain

PERSON = "person"
PEOPLE = "people"
"""Stands for all persons together."""


@dataclass(frozen=True)
class PreferredPainter(Plain):
    """One painter under one evaluator.

    Attributes:
        rate: Share of its pairs that it wins, a tie for half.
        strength: Log-odds against the mean painter; see `limner.scoring.stats.preference`.
    """

    painter: str
    wins: int
    ties: int
    losses: int
    rate: Interval
    strength: Interval


@dataclass(frozen=True)
class PainterPair(Plain):
    """Two painters under one evaluator: how often the first wins, a tie for half."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    rate: Interval


@dataclass(frozen=True)
class Preferences(Plain):
    """What one evaluator, or all people together, preferred when asked one thing.

    Attributes:
        scale: What was asked, such as ``logic``.
        raters: How many evaluators stand behind it.
        shown_first: How often the drawing that was shown first won, a tie for half; where the order is known.
        model: The fitted model: order effect, ties, why there are no strengths.
        weighted: Whether items had different chances to be asked, and the choices are weighted by them.
    """

    exam: str
    evaluator: str
    scale: str
    study: str | None
    raters: int
    questions: int
    n: int
    skipped: int
    painters: tuple[PreferredPainter, ...]
    pairs: tuple[PainterPair, ...]
    shown_first: Interval
    order: Interval
    order_p: float | None
    ties: Interval
    weighted: bool = False
    reason: str | None = None

    @property
    def rates(self) -> dict[str, float]:
        """Painter -> its win rate."""
        return {each.painter: each.rate.value for each in self.painters if each.rate.value is not None}


@dataclass
class _Asked:
    """What was asked of one evaluator, or of one group of them."""

    choices: list[WeightedChoice] = field(default_factory=list)
    skipped: int = 0
    raters: set[str] = field(default_factory=set)


def preferences(
    exam: str,
    *,
    study: str | None = None,
    judges: Sequence[str] = (),
    painters: Sequence[str] = (),
    without: Sequence[str] = (),
    store: Store | str | Path = DEFAULT,
) -> list[Preferences]:
    """Win rates and strengths for every evaluator and everything it was asked; people also together.

    Args:
        exam: The exam's name in the store.
        study: Only the choices of this study.
        judges: Only these evaluators, such as ``person/anna``; ``people`` for all persons together.
        painters: Only choices between these.
        without: No choices with these.
        store: Where the choices are.

    Raises:
        UsageError: There is no such evaluator, or nobody has chosen.
    """
    with open_store(store) as opened:
        named = stored_exam(exam, opened)
        drawings = {drawing.id: drawing for drawing in load_drawings(opened, named.name)}
        found = list(load_comparisons(opened, named.name, study))
        if not found:
            where = f"the study {study} of {named.name}" if study else named.name
            raise UsageError(
                f"{where}: nobody has chosen between two drawings; `limner rate {named.name} --as arena --judge "
                "PROVIDER/MODEL` asks a model, a study asks people"
            )
        weights = {name: inclusion_weights(opened, name) for name in {row.study for row in found if row.study}}
        kinds, setups = evaluator_kinds(opened), load_setups(opened)
    everyone = labelled(
        Evaluator(id, setups[id], kind=kinds.get(id, "judge")) for id in sorted({row.setup for row in found})
    )
    chosen = _chosen(everyone, judges)
    wanted = _wanted(drawings.values(), painters, without)
    asked: dict[tuple[str, str, str | None], _Asked] = {}
    for row in found:
        for name in chosen.get(row.setup, ()):
            if wanted(drawings[row.first]) and wanted(drawings[row.second]):
                place = asked.setdefault((name, row.scale, row.study), _Asked())
                place.raters.add(row.setup)
                _take(place, row, drawings, weights.get(row.study or "", {}))
    return [_made(named.name, *key, asked[key]) for key in sorted(asked, key=lambda key: tuple(map(str, key)))]


def _chosen(everyone: Sequence[Evaluator], judges: Sequence[str]) -> dict[str, list[str]]:
    """Setup -> under which names its choices count: its own, and where several persons chose, all people's."""
    persons = [each for each in everyone if each.kind == PERSON]
    alone = [word for word in judges if word != PEOPLE]
    own = everyone if not judges else Which(tuple(alone)).choose(list(everyone)) if alone else []
    found = {each.id: [each.name] for each in own}
    if PEOPLE in judges or (not judges and len(persons) > 1):
        for each in persons:
            found.setdefault(each.id, []).append(PEOPLE)
    return found


def _wanted(drawings: Iterable[Drawing], painters: Sequence[str], without: Sequence[str]) -> Callable[[Drawing], bool]:
    def names(drawing: Drawing) -> set[str]:
        return {drawing.painter, drawing.label, row_name(drawing.label, drawing.strategy)}

    known = {name for drawing in drawings for name in names(drawing)}
    for option, words in (("--painter", painters), ("--without", without)):
        if unknown := sorted(set(words) - known):
            raise UsageError(f"{option} {unknown[0]}: there is: {', '.join(sorted(known))}")
    return lambda drawing: (
        not (names(drawing) & set(without)) and (not painters or bool(names(drawing) & set(painters)))
    )


def _take(
    place: _Asked, row: PairChoice, drawings: Mapping[str, Drawing], weights: Mapping[frozenset[str], float]
) -> None:
    if row.choice is None:
        place.skipped += 1
        return
    names = [row_name(drawings[id].label, drawings[id].strategy) for id in (row.first, row.second)]
    weight = weights.get(frozenset((row.first, row.second)), 1.0)
    place.choices.append(WeightedChoice(row.question_id, names[0], names[1], row.choice, row.shown_first, weight))


def _made(exam: str, evaluator: str, scale: str, study: str | None, asked: _Asked) -> Preferences:
    choices = sorted(asked.choices, key=lambda c: (c.cluster, c.first, c.second, c.choice, str(c.shown_first)))
    model, rates = strengths(choices), win_rates(choices)
    counts = {name: Counter(_end(choice, name) for choice in choices) for name in rates}
    rows = [
        PreferredPainter(name, *_three(counts[name]), rate, model.painters.get(name, Interval()))
        for name, rate in rates.items()
    ]
    rows.sort(key=lambda row: (-(row.rate.value or 0.0), row.painter))
    return Preferences(
        exam, evaluator, scale, study, len(asked.raters), len({choice.cluster for choice in choices}), len(choices),
        asked.skipped, tuple(rows), tuple(_pairs(choices, [row.painter for row in rows])), _shown_first(choices),
        model.order, model.order_p, model.ties, len({choice.weight for choice in choices}) > 1, _why(model),
    )  # fmt: skip


def _why(model: Strengths) -> str | None:
    return None if model.reason is None else f"no strengths: {model.reason}"


def _end(choice: WeightedChoice, name: str) -> str:
    """How a choice ended for a painter; nothing where it was not among the two."""
    if name not in (choice.first, choice.second):
        return ""
    if choice.choice == TIE:
        return "tie"
    return "win" if (choice.choice == FIRST) == (name == choice.first) else "loss"


def _three(counted: Counter[str]) -> tuple[int, int, int]:
    return counted["win"], counted["tie"], counted["loss"]


def _pairs(choices: Sequence[WeightedChoice], names: Sequence[str]) -> Iterable[PainterPair]:
    for one, other in combinations(names, 2):
        both = [choice for choice in choices if {choice.first, choice.second} == {one, other}]
        if both:
            counted = Counter(_end(choice, one) for choice in both)
            yield PainterPair(one, other, *_three(counted), win_rates(both)[one])


def _shown_first(choices: Sequence[WeightedChoice]) -> Interval:
    """How often what was shown first won."""
    turned = [
        WeightedChoice(c.cluster, "shown first", "shown second", TIE if c.choice == TIE else
                   FIRST if c.choice == c.shown_first else "second", weight=c.weight)
        for c in choices if c.shown_first is not None
    ]  # fmt: skip
    return win_rates(turned)["shown first"] if turned else Interval()
