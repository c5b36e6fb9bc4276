"""The OCR examiner on FEPBench: held against labels given by hand to three drawings of every figure."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tools.samples.fepbench.draw import DRAWINGS, IMAGES

from limner.core.evidence import TextLine
from limner.core.exam import Question
from limner.evidence.ocr import RapidOcr
from limner.exams.fepbench import FEPBENCH
from limner.exams.fepbench.data import read
from limner.judges.ocr.judge import examine
from limner.painters.controls import images
from tests.exams.fepbench.altered import INSTEAD, altered

pytestmark = pytest.mark.slow

PROTOCOL = FEPBENCH.protocol
Key = tuple[str, str, str]


def by_hand() -> dict[str, dict[Key, int]]:
    """Drawing -> sample, atom and part -> what a person saw."""
    found: dict[str, dict[Key, int]] = {}
    with (Path(__file__).parent / "labels.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for part in ("exact", "readable"):
                found.setdefault(row["drawing"], {})[row["sample"], row["atom"], part] = int(row[part])
    return found


TRUTH = by_hand()
QUESTIONS: dict[str, Question[Any]] = {
    question.tags["sample"]: question
    for question in read(IMAGES.parent).questions
    if question.tags["sample"] in {sample for sample, *_ in TRUTH["reference"]}
}


@pytest.fixture(scope="module")
def text() -> Callable[[str, str], list[TextLine]]:
    """The lines read in a drawing of a sample, each read once."""
    engine = RapidOcr()

    @cache
    def lines(drawing: str, sample: str) -> list[TextLine]:
        reference = Image.open(IMAGES / f"{sample}.png").convert("RGB")
        if drawing == "altered":
            return engine.read(altered(sample))
        if drawing == "swapped":
            # As control/swapped draws the free-form question.
            seed = int.from_bytes(hashlib.sha256(f"{sample}/free".encode()).digest()[:4])
            swapped = images.swap(reference, lines("reference", sample), seed)
            assert swapped is not None
            return engine.read(swapped[0])
        return engine.read(reference)

    return lines


def judged(drawing: str, text: Callable[[str, str], list[TextLine]]) -> tuple[list[tuple[int, int]], float]:
    """Mark and truth of everything decided; the share of text flags (all but attachment) that was decided."""
    pairs, flags = [], 0
    for sample, question in QUESTIONS.items():
        criteria = PROTOCOL.criteria(question)
        lines = text(drawing, sample)
        for mark in examine(criteria, lines, PROTOCOL.label_kinds, False, lines):
            _, *path = mark.criterion.split("/")
            if (sample, *path) not in TRUTH[drawing]:
                assert mark.value is None, mark
                continue
            flags += 1
            if mark.value is not None:
                pairs.append((mark.value, TRUTH[drawing][sample, path[0], path[1]]))
    return pairs, len(pairs) / flags


def test_labels_match_sample() -> None:
    atoms = {(sample, atom.id) for sample, question in QUESTIONS.items() for atom in question.rubric.text}
    for drawing in ("reference", "swapped", "altered"):
        assert {key[:2] for key in TRUTH[drawing]} == atoms
    wrong = {(s, a) for (s, a, part), value in TRUTH["altered"].items() if not value and part == "exact"}
    texts = {(s, a.id): a.text for s, q in QUESTIONS.items() for a in q.rubric.text}
    assert {texts[key] for key in wrong} == set(INSTEAD)
    assert set(DRAWINGS) >= set(QUESTIONS)


@pytest.mark.parametrize(
    ("drawing", "least"),
    [
        ("reference", 0.85),
        ("altered", 0.5),
        pytest.param("swapped", 0.8, marks=pytest.mark.slow),
    ],
)
def test_examiner_decisions_are_correct(drawing: str, least: float, text: Callable[[str, str], list[TextLine]]) -> None:
    pairs, share = judged(drawing, text)
    yes = [truth for mark, truth in pairs if mark == 1]
    no = [truth for mark, truth in pairs if mark == 0]
    assert len(yes) >= 50
    assert sum(yes) / len(yes) >= 0.95
    assert sum(no) <= 0.05 * max(1, len(no))
    assert share >= least


def test_blank_drawing_gives_no_positive_marks() -> None:
    marks = [m for q in QUESTIONS.values() for m in examine(PROTOCOL.criteria(q), [], PROTOCOL.label_kinds, False, [])]
    assert not any(mark.value == 1 for mark in marks)
    assert any(mark.value == 0 for mark in marks)
