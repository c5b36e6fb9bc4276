"""Screen 1: a model answers the questions from the original figure; papers with many wrong answers are dropped."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..screens import answer_questions, make_question


class FigureScreenSettings(StrictModel):
    """The settings of screen 1.

    Attributes:
        exam: The kind of exam whose protocol asks.
        variant: The protocol's variant: all questions in one call, or one question per call.
        least: The smallest share of right answers with which a paper is kept.
    """

    exam: str
    variant: str = "batched"
    least: float = Field(default=0.6, ge=0, le=1)


async def figure_screen(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop papers whose figure answers too few of the questions."""
    how: FigureScreenSettings = context.settings
    question = make_question(item, item.body["checklist"], how.exam)
    right = await answer_questions(item, context, "solver", question, how.exam, how.variant)
    share = sum(right.values()) / len(right)
    if share < how.least:
        raise Dropped("too few answers from its own figure", f"{sum(right.values())} of {len(right)} are right")
    return item.having(screened=share, wrong=[key for key, hit in right.items() if not hit])


STEP = BuildStep("figure-screen", "screen 1: papers whose own figure answers too few", FigureScreenSettings,
                 ("solver",), reads=("checklist", "image", "method"), takes="paper", makes="paper",
                 each=figure_screen, use=(Use("solver", 2500, 250, pictures=1),))  # fmt: skip
