"""Writes what a build has made in MMMG's release layout: the counterpart of `data.read`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import GraphRow

FILE = "mmmg.jsonl"


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write one line for each item and its reference image; gives each item's key.

    Args:
        folder: The exam's data folder.
        items: With ``image``, ``prompt``, ``level``, ``discipline``, ``concept``, ``elements``, ``dependencies`` and
            ``definitions``.
        save: Puts a picture into the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    rows, made = [], dict[str, list[str]]()
    for item in items:
        cell = f"{item['level']}_{item['discipline']}"
        numbers[cell] += 1
        key = f"{cell}_{numbers[cell]}"
        row = {
            "key": key,
            "Education": item["level"],
            "prompt": item["prompt"],
            "Knowledge_Graph": json.dumps(graph(item), ensure_ascii=False),
            "Annotation": json.dumps(annotation(item), ensure_ascii=False),
            "image": f"images/{key}.png",
            "concept": item["concept"],
            "origin": item["origin"],
        }
        GraphRow.model_validate({name.lower(): value for name, value in row.items()})
        save(item["image"], f"images/{key}.png")
        rows.append(row)
        made[item["item"]] = [key]
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return made


def graph(item: Mapping[str, Any]) -> dict[str, list[str]]:
    """The graph as the release has it."""
    return {
        "elements": [one["name"] for one in item["elements"]],
        "dependencies": [one["says"] for one in item["dependencies"]],
    }


def annotation(item: Mapping[str, Any]) -> dict[str, Any]:
    """What a judge is told beside the graph."""
    return {
        "Definitions": item["definitions"],
        "Element Explanation": [one["why"] for one in item["elements"]],
        "Dependency Explanation": [one["why"] for one in item["dependencies"]],
    }
