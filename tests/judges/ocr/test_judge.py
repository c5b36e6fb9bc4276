"""The OCR examiner's rules have versions: none changes without a new name, and older ones still mark."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from limner.calls import digest
from limner.core.errors import UsageError
from limner.core.evidence import TextLine
from limner.core.marks import Criterion, Mark
from limner.evidence.probe import OcrProbe
from limner.exams import kind, read, resolve
from limner.exams.genexam import GENEXAM
from limner.judges import OcrJudge, split_wording
from limner.judges.ocr.judge import RULES, choose_rules
from limner.store import Blobs
from tests.cli.invoke import limner
from tests.judges.pages import apart, beside

# The marks that each version gives to the samples' criteria, as a hash.
MARKED = {"labels-2": "1f9d4f8e80d3857d", "labels-3": "edf8858035d3b370"}
EXAMS = ("aibench", "fepbench", "genexam", "mmmg", "worldgenbench")


def marks_by(name: str) -> list[list[object]]:
    """Marks of these rules for some criteria of every sample: all their words read, half of them, and none."""
    _, examine = choose_rules(name)
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
    marks = {name: marks_by(name) for name in RULES}
    for given in marks.values():
        assert {value for *_, value, _ in given} == {None, 0, 1}
    assert {name: digest(given)[:16] for name, given in marks.items()} == MARKED, (
        "the OCR examiner marks differently: keep the code of the old rules, add the new ones to "
        "judges/ocr/judge.py under a name of their own, and their hash here"
    )


def all_met(
    criteria: Sequence[Criterion],
    _lines: Sequence[TextLine],
    _kinds: frozenset[str],
    _mentions: bool = False,
    _second: Sequence[TextLine] | None = None,
) -> list[Mark]:
    return [Mark(criterion.id, criterion.top) for criterion in criteria]


def test_an_older_version_can_still_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "labels-4", all_met)
    assert choose_rules() == ("labels-4", all_met)
    assert choose_rules("labels-2")[1] is not all_met
    blobs, probe = Blobs("nowhere"), OcrProbe()
    found = [OcrJudge(GENEXAM.protocol, blobs, probe, rules=rules).setup for rules in (None, "labels-4", "labels-2")]
    assert [setup["rules"] for setup in found] == ["labels-4", "labels-4", "labels-2"]


def test_rules_that_are_not_there() -> None:
    with pytest.raises(UsageError, match=r"no rules 'labels-9'; there is: labels-2, labels-3"):
        choose_rules("labels-9")


def test_words_choose_a_wording_and_rules() -> None:
    assert split_wording(()) == (None, None)
    assert split_wording(("1",)) == ("1", None)
    assert split_wording(("labels-2", "5680")) == ("5680", "labels-2")
    with pytest.raises(UsageError, match="--wording 1 and --wording 2: choose one"):
        split_wording(("1", "labels-2", "2"))


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
