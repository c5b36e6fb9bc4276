"""Markings under an older wording: told with their number and what the newest costs; the run goes on with either."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from limner.exams.genexam import GENEXAM
from limner.exams.wordings import wordings
from tests.cli.invoke import limner
from tests.exams.rewording import reworded
from tests.fakes import ChatServer
from tests.support import JUDGE, SmallExam, write_settings


@pytest.fixture
def words(small_exam: SmallExam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The exam, its painter and data."""
    monkeypatch.chdir(tmp_path)
    return ["genexam", "--painter", f"mine=folder/{small_exam.drawings}", "--data", str(small_exam.data)]


@pytest.fixture
def judged(words: list[str], tmp_path: Path, chat: ChatServer) -> list[str]:
    """All four drawings marked by a judge that costs something, in the first wording."""
    write_settings(tmp_path, chat.base_url)
    limner("run", *words, "--judge", JUDGE)
    return [*words, "--judge", JUDGE]


@pytest.fixture
def newer(judged: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The same, after the exam got a second wording."""
    monkeypatch.setattr("limner.exams.genexam.GENEXAM", reworded(GENEXAM, tmp_path / "newer", "mark-release"))
    return judged


def notes(said: Any) -> list[str]:
    return [line for line in said.err.splitlines() if "wording" in line]


@pytest.mark.slow
def test_a_run_tells_and_goes_on_with_the_newest(newer: list[str], chat: ChatServer) -> None:
    asked = chat.counts()["total"]
    (spent,) = limner("spend", "--by", "target", "--json").json()
    said = limner("run", *newer, "--json")
    (note,) = notes(said)
    told = rf"note: {JUDGE}: markings in the store under wording 1: 4; to make them again under wording 2 costs about "
    price = re.fullmatch(told + r"\$(\d+\.\d+); --wording 1 goes on with the older one", note)
    assert price is not None, note
    assert float(price[1]) == pytest.approx(spent["dollars"], rel=0.01, abs=1e-4)
    assert (said.json()["done"], chat.counts()["total"]) == (4, asked + 4)
    assert notes(limner("run", *newer)) == []


@pytest.mark.slow
def test_a_run_goes_on_with_the_older_one_where_it_is_chosen(newer: list[str], chat: ChatServer) -> None:
    asked = chat.counts()["total"]
    first = wordings(GENEXAM)[-1].hash(("mark-release", "reference-image", "shape"))
    for word in ("1", first[:6], first):
        said = limner("run", *newer, "--wording", word, "--json")
        assert (said.json()["done"], said.json()["stored"], notes(said)) == (0, 8, [])
    assert limner("mark", "genexam", "--judge", JUDGE, "--wording", "1", "--json").json()["stored"] == 8
    assert chat.counts()["total"] == asked
    wrong = limner("run", *newer, "--wording", "3", code=2)
    assert re.search(rf"genexam has no wording '3'; there is: 1 \({first}\), 2 \([0-9a-f]{{12}}\)", wrong.err)
    assert "; rules of the OCR examiner: labels-2, labels-3" in wrong.err


@pytest.mark.slow
def test_what_is_marked_under_both_is_not_told_again(newer: list[str]) -> None:
    limner("run", *newer, "--limit", "3")
    (note,) = notes(limner("run", *newer, "--dry-run"))
    assert "under wording 1: 1;" in note
    assert notes(limner("run", *newer, "--dry-run", "--limit", "3")) == []


@pytest.mark.slow
def test_estimate_and_mark_tell_it_too_and_call_nothing(newer: list[str], chat: ChatServer) -> None:
    asked = chat.counts()["total"]
    for command in (["estimate", *newer], ["mark", "genexam", "--judge", JUDGE, "--dry-run"]):
        assert len(notes(limner(*command))) == 1
    steps = limner("estimate", *newer, "--wording", "1", "--json").json()["steps"]
    assert [step["steps"] for step in steps if step["role"] == "judge"] == [0]
    assert chat.counts()["total"] == asked


@pytest.mark.slow
def test_only_markings_asked_for_alike_are_told(newer: list[str], tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "shape.md").write_text(GENEXAM.load_prompts().text("shape") + "\nMine.\n", "utf-8")
    for other in (["--judge-arg", "temperature=0"], ["--reference", "none"], ["--prompts", str(own)]):
        assert notes(limner("run", *newer, *other, "--dry-run")) == []
    # This variant's templates are in version 2 what they were.
    limner("run", *newer, "--variant", "paper", "--wording", "1")
    assert notes(limner("run", *newer, "--variant", "paper", "--dry-run")) == []


def test_a_price_that_nobody_knows(newer: list[str], tmp_path: Path, chat: ChatServer) -> None:
    write_settings(tmp_path, chat.base_url, priced=False)
    (note,) = notes(limner("run", *newer, "--dry-run"))
    assert "costs an unknown sum (add the price to limner.toml); --wording 1 goes on" in note


@pytest.mark.slow
def test_older_rules_of_the_ocr_examiner(words: list[str]) -> None:
    limner("run", *words, "--judge", "ocr", "--wording", "labels-2")
    said = limner("run", *words, "--judge", "ocr", "--wording", "labels-2", "--json")
    assert (said.json()["done"], notes(said)) == (0, [])
    (note,) = notes(limner("run", *words, "--judge", "ocr", "--limit", "2"))
    assert note == (
        "note: ocr: markings in the store under wording labels-2: 2; to make them again under wording labels-3 costs "
        "nothing; --wording labels-2 goes on with the older one"
    )
    assert "under wording labels-2: 2;" in notes(limner("run", *words, "--judge", "ocr", "--dry-run"))[0]
