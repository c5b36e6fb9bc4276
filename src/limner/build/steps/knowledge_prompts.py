"""Prompts for a level and a discipline: short, with a visual form, each with the key concept it is about."""

from __future__ import annotations

import re
from functools import partial

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.schema import StrictModel
from ...core.training import normalize_words
from ..base import BuildItem, BuildStep, StepContext, Use
from ..wording import stem

LINE = re.compile(r"^[^\S\n]*(?:\d{1,3}[.)])?[^\w\n]*(PROMPT|CONCEPT)[^\w\n:]*:[*_ \t]*(\S.*)$", re.MULTILINE)


class KnowledgePromptsSettings(StrictModel):
    """The limits of a prompt.

    Attributes:
        words: The most words of a prompt; the paper's number.
        concept_words: The most words of a key concept.
        forms: Names of visual forms; a prompt must have one of them.
    """

    words: int = Field(default=80, ge=5)
    concept_words: int = Field(default=8, ge=1)
    forms: tuple[str, ...] = Field(min_length=1)


async def knowledge_prompts(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write prompts for a level and a discipline."""
    how: KnowledgePromptsSettings = context.settings
    body = item.body
    shown = context.prompts.fill(
        "knowledge-prompts", many=str(body["many"]), level=body["words"], discipline=body["discipline"],
        words=str(how.words), concept_words=str(how.concept_words), number=str(body["number"]),
    )  # fmt: skip
    contract = Contract(partial(read_prompts, many=body["many"], how=how))
    return item.having(prompts=await context.ask("writer", item, [Text(shown)], contract))


def read_prompts(reply: str, many: int, how: KnowledgePromptsSettings) -> list[dict[str, str]]:
    """Return prompts with their concepts, from alternating PROMPT and CONCEPT lines.

    Raises:
        Unreadable: The reply has faults; the message lists them.
    """
    entries: list[dict[str, str]] = []
    wrong: list[str] = []
    for word, text in LINE.findall(reply):
        text = text.strip("*_ \t\r")
        if word == "PROMPT":
            entries.append({"prompt": text})
        elif not entries or "concept" in entries[-1]:
            wrong.append(f"the concept {text[:60]!r} has no prompt before it")
        else:
            entries[-1]["concept"] = text
    if not 1 <= len(entries) <= many:
        raise Unreadable(f"there are {len(entries)} lines **PROMPT**: …; {many} are wanted")
    seen: set[str] = set()
    for entry in entries:
        prompt, concept = entry["prompt"], entry.get("concept", "")
        if not normalize_words(concept):
            wrong.append(f"{prompt[:60]!r} has no line **CONCEPT**: … after it")
        elif len(concept.split()) > how.concept_words:
            wrong.append(f"the concept {concept[:60]!r} has more than {how.concept_words} words")
        if (words := len(prompt.split())) > how.words:
            wrong.append(f"{prompt[:60]!r} has {words} words; at most {how.words} are allowed")
        if not names_form(prompt, how.forms):
            wrong.append(f"{prompt[:60]!r} names no visual form, such as {', '.join(how.forms[:4])}")
        if normalize_words(prompt) in seen:
            wrong.append(f"{prompt[:60]!r} stands there twice")
        seen.add(normalize_words(prompt))
    if wrong:
        raise Unreadable("; ".join(wrong[:6]))
    return entries


def names_form(prompt: str, forms: tuple[str, ...]) -> bool:
    """Return whether a prompt names the kind of picture.

    >>> names_form("Draw a flow-chart of digestion.", ("diagram", "flow chart"))
    True
    """
    words = " ".join(stem(word) for word in normalize_words(prompt).split())
    return any(f" {' '.join(stem(word) for word in form.split())} " in f" {words} " for form in forms)


STEP = BuildStep("knowledge-prompts", "asks for prompts with a visual form, and their concepts",
                 KnowledgePromptsSettings, ("writer",), ("knowledge-prompts",),
                 ("level", "words", "discipline", "many", "number"), "cell", "cell", each=knowledge_prompts,
                 use=(Use("writer", 400, 1200),))  # fmt: skip
