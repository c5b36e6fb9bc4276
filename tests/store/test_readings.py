"""What a data folder came to is known again while every byte of it is as it was, and not a moment longer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limner import exams
from limner.core import spool
from limner.core.errors import StoreError
from limner.core.exam import Exam, Selection
from limner.core.spool import SpooledQuestions
from limner.exams.genexam.data import ScoringPointsRubric
from limner.exams.reader_id import reader_id
from limner.store import Store
from limner.store.readings import read_before
from limner.store.records import add_exam
from limner.store.schema import questions
from tests.support import SmallExam, picture

BY = reader_id(exams.kind("genexam").read)


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than two questions lie in a file."""
    monkeypatch.setattr(spool, "HELD", 2)


def read(small: SmallExam) -> Exam[Any]:
    return exams.read(exams.resolve("genexam", small.data))


def again(store: Store, small: SmallExam, by: str = BY) -> Exam[Any] | None:
    return read_before(store, "genexam", "genexam", ScoringPointsRubric, small.data, by)


def rows_file(small: SmallExam) -> Path:
    return small.data / "annotations" / "All_Subjects.jsonl"


def reference(small: SmallExam, number: int) -> Path:
    return small.data / "images" / str(small.rows[number]["image_path"])


def test_the_same_exam_comes_from_the_store(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    assert again(store, small) is None
    whole = read(small)
    add_exam(store, whole)
    found = again(store, small)
    assert found is not None
    assert (found.subsets, found.notes) == (whole.subsets, whole.notes)
    for number, (one, wanted) in enumerate(zip(found.questions, whole.questions, strict=True)):
        assert (one.to_json(), one.hash) == (wanted.to_json(), wanted.hash)
        assert one.reference is not None
        assert wanted.reference is not None
        assert one.reference == replace(wanted.reference, known_sha256=wanted.reference.sha256)
        assert one.reference.read() == picture(number, size=(16, 8))


@pytest.mark.parametrize(
    "selection",
    [
        Selection(limit=3),
        Selection(ids=("Biology_3", "Physics_1", "Biology_0")),
        Selection(subset="mini"),
        Selection(where=(("subject", "Biology"),)),
        Selection(where=(("subject", "biology"), ("difficulty", "easy")), limit=2),
        Selection(sample=4, sample_seed=2),
        Selection(ids=("Biology_3", "Physics_1", "Biology_0"), sample=2),
    ],
)
def test_what_is_chosen_is_the_same(
    selection: Selection, store: Store, make_exam: Callable[[int], SmallExam], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_exam(12)
    ids = {row["subject"]: row["id"] for row in small.rows}
    if selection.ids is not None:
        selection = replace(selection, ids=tuple(sorted(ids.values(), reverse=True)[:3]))
    whole = read(small)
    add_exam(store, whole)
    found = again(store, small)
    assert found is not None
    wanted, chosen = (one.select(selection, ("subject",)) for one in (whole, found))
    assert [q.id for q in chosen.questions] == [q.id for q in wanted.questions]
    assert [q.hash for q in chosen.questions] == [q.hash for q in wanted.questions]
    monkeypatch.setattr(spool, "HELD", 500)
    assert [q.id for q in read(small).select(selection, ("subject",)).questions] == [q.id for q in wanted.questions]


def test_questions_are_found_by_id_and_fetched_in_blocks(
    store: Store, make_exam: Callable[[int], SmallExam], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_exam(9)
    add_exam(store, read(small))
    monkeypatch.setattr("limner.store.stored_questions.BLOCK", 2)
    found = again(store, small)
    assert found is not None
    assert isinstance(found.questions, SpooledQuestions)
    fetched: list[int] = []
    rows = store.rows

    def counted(query: Any, column: Any, values: Any) -> Any:
        fetched.append(len(values))
        return rows(query, column, values)

    monkeypatch.setattr(store, "rows", counted)
    assert (one := found.find(small.ids[5])) is not None
    assert (one.id, found.find("none"), fetched) == (small.ids[5], None, [2])
    assert [found.questions[n].id for n in (4, 8, 5, 0)] == [small.ids[n] for n in (4, 8, 5, 0)]
    assert fetched == [2, 1, 2]


def change_annotation(small: SmallExam) -> None:
    text = rows_file(small).read_text("utf-8")
    rows_file(small).write_text(text.replace("Draw", "draw", 1), "utf-8")


def change_reference(small: SmallExam) -> None:
    data = bytearray(reference(small, 7).read_bytes())
    data[-1] ^= 1
    reference(small, 7).write_bytes(data)


CHANGES: dict[str, Callable[[SmallExam], Any]] = {
    "an annotation": change_annotation,
    "a reference": change_reference,
    "a reference that is gone": lambda small: reference(small, 3).unlink(),
    "the subset": lambda small: (small.data / "mini_sample_ids.txt").write_text(small.ids[3]),
    "the subset is gone": lambda small: (small.data / "mini_sample_ids.txt").unlink(),
    "everything is gone": lambda small: os.rename(small.data, f"{small.data}-away"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_noticed_whatever_its_time_and_size(
    change: str, store: Store, make_exam: Callable[[int], SmallExam]
) -> None:
    small = make_exam(9)
    before = {file: file.stat() for file in small.data.rglob("*") if file.is_file()}
    add_exam(store, read(small))
    assert again(store, small) is not None
    CHANGES[change](small)
    for file, seen in before.items():
        if file.exists():
            os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
            assert "subset" in change or file.stat().st_size == seen.st_size
    assert again(store, small) is None


def test_a_reference_that_was_absent_is_noticed_when_it_comes(
    store: Store, make_exam: Callable[[int], SmallExam]
) -> None:
    small = make_exam(9)
    picture_of_two = reference(small, 2).read_bytes()
    reference(small, 2).unlink()
    add_exam(store, read(small))
    found = again(store, small)
    assert found is not None
    assert found.notes == read(small).notes
    assert found.questions[2].reference is not None
    assert found.questions[2].reference.sha256 is None
    reference(small, 2).write_bytes(picture_of_two)
    assert again(store, small) is None


def test_another_reader_reads_for_itself(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    add_exam(store, read(small))
    assert again(store, small, "another") is None
    assert read_before(store, "genexam", "mmmg", ScoringPointsRubric, small.data, BY) is None
    assert read_before(store, "other", "genexam", ScoringPointsRubric, small.data, BY) is None


def test_the_data_may_move(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    add_exam(store, read(small))
    moved = replace(small, data=small.data.rename(small.data.parent / "moved"))
    found = again(store, moved)
    assert found is not None
    assert found.questions[4].reference is not None
    assert found.questions[4].reference.path == reference(moved, 4)


def test_only_the_questions_of_the_data_come_back(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    add_exam(store, read(small))
    lines = rows_file(small).read_text("utf-8").splitlines(keepends=True)
    changed = json.dumps(json.loads(lines[4]) | {"prompt": "Draw it otherwise."}) + "\n"
    rows_file(small).write_text("".join([changed, *reversed(lines[5:]), *lines[:4]]), "utf-8")
    (small.data / "mini_sample_ids.txt").write_text(small.ids[8], "utf-8")
    whole = read(small)
    add_exam(store, whole)
    found = again(store, small)
    assert found is not None
    assert [q.hash for q in found.questions] == [q.hash for q in whole.questions]
    assert found.subsets == {"mini": frozenset({small.ids[8]})}
    assert (one := found.find(small.ids[4])) is not None
    assert one.prompt == "Draw it otherwise."
    chosen = found.select(Selection(where=(("subject", small.rows[6]["subject"]),)))
    wanted = [q.id for q in whole.questions if q.tags["subject"] == small.rows[6]["subject"]]
    assert [q.id for q in chosen.questions] == wanted


def test_some_of_an_exam_are_not_taken_for_the_whole(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    add_exam(store, read(small).select(Selection(limit=4)))
    assert again(store, small) is None
    whole = read(small)
    add_exam(store, replace(whole, questions=whole.questions[:5]))
    assert again(store, small) is None


def test_a_store_that_lost_questions_is_not_believed(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    add_exam(store, read(small))
    found = again(store, small)
    assert found is not None
    store.write(lambda connection: connection.execute(questions.delete().where(questions.c.id == small.ids[4])))
    assert again(store, small) is None
    with pytest.raises(StoreError, match="lacks questions of genexam"):
        found.questions[4]


def test_the_images_of_what_is_chosen_are_looked_after(tmp_path: Path, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(9)
    with Store(tmp_path / "own") as store:
        add_exam(store, read(small))
        found = again(store, small)
        assert found is not None
        blobs = sorted((tmp_path / "own" / "blobs").rglob("*.png"))
        for blob in blobs:
            blob.unlink()
        add_exam(store, found, found.select(Selection(limit=2)))
        assert len([blob for blob in blobs if blob.exists()]) == 2
        add_exam(store, found)
        assert all(blob.exists() for blob in blobs)
