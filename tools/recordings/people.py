"""A study in which three people mark some drawings: they say what the first judge says, but for errors of their own."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cli.invoke import limner
from tests.fakes.truth import draw

from tools.recordings.samples import criteria

STUDY, PEOPLE = "pilot", {"anna": 0.03, "ben": 0.1, "cleo": 0.2}
"""The study's name; rater -> how often they differ from the judge."""
DESIGN = """title = "Every criterion of some drawings"
unit = "drawing"
raters = 3
instructions = "Answer by what you see."
[sample]
of = "drawings"
painters = 3
size = 7
[[form]]
kind = "criteria"
criteria = ["*"]
"""
UNSEEN = "does not contain this drawing or pair"
"""What is said of a drawing that is not in the study's sample."""


def answer_study(sample: str, judge: str) -> dict[str, int]:
    """Make the study in the working folder's store and import answers; return how many drawings have some."""
    Path("all.toml").write_text(DESIGN, "utf-8")
    raters = [word for name in PEOPLE for word in ("--rater", name)]
    painters = ("--painter", "quill", "--painter", "brush")
    limner("study", "new", STUDY, "--exam", sample, "--design", "all.toml", *painters, *raters)
    counts = {"in": 0, "out": 0}
    for row in limner("export", sample, *painters, "--judge", judge).lines():
        if row["status"] != "done" or row["repeat"]:
            continue
        # Which drawings the sample has is not said to anybody: each drawing is tried.
        said = limner("study", "import", STUDY, "--file", _write(sample, row), code=None)
        if said.code and UNSEEN not in said.err:
            raise RuntimeError(f"{sample} {row['id']}: {said.out}{said.err}")
        counts["out" if said.code else "in"] += 1
    return counts


def _write(sample: str, row: Mapping[str, Any]) -> Path:
    path = Path("answers.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        names = ("rater", "exam", "id", "painter", "strategy", "seed", "criterion", "value", "reason", "seconds")
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(_answers(sample, row))
    return path


def _answers(sample: str, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tops = {name: one["top"] for name, one in criteria(sample, row["id"]).items()}
    slot = {"exam": sample, "seconds": 20, **{name: row[name] for name in ("id", "painter", "strategy", "seed")}}
    for rater, error in PEOPLE.items():
        for name, top in tops.items():
            value = row["marks"][name]
            if draw(rater, row["id"], row["painter"], row["strategy"], name) < error:
                value = (value + 1) % (top + 1)
            yield slot | {"rater": rater, "criterion": name, "value": value}
