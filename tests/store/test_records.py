"""Exams, drawings and markings as rows: nothing needs the data folder afterwards, and versions do not mix."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from limner.calls import Calls, Request, Result
from limner.core.errors import StoreError
from limner.core.exam import Reference, Selection
from limner.core.marks import Mark
from limner.exams.genexam.data import ScoringPointsRubric, read
from limner.store import Store
from limner.store.markings import (
    BriefMarking,
    Marking,
    MarksReader,
    ReadMarks,
    load_markings,
    load_markings_by_id,
    load_outcomes,
    save_marking,
    save_read_marks,
    stream_markings,
)
from limner.store.records import (
    Drawing,
    add_exam,
    kind_of,
    load_drawings,
    load_exam,
    load_questions,
    load_replies,
    save_drawing,
    save_setup,
)
from tests.report.tables import synthetic
from tests.store.places import EVERYWHERE, NO_BUCKET
from tests.support import SmallExam, picture

KILLED = """
import os, signal, sys
from pathlib import Path
from limner.exams.genexam.data import read
from limner.store import Store
from limner.store.records import add_exam
insert_new = Store.insert_new
def killed(self, connection, table, *rows):
    insert_new(self, connection, table, *rows)
    if table.name == "questions":
        os.kill(os.getpid(), signal.SIGKILL)
Store.insert_new = killed
with Store(sys.argv[2]) as store:
    add_exam(store, read(Path(sys.argv[1])))
"""


@EVERYWHERE
def test_stored_exam_loads_without_its_folder(store: Store, small_exam: SmallExam) -> None:
    whole = read(small_exam.data)
    add_exam(store, whole)
    add_exam(store, whole)
    shutil.rmtree(small_exam.data)
    stored = load_exam(store, "genexam", ScoringPointsRubric)
    assert [q.to_json() for q in stored.questions] == [q.to_json() for q in whole.questions]
    assert [q.hash for q in stored.questions] == [q.hash for q in whole.questions]
    assert stored.subsets == whole.subsets
    for number, question in enumerate(stored.questions):
        assert question.reference is not None
        assert question.reference.sha256 is not None
        assert store.blobs.get(question.reference.sha256) == picture(number, size=(16, 8))


@NO_BUCKET
def test_newest_question_version_is_current_and_all_are_kept(store: Store, small_exam: SmallExam) -> None:
    whole = read(small_exam.data)
    first, *rest = whole.questions
    changed = replace(first, prompt="Draw it otherwise.")
    for questions in ((first, *rest), (changed, *rest)):
        add_exam(store, replace(whole, questions=questions))
    assert load_exam(store, "genexam", ScoringPointsRubric).questions[0].prompt == "Draw it otherwise."
    assert set(load_questions(store, "genexam", ScoringPointsRubric)) == {q.hash for q in (first, changed, *rest)}


@NO_BUCKET
def test_exam_name_belongs_to_one_kind(store: Store, small_exam: SmallExam) -> None:
    whole = read(small_exam.data)
    add_exam(store, whole)
    with pytest.raises(StoreError, match="'genexam' of kind genexam; give this one another name"):
        add_exam(store, replace(whole, kind="other"))
    with pytest.raises(StoreError, match="no exam 'nothing'; it has: genexam"):
        kind_of(store, "nothing")


def test_invalid_reference_image_is_named(store: Store, small_exam: SmallExam) -> None:
    whole = read(small_exam.data)
    path = small_exam.data / "images" / small_exam.rows[2]["image_path"]
    path.write_bytes(b"gone bad")
    with pytest.raises(StoreError, match=f"{small_exam.ids[2]}: .*not an image"):
        add_exam(store, whole)


@NO_BUCKET
def test_exam_larger_than_one_statement_is_stored(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    small = make_exam(2)
    whole = read(small.data)
    many = tuple(replace(whole.questions[n % 2], id=f"q{n:04}", reference=None) for n in range(1203))
    add_exam(store, replace(whole, questions=many))
    assert [q.id for q in load_exam(store, "genexam", ScoringPointsRubric).questions] == [q.id for q in many]


def test_each_reference_is_read_once_when_storing_exam(
    store: Store, small_exam: SmallExam, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    read_image = Reference.read

    def counted(self: Reference) -> bytes | None:
        names.append(self.name)
        return read_image(self)

    exam = read(small_exam.data)
    path = small_exam.data / "images" / small_exam.rows[0]["image_path"]
    shared = replace(exam.questions[0], id="another", reference=Reference("shared", path))
    monkeypatch.setattr(Reference, "read", counted)
    add_exam(store, replace(exam, questions=(*exam.questions, shared)))
    assert names == [row["image_path"] for row in small_exam.rows]
    monkeypatch.undo()
    stored = load_exam(store, "genexam", ScoringPointsRubric)
    assert [one.hash for one in stored.questions] == [one.hash for one in (*read(small_exam.data).questions, shared)]


def test_killed_exam_import_stores_no_part_of_exam(tmp_path: Path, small_exam: SmallExam) -> None:
    words = [sys.executable, "-c", KILLED, str(small_exam.data), str(tmp_path / "s")]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    with Store(tmp_path / "s") as store:
        with pytest.raises(StoreError, match="it has: none"):
            kind_of(store, "genexam")
        assert load_questions(store, "genexam", ScoringPointsRubric) == {}
        add_exam(store, read(small_exam.data))
        assert [one.id for one in load_exam(store, "genexam", ScoringPointsRubric).questions] == small_exam.ids


@NO_BUCKET
def test_marking_of_replaced_image_is_omitted(store: Store, small_exam: SmallExam) -> None:
    question = read(small_exam.data).select(Selection(limit=1)).questions[0]
    add_exam(store, read(small_exam.data))
    save_setup(store, "s", {"judge": "j"})
    old = Drawing(
        "d", "genexam", question.id, question.hash, "mine", "folder/x", "direct", 0, "done", image="old", created=1.0
    )
    marking = Marking("m1", "d", question.hash, "old", "s", 0, "done")

    async def save(drawing: Drawing, *markings: Marking) -> None:
        save_drawing(store, drawing).result()
        for one in markings:
            save_marking(store, one).result()

    asyncio.run(save(old, marking))
    assert list(load_markings(store, "genexam")) == [marking]
    new = replace(marking, id="m2", image="new")
    asyncio.run(save(replace(old, image="new"), new))
    assert [d.image for d in load_drawings(store, "genexam")] == ["new"]
    assert list(load_markings(store, "genexam", "s")) == [new]
    assert list(load_markings(store, "genexam", "other")) == []
    assert load_outcomes(store, "genexam", "s") == {"m2": new}
    assert load_outcomes(store, "genexam", []) == {}
    assert load_markings_by_id(store, ["m1", "m3"]) == {"m1": marking}
    ((whole, text, known),) = next(stream_markings(store, "genexam", ["s"]))
    assert (whole, text, known) == (new, None, None)
    ((brief, _, _),) = next(stream_markings(store, "genexam", ["s"], brief=True))
    assert isinstance(brief, Marking)
    assert [getattr(brief, name) for name in BriefMarking.__annotations__] == [
        getattr(new, name) for name in BriefMarking.__annotations__
    ]
    (short,) = load_drawings(store, "genexam", ordered=False, brief=True)
    assert short == replace(old, image="new", prompt_sent=None, calls=[])
    assert list(load_drawings(store, "genexam", "nobody")) == []


@pytest.mark.slow
@NO_BUCKET
def test_replies_of_many_calls_are_loaded(store: Store, tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with Calls(store) as calls:

            async def one(n: int) -> str:
                async def perform(_attempt: object) -> Result:
                    return Result({"text": f"reply {n}"})

                return (await calls.do(Request("chat", "t", {"n": n}), perform)).key

            return list(await asyncio.gather(*(one(n) for n in range(1100))))

    keys = asyncio.run(run())
    assert load_replies(store, [*keys, "unknown"]) == {key: f"reply {n}" for n, key in enumerate(keys)}


CAREFUL = MarksReader("careful", "programs")


@NO_BUCKET
def test_cached_marks_replace_reply_texts_while_valid(store: Store) -> None:
    exam = synthetic.exam("genexam", 1)
    add_exam(store, exam)
    save_setup(store, "s", {"judge": "fake/judge"})
    (question,) = exam.questions
    of = exam.name, question.id, question.hash
    save_drawing(store, Drawing("d", *of, "mine", "folder/x", "direct", 0, "done", image="i")).result()
    marked = Marking("m", "d", question.hash, "i", "s", 0, "done", marks=[Mark("a", 1).to_json()], created=5.25)
    replied = replace(marked, id="n", marks=None, replies=[["mark", "key"]], repeat=1, created=6.5)
    for one in (marked, replied):
        save_marking(store, one).result()

    def found(by: MarksReader | None) -> dict[str, tuple[bool, list[list[str]], str | None]]:
        rows = (row for some in stream_markings(store, exam.name, ["s"], brief=True, by=by) for row in some)
        return {marking.id: (text is not None, marking.replies, read) for marking, text, read in rows}

    unread = {"m": (True, [], None), "n": (False, [["mark", "key"]], None)}
    assert found(None) == found(CAREFUL) == unread
    save_read_marks(store, CAREFUL, [ReadMarks("m", 5.25, "[1]"), ReadMarks("n", 6.5, "[2]")])
    store.write(lambda _: None)
    assert found(CAREFUL) == {"m": (False, [], "[1]"), "n": (False, [], "[2]")}
    assert found(None) == found(MarksReader("paper", "programs")) == found(MarksReader("careful", "others")) == unread
    save_read_marks(store, CAREFUL, [ReadMarks("n", 6.5, "[3]")])
    save_marking(store, replace(marked, created=7.0)).result()
    assert found(CAREFUL) == {"m": unread["m"], "n": (False, [], "[3]")}
