"""Screen 2: a stronger model with the text answers the failed questions; those that it fails too are dropped."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.choices import balance_letters
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..screens import answer_questions, make_question


class TextScreenSettings(StrictModel):
    """The settings of screen 2.

    Attributes:
        exam: The kind of exam whose protocol asks.
        variant: The protocol's variant.
        each_level: The fewest questions of each level that must remain; otherwise the paper is dropped.
    """

    exam: str
    variant: str = "batched"
    each_level: int = Field(default=1, ge=0)


async def text_screen(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop questions that a stronger model, with the text, also answers wrongly."""
    how: TextScreenSettings = context.settings
    rows: list[dict[str, Any]] = item.body["checklist"]
    keys = [entry.key for entry in make_question(item, rows, how.exam).rubric.checklist]
    asked = [row for row, key in zip(rows, keys, strict=True) if key in item.body["wrong"]]
    gone = set[str]()
    if asked:
        question = make_question(item, asked, how.exam)
        intro = context.prompts.fill("text-screen", method=item.body["method"])
        right = await answer_questions(item, context, "expert", question, how.exam, how.variant, intro)
        gone = {key for key, hit in right.items() if not hit}
    kept = [row for row, key in zip(rows, keys, strict=True) if key not in gone]
    for level in dict.fromkeys(row["level"] for row in rows):
        left = sum(row["level"] == level for row in kept)
        if left < how.each_level:
            raise Dropped("a level without questions", f"{level}: {left} left")
    removed = [row["question"] for row, key in zip(rows, keys, strict=True) if key in gone]
    return item.having(checklist=balance_letters(kept, item.id), removed=removed)


STEP = BuildStep("text-screen", "screen 2: questions answered wrongly twice", TextScreenSettings, ("expert",),
                 ("text-screen",), ("checklist", "image", "method", "wrong"), "paper", "paper", each=text_screen,
                 use=(Use("expert", 5000, 60, pictures=1),))  # fmt: skip
