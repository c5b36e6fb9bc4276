"""How many questions each level has, of which tracks, and what they may not say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...core.schema import StrictModel

Level = Literal["component", "topology", "phase", "semantics"]


class LogRules(StrictModel):
    """What an execution log leaves out."""

    banned: tuple[str, ...]


class LevelRules(StrictModel):
    """One level's set of questions.

    Attributes:
        name: The level's name in the exam's data.
        least: Questions at least.
        most: And at most.
        bans: What no question of it may say, by the names of patterns.
    """

    name: str
    least: int
    most: int
    bans: tuple[str, ...]


class QuestionRules(StrictModel):
    """The rules of all sets.

    Attributes:
        track_b: At level 1, the share of track B among questions on parts that are there.
        bans: Name -> patterns.
    """

    track_b: float = Field(ge=0, le=1)
    levels: dict[Level, LevelRules]
    bans: dict[str, tuple[str, ...]]
