"""Generated GenExam verdicts, and what the released scorer makes of them, computed here a second time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parents[2] / "src" / "limner" / "exams" / "genexam" / "sample"
NAMES = {"spelling": "Spelling", "readability": "Clarity and Readability", "logic": "Logical Consistency"}


def released_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a data folder, read without Limner."""
    text = (folder / "annotations" / "All_Subjects.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@dataclass(frozen=True)
class Verdict:
    """A judge's answers to one annotation's points, and its three ratings."""

    row: Mapping[str, Any]
    answers: tuple[int, ...]
    ratings: Mapping[str, int]

    @cached_property
    def semantic(self) -> float:
        weights: list[float] = [point["score"] for point in self.row["scoring_points"]]
        return round(sum(weight for weight, answer in zip(weights, self.answers, strict=True) if answer == 1), 4)

    @cached_property
    def strict(self) -> int:
        return int(all(answer == 1 for answer in self.answers) and all(two == 2 for two in self.ratings.values()))

    @cached_property
    def relaxed(self) -> float:
        spelling, readability, logic = (self.ratings[name] for name in ("spelling", "readability", "logic"))
        # In the released scorer's order: where a sum ends in a five, its last bits decide the third decimal.
        return round(self.semantic * 0.7 + spelling * 0.1 / 2 + readability * 0.1 / 2 + logic * 0.1 / 2, 3)

    def reply(self, names: Mapping[str, str] = NAMES) -> dict[str, Any]:
        """The judge's reply."""
        return {
            "description": f"A drawing of {self.row['id']}: “{self.row['prompt'][:20]}…”",
            "answers": [{"reasoning": f"point {n}", "answer": a} for n, a in enumerate(self.answers, 1)],
            "global_evaluation": {names[k]: {"reasoning": "seen", "score": v} for k, v in self.ratings.items()},
        }

    def result(self) -> dict[str, Any]:
        """What the released scorer writes for this sample: the reply beside the annotation's fields."""
        kept = {key: value for key, value in self.row.items() if key != "image_path"}
        paths = {"gen_img_path": f"gen/{self.row['id']}.png", "gt_img_path": f"images/{self.row['image_path']}"}
        return {**self.reply(), **kept, **paths}


def verdicts(rows: Iterable[Mapping[str, Any]], seed: int) -> list[Verdict]:
    """One verdict per row from a painter of some skill; every fifth painter is perfect in most of what it draws."""
    chance = random.Random(seed)
    skill = 0.97 if seed % 5 == 0 else chance.random()
    found = []
    for row in rows:
        answers = tuple(int(chance.random() < skill) for _ in row["scoring_points"])
        ratings = {name: 2 if chance.random() < skill else chance.randrange(3) for name in NAMES}
        found.append(Verdict(row, answers, ratings))
    return found


@dataclass(frozen=True)
class Mean:
    """A mean in percent, exactly, and as a float computation prints it to one decimal."""

    exact: Fraction
    printed: str

    def agrees(self, value: float) -> bool:
        """The same number, and the same digits unless the mean ends in a five that one decimal cannot hold."""
        tie = (self.exact * 20).denominator == 1 and (self.exact * 20).numerator % 2 == 1
        return abs(value - self.exact) < 1e-9 and (tie or f"{value:.1f}" == self.printed)


def means(found: Sequence[Verdict]) -> dict[str, Mean]:
    """Strict and relaxed over some verdicts, in percent."""
    count = len(found)
    strict, relaxed = sum(one.strict for one in found), sum(one.relaxed for one in found)
    thousandths = sum(round(one.relaxed * 1000) for one in found)
    return {
        "strict": Mean(Fraction(strict * 100, count), f"{strict / count * 100:.1f}"),
        "relaxed": Mean(Fraction(thousandths, count * 10), f"{relaxed / count * 100:.1f}"),
    }


def by_subject(found: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    subjects: dict[str, list[Verdict]] = {}
    for one in found:
        subjects.setdefault(one.row["subject"], []).append(one)
    return subjects


def write_results(folder: Path, found: Iterable[Verdict]) -> Path:
    """One JSON file per sample, as the released scorer leaves them."""
    folder.mkdir(parents=True)
    for one in found:
        (folder / f"{one.row['id']}.json").write_text(json.dumps(one.result(), ensure_ascii=False), "utf-8")
    return folder


def write_replay(path: Path, sets: Mapping[str, Iterable[Verdict]]) -> Path:
    """A file for `replay/FILE`: every painter's verdicts, as objects and as text in a fence by turns."""
    with path.open("w", encoding="utf-8") as file:
        for painter, found in sets.items():
            for n, one in enumerate(found):
                body = one.reply()
                reply = f"```json\n{json.dumps(body, ensure_ascii=False)}\n```" if n % 2 else body
                file.write(json.dumps({"id": one.row["id"], "painter": painter, "reply": reply}) + "\n")
    return path
