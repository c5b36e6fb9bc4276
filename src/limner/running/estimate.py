"""What a run would cost: missing drawings and markings, in calls, tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..calls import digest
from ..core.asks import Ask, Picture, Text
from ..core.errors import Lacking
from ..core.evidence import short
from ..core.exam import Question
from ..core.prices import price_of
from ..core.settings import Settings
from ..evidence.probe import Probe
from ..judges import Judge, ModelJudge
from ..models import ChatModel
from ..models.base import BYTES_PER_TOKEN, PICTURE_TOKENS
from ..painters import Painter
from ..store import Store
from ..strategies import DIRECT_STRATEGY
from .plan import Way
from .runner import Plan, Runner
from .spending import mean_drawing, mean_marking, mean_use

__all__ = ["Estimate", "estimate", "marking_cost", "total"]


def estimate(plan: Plan, store: Store, settings: Settings) -> list[Estimate]:
    """One line per painter, named probe and judge, for what the store does not have yet."""
    runner = Runner(plan, store)
    found: list[Estimate] = []
    for way in plan.ways:
        alone = Runner(replace(plan, painters=[way.painter], chosen_ways=[way], judges=[]), store)
        prompts = [alone.request(slot).prompt for slot in alone.missing_drawings()]
        each = mean_drawing(store, way.painter.spec, way.strategy.name, alone.options_of(way.painter))
        if way.strategy is DIRECT_STRATEGY:
            found.append(_drawing(way.painter, len(prompts), each))
        else:
            found += by_strategy(way, prompts, each, store, settings)
    coming = sum(1 for _ in runner.missing_drawings())
    for probe in (probe for probe in plan.probes if probe.evidence in plan.anew):
        stored = sum(1 for one, _ in runner.missing_evidence() if one is probe)
        found.append(_simple(short(probe.name), "probe", probe, coming + stored))
    missing = list(runner.missing_markings())
    for judge in plan.judges:
        found.append(marking_cost(judge, [question for who, question in missing if who is judge], store, settings))
    return found


def _drawing(painter: Painter, count: int, each: float | None) -> Estimate:
    price, basis = price_of(painter)
    if basis == "free":
        return Estimate(painter.name, "painter", count, 0, 0, 0, 0.0, basis)
    if each is not None:
        price, basis = each, "stored calls"
    dollars = None if price is None else price * count
    return Estimate(painter.name, "painter", count, count, 0, 0, dollars, basis)


def _simple(name: str, role: str, one: Judge | Probe, count: int) -> Estimate:
    """What does one call for each step, if it is not free."""
    price, basis = price_of(one)
    calls = 0 if basis == "free" else count
    return Estimate(name, role, count, calls, 0, 0, None if price is None else price * count, basis)


def marking_cost(judge: Judge, questions: Sequence[Question[Any]], store: Store, settings: Settings) -> Estimate:
    """One line for marking a drawing of each of these questions, a question as often as it stands there."""
    if not isinstance(judge, ModelJudge):
        return _simple(judge.name, "judge", judge, len(questions))
    if not judge.paid:
        return Estimate(judge.name, "judge", len(questions), 0, 0, 0, 0.0, "free")
    steps, calls, sent, written = 0, 0, 0.0, 0.0
    known = mean_use(store, judge.name)
    begun: set[str] = set()
    for question in questions:
        try:
            before, asks = judge.asks_like(question)
        except Lacking:
            continue
        if question.id not in begun:
            # Asked once for a question, whoever drew it.
            asks = [*before, *asks]
            begun.add(question.id)
        steps, calls = steps + 1, calls + len(asks)
        sent += sum(known[0] if known else _tokens(ask) for ask in asks)
        written += sum(known[1] if known else judge.typical_reply(ask) for ask in asks)
    dollars = settings.price(judge.name, round(sent), round(written))
    each = mean_marking(store, digest("setup-1", judge.setup))
    if dollars is not None and each is not None:
        # Markings asked for in just this way, with what had to be asked again.
        dollars = each * steps
    basis = "stored calls" if known else "rule of thumb"
    return Estimate(judge.name, "judge", len(questions), calls, round(sent), round(written), dollars, basis)


def _tokens(ask: Ask) -> float:
    return sum(_part(part) for part in ask.shown)


def _part(part: Text | Picture) -> float:
    return len(part.text.encode()) / BYTES_PER_TOKEN if isinstance(part, Text) else PICTURE_TOKENS


def total(estimates: Iterable[Estimate]) -> tuple[float, list[str]]:
    """Dollars in all, and whose price is not known."""
    known = list(estimates)
    return sum(e.dollars or 0.0 for e in known), [e.who for e in known if e.dollars is None and e.calls]


def by_strategy(
    way: Way, prompts: Sequence[str], each: float | None, store: Store, settings: Settings
) -> list[Estimate]:
    """One line per painter, editor and model of the strategy; `each` is what such a drawing has cost on average."""
    totals: dict[str, list[float]] = {}
    for prompt in prompts:
        for guess in way.strategy.guesses(len(prompt.encode()) // BYTES_PER_TOKEN):
            sum_of = totals.setdefault(guess.who, [0.0, 0.0, 0.0])
            sum_of[0] += guess.calls
            sum_of[1] += guess.calls * (guess.tokens_in + guess.pictures * PICTURE_TOKENS)
            sum_of[2] += guess.calls * guess.tokens_out
    found = []
    for role, (calls, sent, written) in totals.items():
        painter = way.painter if role == "painter" else way.strategy.editor or way.painter if role == "editor" else None
        if painter is not None:
            found.append(_painted(painter, role, len(prompts), round(calls)))
        else:
            found.append(_asked(way, role, len(prompts), calls, sent, written, store, settings))
    if each is not None and found:
        return _by_stored(way, found, each * len(prompts))
    return found


def _painted(painter: Painter, role: str, steps: int, calls: int) -> Estimate:
    price, basis = price_of(painter)
    dollars = None if price is None else price * calls
    return Estimate(painter.name, role, steps, calls if basis != "free" else 0, 0, 0, dollars, basis)


def _asked(
    way: Way, role: str, steps: int, calls: float, sent: float, written: float, store: Store, settings: Settings
) -> Estimate:
    model = way.strategy.models[role]
    name, known = model.name, mean_use(store, model.name)
    if known is not None:
        sent, written = known[0] * calls, known[1] * calls
    dollars = settings.price(name, round(sent), round(written)) if isinstance(model, ChatModel) else 0.0
    basis = "stored calls" if known else "rule of thumb"
    return Estimate(name, role, steps, round(calls), round(sent), round(written), dollars, basis)


def _by_stored(way: Way, parts: list[Estimate], dollars: float) -> list[Estimate]:
    """One line for the whole, by what such drawings have cost."""
    calls = sum(one.calls for one in parts)
    sent, written = sum(one.tokens_in for one in parts), sum(one.tokens_out for one in parts)
    name = f"{way.painter.name} {way.strategy.name}"
    return [Estimate(name, "strategy", parts[0].steps, calls, sent, written, dollars, "stored drawings")]


@dataclass(frozen=True)
class Estimate:
    """What one painter or judge would still do.

    Attributes:
        basis: Where the numbers come from: ``stored calls`` like these, the ``price list``, an ``upper bound``, or a
            ``rule of thumb``; or ``free``.
        dollars: None when the price is not known.
    """

    who: str
    role: str
    steps: int
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    basis: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)
