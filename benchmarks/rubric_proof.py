"""How many bad criteria does the proof of a rubric find, and how many good ones does it accuse?

    python -m benchmarks.rubric_proof FOLDER [--questions 10] [--store DIR] [--half tune|report]

FOLDER holds GenExam's released data. Into the rubric of each question one bad criterion of each kind is planted, and
`limner exam prove` runs with the OCR examiner. Questions are halved by the hash of their ids, bad criteria by their
places in `tests/certify/planted.toml`: rules were set on the first half, figures are those of the second.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limner.build.criterion_words import criterion_faults
from limner.calls import Calls
from limner.certify.examine import open_judge_exam
from limner.certify.proof import MARKS, CriterionProof, open_proof
from limner.evidence.probe import OcrProbe
from limner.running.setup import Asking
from limner.store import Store

ROOT = Path(__file__).resolve().parents[1]
PLANTED = ROOT / "tests" / "certify" / "planted.toml"
HALVES = ("tune", "report")
DATA = Path("annotations") / "All_Subjects.jsonl"


def planted(half: int) -> dict[str, list[str]]:
    """By kind, the bad criteria of one half."""
    table = tomllib.loads(PLANTED.read_text("utf-8"))
    return {kind: body["texts"][half::2] for kind, body in table.items()}


def rows_of(folder: Path, half: int) -> Iterator[dict[str, Any]]:
    """The questions of one half, in the order of their hashes."""
    rows = [json.loads(line) for line in (folder / DATA).read_text("utf-8").splitlines()]
    order = {row["id"]: int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) for row in rows}
    for row in sorted(rows, key=lambda row: order[row["id"]]):
        if order[row["id"]] % 2 == half:
            yield row


def labels(store: Store, image: Path) -> list[str]:
    """Words that were read in a reference."""

    async def read() -> list[str]:
        async with Calls(store) as calls:
            return [line.text for line in (await OcrProbe().measure(image.read_bytes(), calls)).lines]

    found = [text for text in asyncio.run(read()) if len(text) >= 4 and text.replace(" ", "").isalpha()]
    return list(dict.fromkeys(found))


def plant(folder: Path, target: Path, store: Store, half: int, count: int) -> dict[tuple[str, str], str]:
    """Write an exam with bad criteria; question and criterion -> the kind of each."""
    bad, where, written = planted(half), dict[tuple[str, str], str](), list[str]()
    for row in rows_of(folder, half):
        picture = folder / "images" / row["image_path"]
        if not picture.exists() or len(words := labels(store, picture)) < 2:
            continue
        n, points = len(written), list(row["scoring_points"])
        for kind, texts in bad.items():
            text = texts[n % len(texts)].format(label=words[0], other=words[1])
            points.append({"question": text})
            where[row["id"], f"point/{len(points)}"] = kind
        share = round(1 / len(points), 6)
        points = [{**point, "score": share} for point in points]
        points[-1]["score"] = round(1 - share * (len(points) - 1), 6)
        copy = target / "images" / row["image_path"]
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(picture.read_bytes())
        written.append(json.dumps({**row, "scoring_points": points}))
        if len(written) == count:
            break
    (target / DATA).parent.mkdir(parents=True, exist_ok=True)
    (target / DATA).write_text("\n".join(written) + "\n", "utf-8")
    return where


def measure(folder: Path, half: int, count: int, store: Store) -> None:
    """Print what is found of what was planted, and what else is accused."""
    with tempfile.TemporaryDirectory() as place:
        where = plant(folder, Path(place), store, half, count)
        found = open_judge_exam("ocr", "genexam", store, Asking(), Path(place))
        proof, _ = open_proof(found).prove(lambda _, criterion: criterion_faults(criterion.text))
    print(f"{HALVES[half]}: {len(proof.passes)} questions, {len(where)} planted")
    for kind in dict.fromkeys(where.values()):
        here = [one for one in proof.criteria if where.get((one.question, one.criterion)) == kind]
        right = sum(any(reason.kind == kind for reason in one.reasons) for one in here)
        print(f"  {kind}: found {_count(here)} of {len(here)}, by its kind {right}, by marks {_by_marks(here)}")
    bad = [one for one in proof.criteria if (one.question, one.criterion) in where]
    good = [one for one in proof.criteria if (one.question, one.criterion) not in where and not one.shared]
    print(f"  recall {_count(bad)} of {len(bad)}")
    print(f"  false alarms {_count(good)} of {len(good)}, by marks {_by_marks(good)}")
    print("  reasons", dict(Counter(reason.kind for one in good for reason in one.reasons)))
    print("  verdicts", dict(Counter(one.verdict for one in good)))
    for one in good:
        for reason in one.reasons:
            if reason.by == MARKS:
                print(f"  accused by marks: {one.question} {one.criterion}: {one.text} | {reason.detail}")
    passing = {kind: Counter(words.get(kind) for words in proof.passes.values()) for kind in ("clean", "blank", "text")}
    print("  pictures", {kind: dict(counted) for kind, counted in passing.items()})


def _count(some: list[CriterionProof]) -> int:
    return sum(one.verdict == "mend" for one in some)


def _by_marks(some: list[CriterionProof]) -> int:
    return sum(any(reason.by == MARKS for reason in one.reasons) for one in some)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--half", choices=HALVES)
    given = parser.parse_args()
    for half, name in enumerate(HALVES):
        if given.half in (None, name):
            with tempfile.TemporaryDirectory() as place, Store((given.store or Path(place)) / name) as store:
                measure(given.folder, half, given.questions, store)


if __name__ == "__main__":
    main()
