"""Writes what a build has made in the release's layout: the counterpart of `data.read`."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.choices import balanced, constants
from .data import FILE, ChoiceQuestion, MethodRow

CONSTANTS = "constant_answers.csv"
KEPT = ("track", "rationale", "about")
"""What is told of a question beside what the release has."""


def write(folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]) -> dict[str, list[str]]:
    """One line for each paper, its figure under images/, its logic graph under graphs/; the ids of the rows by item.

    What always giving the same answer would get stands in a table beside them.
    """
    made: dict[str, list[str]] = {}
    rows = []
    for item in items:
        id = _id(item)
        checklist = balanced([_question(n, one) for n, one in enumerate(item["checklist"], 1)], id)
        row = {"id": id, "method_text": item["method"], "image": f"images/{id}.png",
               "checklist": checklist}  # fmt: skip
        MethodRow.model_validate(row)
        save(item["image"], row["image"])
        save(item["graph_image"], f"graphs/{id}.png")
        (folder / "graphs" / f"{id}.svg").parent.mkdir(parents=True, exist_ok=True)
        (folder / "graphs" / f"{id}.svg").write_text(item["graph_svg"], encoding="utf-8")
        (folder / "graphs" / f"{id}.json").write_text(json.dumps(item["graph"], ensure_ascii=False), encoding="utf-8")
        rows.append(row)
        made[item["item"]] = [id]
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _constants(folder / CONSTANTS, [one for row in rows for one in row["checklist"]])
    return made


def _id(item: Mapping[str, Any]) -> str:
    """As the release has it: the venue, a slash, the paper."""
    id, venue = str(item["item"]), str(item.get("venue") or "")
    return id if "/" in id or not venue else f"{re.sub(r'[^A-Za-z0-9._-]+', '_', venue)}/{id}"


def _constants(file: Path, questions: Sequence[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["always", "right", "of", "percent", "by chance"])
        for name, found in constants(questions).items():
            right = [round(found["right"] * found["n"]), int(found["n"])]
            table.writerow([name, *right, f"{100 * found['right']:.1f}", f"{100 * found['chance']:.1f}"])


def _question(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: row[name] for name in ChoiceQuestion.model_fields} | {"id": number}
    return told | {name: row[name] for name in KEPT if row.get(name)}
