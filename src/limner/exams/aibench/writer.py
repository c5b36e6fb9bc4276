"""Writes what a build has made in the release's layout: the counterpart of `data.read`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import FILE, ChoiceQuestion, MethodRow

KEPT = ("track", "rationale", "about")
"""What is told of a question beside what the release has."""


def write(folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]) -> dict[str, list[str]]:
    """One line for each paper, its figure under images/; returns the ids of the rows by item."""
    made: dict[str, list[str]] = {}
    lines = []
    for item in items:
        image = f"{item['item']}.{item['image_suffix']}"
        row = {"id": item["item"], "method_text": item["method"], "image": f"images/{image}",
               "checklist": [_question(n, one) for n, one in enumerate(item["checklist"], 1)]}  # fmt: skip
        MethodRow.model_validate(row)
        save(item["image"], f"images/{image}")
        lines.append(json.dumps(row, ensure_ascii=False))
        made[item["item"]] = [item["item"]]
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return made


def _question(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: row[name] for name in ChoiceQuestion.model_fields} | {"id": number}
    return told | {name: row[name] for name in KEPT if row.get(name)}
