"""The shipped figures of GenExam agree with themselves, with their counts, and with the scale of our scores."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import limner
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.data import read
from tests.needs import shared

FOLDER = Path(limner.__file__).parent / "exams"
EXCEPTION = ("Emu3", "relaxed")
"""Its printed overall is the plain mean of the subjects, where all others weigh them by their questions."""
ROUNDING = 0.05
"""A figure printed with one decimal lies at most this far from what was printed."""


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / "genexam" / "paper" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def counts(breakdown: str) -> dict[str, int]:
    return {row["category"]: int(row["count"]) for row in rows("counts.csv") if row["breakdown"] == breakdown}


def table2() -> dict[tuple[str, str], dict[str, float]]:
    """Model and metric -> subject (or ``Overall``) -> figure."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows("published.csv"):
        if row["table"] == "Table 2":
            found.setdefault((row["model"], row["metric"]), {})[row["category"]] = float(row["value"])
    return found


TABLE, SUBJECTS = table2(), counts("subject")
each_row = pytest.mark.parametrize(("model", "metric"), sorted(TABLE), ids=[" ".join(key) for key in sorted(TABLE)])


def weighted(row: dict[str, float]) -> float:
    return sum(row[subject] * count for subject, count in SUBJECTS.items()) / sum(SUBJECTS.values())


def test_all_of_table_2_is_there() -> None:
    assert len(TABLE) == 19 * 2
    assert {metric for _, metric in TABLE} == {"strict", "relaxed"}
    assert all(set(row) == {*SUBJECTS, "Overall"} for row in TABLE.values())


@each_row
def test_subjects_recombine_to_the_overall(model: str, metric: str) -> None:
    """Rounding moves the weighted mean of the subjects by at most one rounding, and the printed overall by another."""
    row = TABLE[model, metric]
    agrees = abs(weighted(row) - row["Overall"]) <= 2 * ROUNDING + 1e-9
    assert agrees != ((model, metric) == EXCEPTION)


def test_the_exception_is_a_plain_mean() -> None:
    row = TABLE[EXCEPTION]
    plain = sum(row[subject] for subject in SUBJECTS) / len(SUBJECTS)
    assert row["Overall"] == 8.8
    assert abs(plain - row["Overall"]) <= ROUNDING
    assert weighted(row) == pytest.approx(8.131, abs=5e-4)


def test_strict_scores_are_whole_numbers_of_drawings() -> None:
    """So the figures are percentages of drawings, as our strict score is."""
    strict = next(score for score in GENEXAM.protocol.scored if score.name == "strict")
    odd = {
        (model, subject)
        for (model, metric), row in TABLE.items()
        for subject, count in SUBJECTS.items()
        if metric == "strict"
        and all(abs(k / count * strict.top - row[subject]) > ROUNDING + 1e-9 for k in range(count + 1))
    }
    mixed = {"Biology", "Geography", "Computer Science", "Engineering"}
    assert odd == {("FLUX.2 max", "Biology")} | {("GPT-Image-1", subject) for subject in mixed}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("breakdown", "tag"), [("subject", "subject"), ("difficulty", "difficulty"), ("image_type", "img_type")]
)
def test_counts_are_those_of_the_annotations(breakdown: str, tag: str) -> None:
    exam = read(shared("data", "genexam"))
    found = Counter(question.tags[tag] for question in exam.questions)
    printed = {name.lower().replace("&", "and"): count for name, count in counts(breakdown).items()}
    assert {name.lower().replace("_", " "): count for name, count in found.items()} == printed


def test_the_mini_subset_has_its_count() -> None:
    exam = read(shared("data", "genexam"))
    assert len(exam.subsets["mini"]) == counts("subset")["GenExam-Mini"] == 250


def test_the_counts_sum_up() -> None:
    assert [sum(counts(kind).values()) for kind in ("subject", "difficulty", "image_type")] == [1000, 1000, 1000]
