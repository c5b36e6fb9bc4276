"""Answers to an item's questions, asked and marked by the exam's protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import exams
from ..core.asks import Ask, Contract, Reply, Text, Variant
from ..core.exam import Question
from ..core.prompts import Prompts
from .base import BuildItem, StepContext


def make_question(item: BuildItem, rows: Sequence[Mapping[str, Any]], exam: str) -> Question[Any]:
    """Return the question that an exam of this kind would make of an item with this checklist."""
    rubric = exams.kind(exam).rubric.model_validate({"checklist": rows})
    return Question(item.id, item.body["method"], rubric)


async def answer_questions(
    item: BuildItem, context: StepContext, role: str, question: Question[Any], exam: str, variant: str, intro: str = ""
) -> dict[str, bool]:
    """Return for each criterion whether it was answered correctly from an item's picture.

    Args:
        item: The item with the ``image``.
        context: The step's context.
        role: The model to ask.
        question: See `make_question`.
        exam: The kind of exam.
        variant: The variant of its protocol.
        intro: A text to send before the picture.
    """
    kind = exams.kind(exam)
    asks = kind.protocol.asks(question, item.body["image"], {}, Variant(variant, Prompts(kind.prompts)))
    replies = []
    for ask in asks:
        shown = [Text(intro), *ask.shown] if intro else list(ask.shown)
        text = await context.ask(role, item, shown, Contract(_read(ask), ask.contract.schema), ask.name)
        replies.append(Reply(ask.name, text))
    return {mark.criterion: bool(mark.value) for mark in kind.protocol.marks(question, replies, "careful")}


def _read(ask: Ask) -> Callable[[str], str]:
    """Return a parser that keeps the text of valid replies: an unreadable reply is a fault, not a wrong answer."""

    def read(text: str) -> str:
        ask.contract.parse(text)
        return text

    return read
