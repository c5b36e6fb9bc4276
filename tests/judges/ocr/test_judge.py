"""The OCR examiner: its rules do not change without a new name, and it reads twice before anything is not met."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from limner.calls import digest
from limner.exams import kind, read, resolve
from limner.judges.ocr.examine import examine
from limner.judges.ocr.judge import RULES
from tests.cli.invoke import limner
from tests.judges.pages import apart, beside

# The rules, and the marks that they give to the samples' criteria, as a hash.
MARKED = ("labels-1", "edf8858035d3b370")
EXAMS = ("aibench", "fepbench", "genexam", "mmmg", "worldgenbench")


def sample_marks() -> list[list[object]]:
    """Return marks for some criteria of every sample: all their words read, half of them, and none."""
    found: list[list[object]] = []
    for exam in EXAMS:
        protocol = kind(exam).protocol
        for question in read(resolve(f"sample/{exam}")).questions[:4]:
            criteria = protocol.criteria(question)[:6]
            words = sorted({word.strip(",.?!:;'\"()") for one in criteria for word in one.text.split()} - {""})
            for lines in (apart(*words), beside(words[::2]), []):
                for mentions in (False, True):
                    marks = examine(criteria, lines, protocol.label_kinds, mentions, lines)
                    found += [[question.id, mark.criterion, mark.value, mark.verdict] for mark in marks]
    return found


@pytest.mark.slow
def test_no_rule_changes_without_a_new_version() -> None:
    marks = sample_marks()
    assert {value for *_, value, _ in marks} == {None, 0, 1}
    assert (RULES, digest(marks)[:16]) == MARKED, (
        "the OCR examiner marks differently: raise the number in RULES of judges/ocr/judge.py, and write both here"
    )


@pytest.mark.slow
def test_a_second_reading_is_made_only_before_not_met(tmp_path: Path) -> None:
    words = ("run", "sample/genexam", "--judge", "ocr", "--limit", "1", "--store", tmp_path, "--json")
    limner(*words, "--painter", "control/reference")
    assert readings(tmp_path) == (1, 0)
    limner(*words, "--painter", "control/blank")
    assert readings(tmp_path) == (2, 1)


def readings(store: Path) -> tuple[int, int]:
    """How many pictures were read, and how many of them twice."""
    with closing(sqlite3.connect(store / "limner.db")) as database:
        targets = [row[0] for row in database.execute("SELECT target FROM calls WHERE target LIKE 'ocr/%'")]
    again = sum(" again=" in target for target in targets)
    return len(targets) - again, again
