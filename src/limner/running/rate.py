"""Runs a baseline over stored drawings: numbers become ratings, choices become comparisons, each stored at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..calls import Calls, Fault
from ..core.errors import UsageError
from ..core.evaluator import row_name
from ..core.exam import Question
from ..core.prompts import Prompts
from ..judges.baselines import Baseline
from ..models import ChatModel, Context, ReplayModel
from ..models.base import complete_afresh
from ..store import Store
from ..store.ratings import PairChoice, Rating, save_comparisons, save_ratings
from ..store.records import Drawing
from .evaluating import NO_IMAGE, EvaluatingRunner
from .plan import Plan

ARENA = "arena"
"""The scale of choices that a model makes."""


@dataclass(frozen=True)
class RatedItem:
    """One ask: a drawing, or two of one question in the order of showing.

    Attributes:
        turned: Whether the drawings are shown in the other order than they are named.
    """

    question: Question[Any]
    drawings: tuple[Drawing, ...]
    turned: bool = False

    @property
    def shown(self) -> tuple[Drawing, ...]:
        """The drawings as they are shown."""
        return self.drawings[::-1] if self.turned else self.drawings

    @property
    def painter(self) -> str:
        """Whose they are, in the order of showing."""
        return " | ".join(drawing.painter for drawing in self.shown)


class RatingRunner(EvaluatingRunner):
    """Runs one baseline by one model. To resume is to run it again: what was answered stands in the journal.

    Args:
        plan: Which stored drawings; it has no judges and no probes.
        store: Where they are.
        baseline: What is asked.
        model: Who is asked.
        prompts: In which words.
        against: Of two drawings one must be by this painter; by default every two painters meet.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        baseline: Baseline,
        model: ChatModel | ReplayModel,
        prompts: Prompts,
        against: str | None = None,
    ) -> None:
        super().__init__(plan, store, model, baseline.metric)
        self.baseline, self.model, self.prompts, self.against = baseline, model, prompts, against

    @property
    def setup(self) -> dict[str, Any]:
        """Everything that shapes what is said."""
        return self.baseline.setup(self.model, self.prompts)

    def items(self) -> list[RatedItem]:
        """Every ask of this run.

        Raises:
            UsageError: There is nothing to be asked about.
        """
        done: dict[str, list[tuple[Question[Any], Drawing]]] = {}
        for slot in self.backlog.slots():
            if slot.stored is not None and slot.stored.status == "done":
                done.setdefault(slot.question.id, []).append((slot.question, slot.stored))
        if self.baseline.pictures == 1:
            found = [RatedItem(question, (drawing,)) for rows in done.values() for question, drawing in rows]
        else:
            found = [item for rows in done.values() for item in self._met(rows)]
        if not found:
            need = "a finished drawing" if self.baseline.pictures == 1 else "a question that two painters have drawn"
            raise UsageError(f"{self.plan.exam.name}: there is not {need}" + self._hint())
        return found

    def _hint(self) -> str:
        return f" with one by {self.against}" if self.against else ""

    def _met(self, rows: Sequence[tuple[Question[Any], Drawing]]) -> Iterator[RatedItem]:
        """Every two drawings of a question by different painters, first of equal seeds, in both orders."""
        for (question, one), (_, other) in combinations(sorted(rows, key=lambda row: _order(row[1])), 2):
            names = [{drawing.painter, _name(drawing)} for drawing in (one, other)]
            met = self.against is None or self.against in names[0] | names[1]
            if _name(one) != _name(other) and one.seed == other.seed and met:
                for turned in (False, True):
                    yield RatedItem(question, (one, other), turned)

    def estimate(self) -> float | None:
        """About what all asks cost together, in dollars; None where nobody knows."""
        each = self.baseline.price(self.model, self.prompts)
        return None if each is None else each * len(self.items())

    def run(self) -> Any:
        """Run to the end; see `Runner.run`."""
        self.check()
        self.items()  # Whoever has nothing to ask about is told before anything is stored.
        return super().run()

    def _slots(self) -> tuple[int, Iterable[RatedItem]]:
        return len(self.items()), self.items()

    def _painter_of(self, slot: RatedItem) -> str | None:
        return slot.drawings[0].painter

    async def _fill(self, slot: RatedItem, calls: Calls) -> None:
        """Ask, and keep what is said; a fault is an outcome without a value, and told with its reason."""
        await self._keep(slot, *await self._outcome(slot.question.id, self._answer(slot, calls)))

    async def _answer(self, slot: RatedItem, calls: Calls) -> Any:
        images = [drawing.image for drawing in slot.shown]
        if None in images:
            raise Fault("missing", NO_IMAGE)
        shown = self.baseline.shown(self.prompts, slot.question.prompt, *map(str, images))
        about = Context(self.plan.exam.name, slot.question.id, slot.painter, self.baseline.metric)
        return (await complete_afresh(self.model, shown, self.baseline.contract, about, calls)).value

    async def _keep(self, item: RatedItem, value: Any, reason: str | None) -> None:
        if self.baseline.pictures == 1:
            (drawing,) = item.drawings
            numbers = value or {self.baseline.metric: None}
            rows = [Rating(drawing.id, self.setup_id, scale, n, reason=reason) for scale, n in numbers.items()]
            await asyncio.wrap_future(save_ratings(self.store, rows))
            return
        one, other = item.drawings
        # The same two in the other order are another time of asking.
        made = PairChoice(
            one.exam, item.question.id, one.id, other.id, self.setup_id, ARENA, _named(value, item.turned),
            "second" if item.turned else "first", repeat=int(item.turned), reason=reason,
        )  # fmt: skip
        await asyncio.wrap_future(save_comparisons(self.store, [made]))


def _named(choice: str | None, turned: bool) -> str | None:
    """A choice by the order of showing, as one by the order of naming.

    >>> _named("first", True), _named("tie", True), _named("second", False)
    ('second', 'tie', 'second')
    """
    return {"first": "second", "second": "first"}.get(choice or "", choice) if turned else choice


def _name(drawing: Drawing) -> str:
    return row_name(drawing.label, drawing.strategy)


def _order(drawing: Drawing) -> tuple[str, int, str]:
    return _name(drawing), drawing.seed, drawing.id
