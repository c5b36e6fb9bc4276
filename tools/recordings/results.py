"""Writes marks as a benchmark's own scorer would, for `limner import`. WorldGenBench has no such results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.truth import RATINGS, draw

from tools.recordings.samples import checklist, criteria

RESULTS = "results"
"""The folder that is imported from."""
SCORER = "o3"
Rows = Sequence[Mapping[str, Any]]
"""Rows of `limner export`."""


def write_genexam(_sample: str, rows: Rows) -> None:
    """Write a file for each drawing."""
    for row in _marked(rows):
        marks = row["marks"]
        ratings = zip(RATINGS, ("spelling", "readability", "logic"), strict=True)
        _write(
            f"{row['id']}.json",
            {
                "id": row["id"],
                "answers": [{"reasoning": "", "answer": value} for name, value in marks.items() if "point/" in name],
                "global_evaluation": {long: {"reasoning": "", "score": marks[name]} for long, name in ratings},
            },
        )


def write_mmmg(sample: str, rows: Rows) -> None:
    """Write a file for each drawing, with a reply in free text."""
    for row in _marked(rows):
        texts = criteria(sample, row["id"])
        lines = [f"{texts[name]['text']}: {'yes' if value else 'no'}. Seen." for name, value in row["marks"].items()]
        _write(f"{row['tags']['level']}__{row['id']}__eval_by__{SCORER}.json", {SCORER: "\n".join(lines)})


def write_fepbench(_sample: str, rows: Rows) -> None:
    """Write a line for each drawing."""
    lines = []
    for row in _marked(rows):
        atoms: dict[str, dict[str, dict[str, Any]]] = {"visual": {}, "text": {}, "relation": {}}
        layout = {}
        for name, value in row["marks"].items():
            kind, atom, *flag = name.split("/")
            if kind == "layout":
                layout[atom] = value
            elif kind in atoms:
                atoms[kind].setdefault(atom, {"id": atom, "reason": "seen"})[flag[0]] = value
        verify = {kind: list(found.values()) for kind, found in atoms.items()} | {"layout": layout}
        extra = [{"modality": "text", "item": "Extra", "place": "top"}] * (draw("extra", row["id"]) < 0.5)
        lines.append({"id": row["id"], "verify": verify, "unexpected": {"unexpected": extra}})
    _write("verdicts.jsonl", *lines)


def write_aibench(_sample: str, rows: Rows) -> None:
    """Write a line for each drawing, with its rating."""
    lines = []
    for row in _marked(rows):
        marks = {int(name.rpartition("/")[2]): value for name, value in row["marks"].items()}
        details = [_detail(one, marks[one["id"]]) for one in checklist() if one["sample"] == row["id"]]
        rating = {"task": "aesthetic", "score": 40 + round(40 * draw("rating", row["id"]), 2)}
        lines.append({"prompt_id": row["id"], "steps": [{"task": "visual_qa", "details": details}, rating]})
    _write("records.jsonl", *lines)


def _detail(one: Mapping[str, Any], met: int) -> dict[str, Any]:
    right = one["correct_option"]
    said = right if met else "B" if right == "A" else "A"
    return {"qid": one["id"], "level": one["level"], "gt": right, "pred": said, "is_correct": bool(met)}


def _marked(rows: Rows) -> Rows:
    return [row for row in rows if row["status"] == "done" and row["repeat"] == 0]


def _write(name: str, *bodies: Mapping[str, Any]) -> None:
    path = Path(RESULTS) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), "utf-8")


WRITERS: Mapping[str, Callable[[str, Rows], None]] = {
    "genexam": write_genexam,
    "mmmg": write_mmmg,
    "fepbench": write_fepbench,
    "aibench": write_aibench,
}
