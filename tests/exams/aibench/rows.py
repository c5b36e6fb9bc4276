"""Rows in the release's layout, questions and replies to try the protocol with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limner.core.asks import Reply, Variant
from limner.core.exam import Question
from limner.exams.aibench import AIBENCH
from limner.exams.aibench.data import LEVELS, QuestionsRubric
from limner.judges import make_variant

NAMES = {ours: name for name, ours in LEVELS.items()}


def item(level: str, id: Any, right: str = "B", **more: Any) -> dict[str, Any]:
    """A question of the checklist: Yes and No at level 1, four options elsewhere."""
    options = {"A": "No", "B": "Yes"} if level == "component" else {x: f"Part {x} of it" for x in "ABCD"}
    question = f"Is the 'Gate {id}' component present?" if level == "component" else f"Which part is {level} {id}?"
    body = {"id": id, "level": NAMES[level], "question": question, "options": options, "correct_option": right}
    return {**body, **more}


CHECKLIST = [item("component", 1), item("component", 2, "A"), item("topology", 3, "C"), item("phase", 4, "D"),
             item("semantics", 5, "A")]  # fmt: skip
ROW: dict[str, Any] = {"id": "CVPR_2025/2506.07857v1", "method_text": r"We $x$.", "checklist": CHECKLIST}


def question(checklist: Sequence[dict[str, Any]] = CHECKLIST, id: str = "V/q") -> Question[QuestionsRubric]:
    return Question(id, r"A \emph{method}.", QuestionsRubric.model_validate({"checklist": list(checklist)}))


def replies(*texts: str, checklist: Sequence[dict[str, Any]] = CHECKLIST) -> list[Reply]:
    """One reply for each question of the checklist."""
    items = QuestionsRubric.model_validate({"checklist": list(checklist)}).checklist
    return [Reply(one.key, text) for one, text in zip(items, texts, strict=True)]


def variant(name: str | None = None) -> Variant:
    return make_variant(AIBENCH, name, {})


def write(path: Path, *rows: dict[str, Any] | str | bytes) -> Path:
    """A file of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode() for row in rows
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
