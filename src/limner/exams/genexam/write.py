"""Writes a build's items in GenExam's release layout: the counterpart of `data.read`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import ANNOTATIONS, MINI, Annotation


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write annotations, reference images and the Mini list; gives each item's question id.

    Args:
        folder: The exam's data folder.
        items: With ``image``, ``prompt``, ``scoring_points``, ``taxonomy``, ``difficulty`` and ``img_type``.
        save: Puts a picture into the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    rows, mini, made = [], [], dict[str, list[str]]()
    for item in items:
        subject = item["taxonomy"].partition("/")[0]
        numbers[subject] += 1
        id = f"{subject}_{numbers[subject]}"
        row = {
            "id": id,
            "prompt": item["prompt"],
            "image_path": f"{subject}/{id}.png",
            "scoring_points": item["scoring_points"],
            "taxonomy": item["taxonomy"],
            "img_type": item["img_type"],
            "subject": subject,
            "difficulty": item["difficulty"],
        }
        rows.append(Annotation.model_validate(row).model_dump(mode="json") | row)
        save(item["image"], f"images/{row['image_path']}")
        if item.get("mini"):
            mini.append(id)
        made[item["item"]] = [id]
    (folder / ANNOTATIONS).parent.mkdir(parents=True, exist_ok=True)
    (folder / ANNOTATIONS).write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    if mini:
        (folder / MINI).write_text("".join(f"{id}\n" for id in mini), encoding="utf-8")
    return made
