"""A site is built in little memory: what is kept does not grow with the words of drawings and marks."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from limner.report.site import build
from limner.report.site.judge_data import JudgeData
from limner.scoring import Entry
from limner.store import Store
from tests.tables import synthetic

PAINTERS, QUESTIONS = 3, 40


def filled(folder: Path) -> Path:
    """A store in which every mark has a reason."""
    with Store(folder) as store:
        synthetic.fill(store, "genexam", painters=PAINTERS, questions=QUESTIONS, images=False, faults=False)
    return folder


def alive() -> list[Entry]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Entry]


def with_reasons() -> int:
    return sum(any(mark.reason for mark in entry.marks) for entry in alive())


def test_of_reasons_no_more_than_a_few_questions_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.report.site.judge_data.AT_ONCE", 10)
    most, add, store = list[int](), JudgeData._entry, filled(tmp_path / "store")
    before = with_reasons()  # Of other tests in the same process.

    def watched(self: JudgeData, *given: Any) -> None:
        add(self, *given)
        if given[1].number % 40 == 0:
            most.append(with_reasons() - before)

    monkeypatch.setattr(JudgeData, "_entry", watched)
    build(tmp_path / "site", store=store)
    assert len(most) > 2
    assert 0 < max(most) <= 10 + 2 * PAINTERS
