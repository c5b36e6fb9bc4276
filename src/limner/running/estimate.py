"""The cost of a run in advance: missing drawings and markings, in calls, tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa

from ..core.asks import Ask, Text
from ..core.catalogue import Costly, price_of
from ..core.errors import Lacking
from ..core.evidence import short_backend_name
from ..core.exam import Question
from ..core.settings import Settings
from ..judges import Judge, ModelJudge
from ..models import ChatModel
from ..models.base import BYTES_PER_TOKEN, PICTURE_TOKENS
from ..painters import PaintRequest
from ..store import Store
from ..store.schema import attempts, calls, drawings, markings
from ..strategies import DIRECT_STRATEGY
from .backlog import Backlog
from .plan import Arm, Plan, setup_id


@dataclass(frozen=True)
class Estimate:
    """The remaining work of one painter or judge, and its cost.

    Attributes:
        basis: The source of the numbers: ``stored calls`` like these, the ``price list``, an ``upper bound``, or a
            ``rule of thumb``; or ``free``.
        dollars: The cost; None if the price is unknown.
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
        """Return plain JSON."""
        return asdict(self)


Markings = dict[tuple[str, tuple[str, ...]], Estimate]
"""Estimates of marking by the judge's setup and the questions; making the prompts of a whole exam takes a while."""


def estimate(plan: Plan, store: Store, settings: Settings, cache: Markings | None = None) -> list[Estimate]:
    """Return one line per painter, named probe and judge for what the store lacks.

    A plan with `batch` is estimated at batch prices. `cache` keeps results between estimates of many plans on one
    unchanged store.

    Raises:
        UsageError: A painter cannot start from the pictures of the questions.
    """
    plan.check_painters()
    cache = {} if cache is None else cache
    backlog = Backlog(plan, store)
    drawn: list[tuple[Estimate, str]] = []
    slots = list(backlog.missing_drawings())
    for arm in plan.arms:
        requests = [backlog.request(slot) for slot in slots if slot.arm == arm]
        targets = [arm.painter.spec, *(model.name for model in arm.strategy.models.values())]
        each = None
        if not plan.batch and not any(has_batches(store, target) for target in targets):
            # Earlier drawings do not predict the cost if only some of them were batched.
            each = mean_drawing(store, arm.painter.spec, arm.strategy.name, backlog.options_of(arm.painter))
        if arm.strategy is DIRECT_STRATEGY:
            inputs = sum(len(request.inputs) for request in requests) / max(len(requests), 1)
            one = _by_price(arm.painter.name, "painter", arm.painter, len(requests), each=each, pictures=inputs)
            drawn.append((one, arm.painter.spec))
        else:
            drawn += _by_strategy(arm, requests, each, store, settings)
    lines = [batch_price(line, target, settings) if plan.batch else line for line, target in drawn]
    measurements = [probe for probe, _ in backlog.missing_evidence()]
    for probe in (one for one in plan.probes if one.evidence in plan.remeasured or price_of(one)[1] != "free"):
        stored = sum(one is probe for one in measurements)
        lines.append(_by_price(short_backend_name(probe.name), "probe", probe, len(slots) + stored))
    markings = list(backlog.missing_markings())
    for judge in plan.judges:
        questions = [question for who, question in markings if who is judge]
        key = setup_id(judge.setup), tuple(question.id for question in questions)
        if key not in cache:
            cache[key] = marking_cost(judge, questions, store, settings, batch=plan.batch)
        lines.append(cache[key])
    return lines


def batch_price(line: Estimate, target: str, settings: Settings) -> Estimate:
    """Return the estimate at the price of batched calls to a target, if its service has batches."""
    share = settings.batch_share(target)
    return line if share is None or line.dollars is None else replace(line, dollars=line.dollars * share)


def total(estimates: Iterable[Estimate]) -> tuple[float, list[str]]:
    """Return the sum in dollars, and the names of those without a known price."""
    lines = list(estimates)
    return sum(e.dollars or 0.0 for e in lines), [e.who for e in lines if e.dollars is None and e.calls]


def _by_price(
    name: str,
    role: str,
    priced: Costly,
    steps: int,
    calls: int | None = None,
    each: float | None = None,
    pictures: float = 0,
) -> Estimate:
    """Return the estimate of one call per step, or of `calls` calls, unless it is free.

    `each` is the mean cost of earlier calls, `pictures` the number of input pictures of a call.
    """
    price, basis = price_of(priced, pictures)
    calls = steps if calls is None else calls
    if basis == "free":
        return Estimate(name, role, steps, 0, 0, 0, 0.0, basis)
    if each is not None:
        price, basis = each, "stored calls"
    return Estimate(name, role, steps, calls, 0, 0, None if price is None else price * calls, basis)


def marking_cost(
    judge: Judge, questions: Sequence[Question[Any]], store: Store, settings: Settings, *, batch: bool = False
) -> Estimate:
    """Return the estimate of marking one drawing per listed question."""
    if not isinstance(judge, ModelJudge):
        return _by_price(judge.name, "judge", judge, len(questions))
    if not judge.paid:
        return Estimate(judge.name, "judge", len(questions), 0, 0, 0, 0.0, "free")
    steps, calls, sent, written = 0, 0, 0.0, 0.0
    usual = mean_use(store, judge.name)
    begun: set[str] = set()
    for question in questions:
        try:
            before, asks = judge.asks_like(question)
        except Lacking:
            continue
        if question.id not in begun:
            # Asked once per question, for all painters.
            asks = [*before, *asks]
            begun.add(question.id)
        steps, calls = steps + 1, calls + len(asks)
        sent += sum(usual[0] if usual else ask_tokens(ask) for ask in asks)
        written += sum(usual[1] if usual else judge.typical_reply(ask) for ask in asks)
    dollars = settings.price(judge.name, round(sent), round(written))
    each = None if batch or has_batches(store, judge.name) else mean_marking(store, setup_id(judge.setup))
    if dollars is not None and each is not None:
        # The cost of earlier markings by the same setup, repeated requests included.
        dollars = each * steps
    basis = "stored calls" if usual else "rule of thumb"
    line = Estimate(judge.name, "judge", len(questions), calls, round(sent), round(written), dollars, basis)
    return batch_price(line, judge.name, settings) if batch else line


def ask_tokens(ask: Ask) -> float:
    """Return the approximate number of tokens in a request."""
    return sum(
        len(part.text.encode()) / BYTES_PER_TOKEN if isinstance(part, Text) else PICTURE_TOKENS for part in ask.shown
    )


def _by_strategy(
    arm: Arm, requests: Sequence[PaintRequest], each: float | None, store: Store, settings: Settings
) -> list[tuple[Estimate, str]]:
    """Return one line per painter, editor and model of a strategy with its name, or one for all if `each` is known."""
    steps, totals = len(requests), dict[str, list[float]]()
    for request in requests:
        for guess in arm.strategy.guesses(len(request.prompt.encode()) // BYTES_PER_TOKEN):
            sums, shown = totals.setdefault(guess.who, [0.0, 0.0, 0.0, 0.0]), guess.pictures + len(request.inputs)
            sums[0] += guess.calls
            sums[1] += guess.calls * (guess.tokens_in + shown * PICTURE_TOKENS)
            sums[2] += guess.calls * guess.tokens_out
            sums[3] += guess.calls * shown
    painters = {"painter": arm.painter, "editor": arm.strategy.editor or arm.painter}
    lines = []
    for role, (count, sent, written, pictures) in totals.items():
        if (painter := painters.get(role)) is not None:
            line = _by_price(painter.name, role, painter, steps, round(count), pictures=pictures / max(count, 1))
            lines.append((line, painter.spec))
            continue
        model = arm.strategy.models[role]
        if (usual := mean_use(store, model.name)) is not None:
            sent, written = usual[0] * count, usual[1] * count
        tokens = round(sent), round(written)
        dollars = settings.price(model.name, *tokens) if isinstance(model, ChatModel) else 0.0
        basis = "stored calls" if usual else "rule of thumb"
        lines.append((Estimate(model.name, role, steps, round(count), *tokens, dollars, basis), model.name))
    if each is None or not lines:
        return lines
    count, sent, written = (sum(getattr(line, of) for line, _ in lines) for of in ("calls", "tokens_in", "tokens_out"))
    name = f"{arm.painter.name} {arm.strategy.name}"
    return [(Estimate(name, "strategy", steps, count, sent, written, each * steps, "stored drawings"), name)]


GROUPS = {"target": calls.c.target, "kind": calls.c.kind, "exam": calls.c.exam, "painter": calls.c.painter}
PAID = ("chat", "paint")


@dataclass(frozen=True)
class Spent:
    """A sum over attempts.

    Attributes:
        unpriced: Attempts of unknown cost: without a price, or interrupted.
        failed: Failed attempts, paid or not.
        doubted: Attempts whose reported usage is not credible: counted at their bound, and without tokens.
    """

    group: dict[str, str | None]
    calls: int
    attempts: int
    failed: int
    unpriced: int
    dollars: float
    tokens_in: int
    tokens_out: int
    doubted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)


def _reported_tokens(*places: tuple[str, str]) -> Any:
    """Return the SQL for a token count that services report in one of these places of a reply."""
    replies = attempts.c.result["raw"], attempts.c.result
    reported = sa.func.coalesce(*(reply[group][name].as_float() for reply in replies for group, name in places), 0.0)
    # A usage that is not credible may not even be a number.
    return sa.case((attempts.c.doubt.is_(None), reported), else_=0.0)


TOKENS_IN = _reported_tokens(
    ("usage", "prompt_tokens"), ("usage", "input_tokens"), ("usageMetadata", "promptTokenCount")
)
TOKENS_OUT = _reported_tokens(
    ("usage", "completion_tokens"), ("usage", "output_tokens"), ("usageMetadata", "candidatesTokenCount")
) + _reported_tokens(("usageMetadata", "thoughtsTokenCount"))


def spent(store: Store, by: Sequence[str] = ("kind", "target", "exam")) -> list[Spent]:
    """Return the sums per group, the most expensive first, without free calls (probes, replays, imports)."""
    columns = [GROUPS[name].label(name) for name in by]
    query = (
        sa.select(
            *columns,
            sa.func.count(sa.distinct(calls.c.key)),
            sa.func.count(),
            sa.func.count(attempts.c.fault),
            sa.func.sum(sa.case((attempts.c.cost.is_(None), 1), else_=0)),
            sa.func.coalesce(sa.func.sum(attempts.c.cost), 0.0),
            sa.func.sum(TOKENS_IN),
            sa.func.sum(TOKENS_OUT),
            sa.func.count(attempts.c.doubt),
        )
        .select_from(calls.join(attempts, attempts.c.call == calls.c.key))
        .where(calls.c.kind.in_(PAID))
        .group_by(*columns)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    sums = []
    for row in rows:
        group = dict(zip(by, row[: len(by)], strict=True))
        made, tried, failed, unpriced, dollars, sent, written, doubted = row[len(by) :]
        sums.append(Spent(group, made, tried, failed, unpriced, dollars, round(sent), round(written), doubted))
    return sorted(sums, key=lambda one: (-one.dollars, -one.calls, str(one.group)))


def mean_use(store: Store, target: str) -> tuple[float, float] | None:
    """Return the mean input and output tokens of accepted calls to `target`, or None if there are none."""
    query = (
        sa.select(sa.func.count(), sa.func.avg(TOKENS_IN), sa.func.avg(TOKENS_OUT))
        .select_from(calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted)))
        # Leave out replies that report no tokens.
        .where(calls.c.target == target, TOKENS_IN > 0)
    )
    with store.reading() as connection:
        count, sent, written = connection.execute(query).one()
    return (float(sent), float(written)) if count else None


def has_batches(store: Store, target: str) -> bool:
    """Return whether calls to `target` were batched, so that their prices differ."""
    query = sa.select(calls.c.key).where(calls.c.target == target, calls.c.batch.is_not(None)).limit(1)
    with store.reading() as connection:
        return connection.execute(query).first() is not None


def mean_marking(store: Store, setup: str) -> float | None:
    """Return the mean cost of a marking by this evaluator, all turns included; None if unknown."""
    made_here = markings.c.origin == "run", markings.c.status == "done"
    with store.reading() as connection:
        mean = connection.scalar(sa.select(sa.func.avg(markings.c.cost)).where(markings.c.setup == setup, *made_here))
    return None if mean is None else float(mean)


def mean_drawing(store: Store, spec: str, strategy: str, options: Mapping[str, Any]) -> float | None:
    """Return the mean cost of a drawing by this painter, strategy and options; None if unknown."""
    query = sa.select(drawings.c.options, drawings.c.cost).where(drawings.c.strategy == strategy)
    query = query.where(drawings.c.spec == spec, drawings.c.status == "done", drawings.c.cost.is_not(None))
    with store.reading() as connection:
        costs = [row.cost for row in connection.execute(query) if row.options == options]
    return sum(costs) / len(costs) if costs else None
