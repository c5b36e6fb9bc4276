"""The split into exam and training: they share no topic or concept, and training has none of a named exam."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from ... import exams
from ...core.schema import StrictModel
from ...core.training import find_concepts
from ..base import PART, TEST, TRAIN, BuildItem, BuildStep, Dropped, StepContext, StepOutcome


class SplitSettings(StrictModel):
    """The settings of the split.

    Attributes:
        test: The share of items that the exam gets, in whole topics. The paper's is 4,456 of about 20,456.
        train_origins: Origins of pictures that training may use; the paper's are all synthetic.
        exam: An exam that training must not reveal, as in ``limner run``; empty for none.
        data: The data of that exam.
        seed: The seed of the split.
    """

    test: float = Field(default=0.22, ge=0, le=1)
    train_origins: tuple[str, ...] = ("synthetic",)
    exam: str = ""
    data: Path | None = None
    seed: int = 0


async def split(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Split whole topics into an exam part and a training part."""
    how: SplitSettings = context.settings
    parts = _parts(items, how)
    asked = [(item.id, item.body["concept"], item.body["prompt"]) for item in items if parts[item.id] == TEST]
    inside = find_concepts(((item.body["concept"], item.body["prompt"]) for item in items), asked)
    outside: Mapping[str, Sequence[str]] = {}
    if how.exam:
        questions = exams.read(exams.resolve(how.exam, how.data)).questions
        known = ((each.id, each.tags.get("concept", ""), each.prompt) for each in questions)
        outside = find_concepts(((item.body["concept"], item.body["prompt"]) for item in items), known)
    left: dict[str, StepOutcome] = {}
    for item in items:
        concept = item.body["concept"]
        if parts[item.id] == TEST:
            left[item.id] = item.having(**{PART: TEST})
        elif item.body.get("origin") not in how.train_origins:
            left[item.id] = Dropped("not for training", f"its picture is {item.body.get('origin', 'unknown')}")
        elif concept in outside:
            left[item.id] = Dropped(f"stands in {how.exam}", f"{concept}: {', '.join(outside[concept][:3])}")
        elif concept in inside:
            left[item.id] = Dropped("stands in the exam's part", f"{concept}: {', '.join(inside[concept][:3])}")
        else:
            left[item.id] = item.having(**{PART: TRAIN})
    return left


def _parts(items: Sequence[BuildItem], how: SplitSettings) -> dict[str, str]:
    """Assign whole topics to the exam until it has its share, first those with pictures unfit for training."""
    topics: dict[str, list[BuildItem]] = {}
    for item in items:
        topics.setdefault(str(item.body.get("topic") or item.body["concept"]), []).append(item)

    def place(topic: str) -> tuple[float, bytes]:
        barred = sum(item.body.get("origin") not in how.train_origins for item in topics[topic])
        return -barred / len(topics[topic]), hashlib.sha256(f"{how.seed}/{topic}".encode()).digest()

    parts: dict[str, str] = {}
    room = how.test * len(items)
    for topic in sorted(topics, key=place):
        side = TEST if room > 0 else TRAIN
        room -= len(topics[topic])
        parts |= {item.id: side for item in topics[topic]}
    return parts


STEP = BuildStep("split", "parts exam and training by topic and concept", SplitSettings,
                 reads=("concept", "topic", "prompt", "origin"), together=split)  # fmt: skip
