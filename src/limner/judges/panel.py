"""A panel of judges: its members mark, and a rule combines their marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..calls import Calls, Fault
from ..calls.journal import in_turn
from ..core.asks import Reply
from ..core.errors import UsageError
from ..core.marks import Mark, PanelFacts, combine_marks
from ..core.protocol import Protocol
from ..core.settings import OWN, parse_value
from ..store.records import load_replies
from .base import Judge, JudgeInputs, JudgeKind, JudgeResult, Subject, setup_id

KIND = "panel"
"""The kind of evaluator that a panel is."""


class Panel:
    """Several judges whose marks are combined; markings that members already made are reused from the journal."""

    def __init__(
        self, name: str, members: Sequence[Judge], facts: PanelFacts, weights: Sequence[float], protocol: Protocol[Any]
    ) -> None:
        self.name, self.members = name, tuple(members)
        self._facts, self._weights, self._protocol = facts, tuple(weights), protocol
        self.setup: dict[str, Any] = {
            "judge": name,
            "members": [setup_id(member.setup) for member in members],
            "rule": facts.rule,
        }
        if facts.rule == "weights":
            self.setup["weights"] = list(self._weights)

    def check(self) -> None:
        """Raise an error if a member cannot work."""
        for member in self.members:
            member.check()

    def unpriced(self) -> None:
        """Return None: its members are paid as separate judges."""
        return None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Return the combined marks of the members; if one member fails, the panel fails."""
        given: dict[str, Sequence[Mark]] = {}
        costs: list[float | None] = []
        results = await in_turn(partial(self._marked_by, member, subject, calls) for member in self.members)
        for member, marking in zip(self.members, results, strict=True):
            marks = marking.marks if marking.marks is not None else self._read(marking, subject, calls)
            given[_apart(member.name, given)] = marks
            costs.append(marking.cost)
        criteria = [criterion.id for criterion in self._protocol.criteria(subject.question)]
        together = combine_marks(given, self._facts.rule, self._weights, criteria)
        return JudgeResult((), tuple(together), None if None in costs else sum(cost or 0.0 for cost in costs))

    async def _marked_by(self, member: Judge, subject: Subject, calls: Calls) -> JudgeResult:
        try:
            return await member.mark(subject, calls)
        except Fault as fault:
            raise Fault(fault.kind, f"{member.name}: {fault.detail}", calls=fault.calls, cost=fault.cost) from fault

    def _read(self, marking: JudgeResult, subject: Subject, calls: Calls) -> list[Mark]:
        texts = load_replies(calls.store, [key for _, key in marking.replies])
        replies = [Reply(ask, texts[key], key) for ask, key in marking.replies if key in texts]
        return self._protocol.marks(subject.question, replies, "careful")


def _apart(name: str, taken: Sequence[str] | dict[str, Any]) -> str:
    """Return the member's name, numbered if another member has the same name."""
    count = sum(other == name or other.startswith(f"{name} (") for other in taken)
    return f"{name} ({count + 1})" if count else name


def split_arguments(spec: str) -> tuple[str, dict[str, Any]]:
    """Return a member's judge and the arguments behind its question mark.

    >>> split_arguments("openai/gpt-5?reasoning_effort=low&seed=3")
    ('openai/gpt-5', {'reasoning_effort': 'low', 'seed': 3})
    """
    judge, _, rest = spec.partition("?")
    pairs = [pair.partition("=") for pair in rest.split("&") if pair]
    return judge, {name: parse_value(value) for name, _, value in pairs}


def _open(given: JudgeInputs) -> Panel:
    from . import open_judge

    panels = given.settings.panels
    if given.rest not in panels:
        panel_names = ", ".join(panels) or f"none: add [panels.{given.rest or 'NAME'}] to {OWN}"
        raise UsageError(f"no panel {given.rest!r}; limner.toml has: {panel_names}")
    facts, members = panels[given.rest], []
    for word in facts.members:
        judge, own = split_arguments(word)
        members.append(open_judge(replace(given, spec=judge, args={**given.args, **own}, weigh=None)))
    weights: Sequence[float] = [1.0] * len(members)
    if isinstance(facts.weights, tuple):
        weights = facts.weights
    elif facts.weights is not None:
        if given.weigh is None:
            raise UsageError(f"panel/{given.rest}: weights from {facts.weights!r} need a store; give numbers instead")
        weights = given.weigh(facts.weights, members)
    return Panel(given.spec, members, facts, weights, given.exam.protocol)


PANEL = JudgeKind("panel/NAME", "combines the marks of several judges, listed in `[panels.NAME]`", _open)
