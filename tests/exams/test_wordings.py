"""Shipped wordings have versions: none changes without a new one, older ones stay, and each has one name for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import DataError, UsageError
from limner.core.evaluator import Evaluator, Which
from limner.core.prompts import Prompts
from limner.exams import Kind, kind
from limner.exams.genexam import GENEXAM
from limner.exams.wordings import LIST, choose, joined, versions, wording_name, wording_names, wordings
from limner.judges import make_variant
from tests.exams.rewording import listed, reworded, template_sets

NAMES = ("aibench", "fepbench", "genexam", "mmmg", "worldgenbench")
RELEASE = ("mark-release", "reference-image", "shape")
PAPER = ("mark-paper", "reference-image", "shape")


@pytest.fixture
def two(tmp_path: Path) -> Kind[Any]:
    """GenExam, with the template of the release's variant worded anew."""
    return reworded(GENEXAM, tmp_path, "mark-release")


def setup_of(exam: Kind[Any], variant: str | None = None, **how: Any) -> dict[str, Any]:
    way = make_variant(exam, variant, {}, **how)
    return {
        "judge": "x", "variant": way.name, "options": dict(way.options),
        "templates": way.prompts.hash(*exam.protocol.templates(way)),
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_shipped_template_changes_without_a_new_version(name: str) -> None:
    exam = kind(name)
    assert (exam.prompts / LIST).is_file()
    *older, newest = wordings(exam)
    now = {joined(names): Prompts(exam.prompts).hash(*names) for names in template_sets(exam)}
    add = listed(exam, newest.version + 1, exam.prompts)
    assert newest.hashes == now, (
        f"the wording of {name} has changed. Put the templates as they were into {exam.prompts}/v{newest.version}/ and "
        f"add to {exam.prompts / LIST}:\n\n{add}"
    )
    for wording in older:
        for names, hash in wording.hashes.items():
            assert Prompts(wording.folder).hash(*names.split()) == hash, f"{wording.folder}: {names}"


def test_a_changed_template_is_found(tmp_path: Path) -> None:
    changed = reworded(GENEXAM, tmp_path, "shape")
    (changed.prompts / LIST).write_text((GENEXAM.prompts / LIST).read_text("utf-8"), "utf-8")
    newest = wordings(changed)[-1]
    assert all(Prompts(changed.prompts).hash(*names.split()) != hash for names, hash in newest.hashes.items())


def test_a_wording_is_chosen_by_version_or_hash(two: Kind[Any]) -> None:
    first, second = wordings(two)
    assert (first.folder, second.folder) == (two.prompts / "v1", two.prompts)
    for wording in (first, second):
        for word in (str(wording.version), wording.hash(RELEASE), wording.hash(RELEASE)[:4].upper()):
            assert choose(two, word, RELEASE) is wording
    asked = {word: make_variant(two, None, {}, wording=word).prompts.text("mark-release") for word in ("1", "2")}
    assert asked["2"] == asked["1"] + "\nBe fair.\n" == make_variant(two, None, {}).prompts.text("mark-release")
    assert asked["1"] == GENEXAM.load_prompts().text("mark-release")


def test_what_an_own_folder_lacks_comes_from_the_wording_chosen(two: Kind[Any], tmp_path: Path) -> None:
    (tmp_path / "shape.md").write_text("Mine. {{count}}", "utf-8")
    prompts = make_variant(two, None, {}, tmp_path, "1").prompts
    assert prompts.text("shape") == "Mine. {{count}}"
    assert prompts.text("mark-release") == GENEXAM.load_prompts().text("mark-release")


@pytest.mark.slow
@given(st.text(max_size=14))
def test_a_word_is_a_wording_or_is_refused(word: str) -> None:
    there = wordings(GENEXAM)
    meant = [
        one
        for one in there
        if word == str(one.version) or (len(word) >= 4 and one.hash(RELEASE).startswith(word.lower()))
    ]
    if meant:
        assert [choose(GENEXAM, word, RELEASE)] == meant
    else:
        with pytest.raises(UsageError, match=r"genexam has no wording .*; there is: 1 \(5680db6d6f7e\), 2 \("):
            choose(GENEXAM, word, RELEASE)


def test_every_wording_has_one_name(two: Kind[Any], tmp_path: Path) -> None:
    assert wording_name(two, setup_of(two)) == "2"
    assert wording_name(two, setup_of(two, wording="1")) == "1"
    assert setup_of(two, wording="1") == setup_of(GENEXAM)
    assert [wording_name(GENEXAM, setup_of(GENEXAM, wording=word)) for word in ("1", "2")] == ["1", "2"]
    # Version 2 words this variant as version 1 does.
    paper = setup_of(two, "paper")
    assert (wording_name(two, paper), versions(two, paper)) == ("1", (1, 2))
    (tmp_path / "shape.md").write_text("Mine. {{count}}", "utf-8")
    own = setup_of(two, prompts=tmp_path)
    assert wording_name(two, own) == f"own {own['templates'][:4]}"
    assert wording_name(two, {"judge": "ocr", "rules": "labels-2", "variant": "labels"}) == "labels-2"
    assert wording_name(two, {"judge": "x", "variant": "imported", "options": {}, "origin": "import"}) is None


def is_worded(kind: Kind[Any], setup: dict[str, Any], word: str) -> bool:
    """Whether ``--wording`` finds it."""
    return bool(Which(wording=word).among([Evaluator("id", setup, worded=wording_names(kind, setup))]))


def test_ways_of_asking_are_found_by_their_wording(two: Kind[Any]) -> None:
    first, second, paper = setup_of(two, wording="1"), setup_of(two), setup_of(two, "paper")
    assert [is_worded(two, way, "1") for way in (first, second, paper)] == [True, False, True]
    assert [is_worded(two, way, "2") for way in (first, second, paper)] == [False, True, True]
    assert [is_worded(two, way, second["templates"][:5]) for way in (first, second, paper)] == [False, True, False]
    assert is_worded(two, {"rules": "labels-2"}, "labels-2")
    assert not is_worded(two, {"variant": "imported"}, "1")


def test_an_exam_without_a_list_has_one_wording(two: Kind[Any], tmp_path: Path) -> None:
    (two.prompts / LIST).unlink()
    (only,) = wordings(two)
    assert (only.version, only.date, only.folder) == (1, None, two.prompts)
    assert wording_name(two, setup_of(two)) == "1"
    (tmp_path / "shape.md").write_text("Mine. {{count}}", "utf-8")
    assert str(wording_name(two, setup_of(two, prompts=tmp_path))).startswith("own ")
    assert wording_name(two, {"templates": "0123456789ab", "variant": "gone", "options": {}}) == "own 0123"


@pytest.mark.parametrize(
    "text",
    ["", "version = 3", "[[version]]\nnumber = 1\n", "[[version]]\nnumber = 2\ndate = 2026-01-01\nhashes = {}\n", "]"],
)
def test_a_broken_list_is_an_error_of_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / LIST).write_text(text, "utf-8")
    with pytest.raises(DataError, match=LIST):
        wordings(replace(GENEXAM, prompts=tmp_path))
