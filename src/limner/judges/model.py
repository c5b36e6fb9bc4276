"""A judge with a chat model for a mind: it sends the exam's asks and keeps the replies."""

from __future__ import annotations

from typing import Any

from ..calls import Calls, Fault
from ..errors import Lacking
from ..exam import Question
from ..models import ChatModel, Context, ReplayModel, complete
from ..protocol import Ask, Protocol, Variant
from .base import Marked, Subject


class ModelJudge:
    """See the module."""

    def __init__(self, model: ChatModel | ReplayModel, protocol: Protocol[Any], variant: Variant) -> None:
        self.name = model.name
        self._model, self._protocol, self._variant = model, protocol, variant
        self.setup: dict[str, Any] = {
            "judge": model.name,
            **model.settings,
            "variant": variant.name,
            "options": dict(variant.options),
            "templates": variant.prompts.hash(*protocol.templates(variant)),
        }

    def check(self) -> None:
        """Fail early when the model cannot be reached for want of a key."""
        self._model.check()

    @property
    def paid(self) -> bool:
        """Whether its calls may cost money."""
        return isinstance(self._model, ChatModel)

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None."""
        return self._model.unpriced()

    def asks_like(self, question: Question[Any]) -> tuple[list[Ask], list[Ask]]:
        """The asks of one question and those of one marking, as long as the real ones, for estimates.

        Raises:
            Lacking: The question cannot be marked this way.
        """
        before = self._protocol.before(question, self._variant)
        evidence = {ask.name: "x" * 4 * self._protocol.reply_tokens.get(ask.name, 500) for ask in before}
        return before, self._protocol.asks(question, "0" * 64, evidence, self._variant)

    def typical_reply(self, ask: Ask) -> int:
        """About how many tokens the reply to an ask takes, thinking included."""
        return self._protocol.reply_tokens.get(ask.name, 500)

    async def mark(self, subject: Subject, calls: Calls) -> Marked:
        """Every ask in turn; see `limner.judges.base.Judge`."""
        replies: list[tuple[str, str]] = []
        costs: list[float | None] = []
        try:
            evidence = {}
            for ask in self._protocol.before(subject.question, self._variant):
                # A caption belongs to the question: the same for every painter and repeat.
                evidence[ask.name], _ = await self._ask(ask, subject, calls, replies, costs, shared=True)
            for ask in self._protocol.asks(subject.question, subject.image, evidence, self._variant):
                await self._ask(ask, subject, calls, replies, costs)
        except Lacking as error:
            raise Fault("missing", str(error)) from error
        cost = None if None in costs else sum(c for c in costs if c is not None)
        return Marked(tuple(replies), None, cost)

    async def _ask(
        self,
        ask: Ask,
        subject: Subject,
        calls: Calls,
        replies: list[tuple[str, str]],
        costs: list[float | None],
        shared: bool = False,
    ) -> tuple[str, str]:
        painter, repeat = ("", 0) if shared else (subject.painter, subject.repeat)
        context = Context(subject.exam, subject.question.id, painter, ask.name, repeat, subject.round)
        answer = await complete(self._model, ask.shown, ask.contract, context, calls)
        assert answer.reply.call is not None
        replies.append((ask.name, answer.reply.call))
        costs.append(answer.cost)
        return answer.reply.text, answer.reply.call
