"""Answers to an item's own questions, asked and marked by the exam's protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import exams
from ..core.asks import Ask, Contract, Reply, Text, Variant
from ..core.exam import Question
from ..core.prompts import Prompts
from .base import Bench, BuildItem


def as_question(item: BuildItem, rows: Sequence[Mapping[str, Any]], exam: str) -> Question[Any]:
    """Return the question that an exam of this kind would make of an item with this checklist."""
    rubric = exams.kind(exam).rubric.model_validate({"checklist": rows})
    return Question(item.id, item.body["method"], rubric)


async def answered(
    item: BuildItem, bench: Bench, role: str, question: Question[Any], exam: str, variant: str, context: str = ""
) -> dict[str, bool]:
    """Criterion -> whether it was answered right, for the picture of an item.

    Args:
        item: Its ``image`` is looked at.
        bench: What the step may use.
        role: Who is asked.
        question: See `as_question`.
        exam: The kind of exam.
        variant: How its protocol asks.
        context: What is told beside the picture.
    """
    kind = exams.kind(exam)
    asks = kind.protocol.asks(question, item.body["image"], {}, Variant(variant, Prompts(kind.prompts)))
    replies = []
    for ask in asks:
        shown = [Text(context), *ask.shown] if context else list(ask.shown)
        text = await bench.ask(role, item, shown, Contract(_read(ask), ask.contract.schema), ask.name)
        replies.append(Reply(ask.name, text))
    return {mark.criterion: bool(mark.value) for mark in kind.protocol.marks(question, replies, "careful")}


def _read(ask: Ask) -> Callable[[str], str]:
    """The reply's text, where it keeps the protocol's contract: what cannot be read is a fault, and no wrong answer."""

    def read(text: str) -> str:
        ask.contract.parse(text)
        return text

    return read
