"""Many questions in little memory."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from limner.core import spool
from limner.core.data_files import stream_lines
from limner.core.errors import DataError
from limner.core.exam import Exam, Question, Reference, Selection
from limner.core.spool import IdPlaces, SpooledQuestions, gathered
from limner.exams.genexam.data import ScoringPoint, ScoringPointsRubric, read
from limner.store import Store
from limner.store.records import add_exam, load_exam

RUBRIC = ScoringPointsRubric(scoring_points=(ScoringPoint(question="Is it there?", score=1.0),))


def questions(count: int) -> list[Question[Any]]:
    return [Question(f"q{n}", f"Draw {n}.", RUBRIC, {"level": "abc"[n % 3], "topic": str(n % 5)}) for n in range(count)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the questions that were made, in order; more than two questions lie in a file."""
    found: list[int] = []
    whole = spool._Spool.get
    monkeypatch.setattr(spool, "HELD", 2)

    def counted(self: Any, number: int) -> Any:
        found.append(number)
        return whole(self, number)

    monkeypatch.setattr(spool._Spool, "get", counted)
    return found


def test_few_questions_are_held_and_many_are_not(made: list[int]) -> None:
    assert gathered(questions(2)) == tuple(questions(2))
    many = gathered(questions(9))
    assert isinstance(many, SpooledQuestions)
    assert made == []
    assert many == questions(9)
    assert [one.id for one in many[2:4]] == ["q2", "q3"]


def test_a_limit_makes_no_other_question(made: list[int]) -> None:
    exam = Exam("e", "genexam", gathered(questions(50))).select(Selection(limit=3))
    assert made == []
    assert [one.id for one in exam.questions] == ["q0", "q1", "q2"]
    assert made == [0, 1, 2]


def test_a_question_is_found_by_its_id_without_making_the_others(made: list[int]) -> None:
    exam = Exam("e", "genexam", gathered(questions(50)))
    found = exam.find("q31")
    assert found is not None
    assert found.id == "q31"
    assert exam.find("none") is None
    assert made == [31]


def test_hashes_are_kept_once_they_are_known(made: list[int], tmp_path: Path) -> None:
    many = gathered(questions(5))
    assert isinstance(many, SpooledQuestions)
    assert "hash" not in many[1].__dict__
    many.remember(1, many[1].hash, None)
    assert many[1].__dict__["hash"] == questions(5)[1].hash


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=3), max_size=1500), st.text(max_size=3))
def test_an_id_is_found_wherever_it_stands(ids: list[str], other: str) -> None:
    places = IdPlaces()
    for id in ids:
        places.add(id)
    for id in {*ids[:50], *ids[-50:], other}:
        assert sorted(places.find(id)) == [at for at, one in enumerate(ids) if one == id]


def test_what_is_chosen_alone_is_found(made: list[int]) -> None:
    exam = Exam("e", "genexam", gathered(questions(50))).select(Selection(where=(("level", "b"),)))
    made.clear()
    assert exam.find("q0") is None
    assert made == [], "that it is not among the chosen is known without making it"
    assert (found := exam.find("q1")) is not None
    assert found.id == "q1"


@pytest.mark.parametrize("held", [2, 500])
def test_to_store_an_exam_each_reference_is_read_once(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_images: list[str] = []
    monkeypatch.setattr(spool, "HELD", held)
    (tmp_path / "annotations").mkdir()
    (tmp_path / "images").mkdir()
    rows = [row(f"q{n}") | {"image_path": f"{n}.png"} for n in range(5)]
    (tmp_path / "annotations" / "All_Subjects.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    for n in range(5):
        Image.new("RGB", (8, 8 + n), "white").save(tmp_path / "images" / f"{n}.png")
    exam, whole = read(tmp_path), Reference.read

    def counted(self: Reference) -> bytes | None:
        read_images.append(self.name)
        return whole(self)

    monkeypatch.setattr(Reference, "read", counted)
    with Store(tmp_path / "store") as store:
        add_exam(store, exam)
        assert sorted(read_images) == [f"{n}.png" for n in range(5)]
        assert [one.hash for one in load_exam(store, "genexam", ScoringPointsRubric).questions] == [
            one.hash for one in read(tmp_path).questions
        ]


SELECTIONS = st.builds(
    Selection,
    subset=st.sampled_from([None, "some"]),
    ids=st.none() | st.lists(st.integers(0, 19).map("q{}".format), min_size=1, max_size=9).map(tuple),
    where=st.lists(st.sampled_from([("level", "A"), ("level", "b"), ("topic", "2")]), max_size=2).map(tuple),
    limit=st.none() | st.integers(1, 12),
    sample=st.none() | st.integers(1, 12),
    sample_seed=st.integers(0, 3),
)


@settings(max_examples=60, deadline=None)
@given(SELECTIONS)
def test_choosing_from_a_file_equals_choosing_from_memory(selection: Selection) -> None:
    subsets = {"some": frozenset(f"q{n}" for n in range(0, 20, 2))}
    held = Exam("e", "genexam", tuple(questions(20)), subsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "HELD", 2)
        lazy = Exam("e", "genexam", gathered(questions(20)), subsets)
        chosen = lazy.select(selection, ("level", "topic"))
    assert list(chosen.questions) == list(held.select(selection, ("level", "topic")).questions)


def test_a_stored_exam_makes_the_chosen_questions_alone(made: list[int], tmp_path: Path) -> None:
    exam = Exam("e", "genexam", gathered(questions(30)), {"some": frozenset({"q3"})})
    with Store(tmp_path / "store") as store:
        add_exam(store, exam)
        made.clear()
        loaded = load_exam(store, "e", ScoringPointsRubric)
        assert made == []
        assert [one.id for one in loaded.select(Selection(limit=2)).questions] == ["q0", "q1"]
        assert made == [0, 1]
        assert loaded.questions == questions(30)
        assert loaded.subsets == {"some": frozenset({"q3"})}


def row(id: str) -> dict[str, Any]:
    body = {"id": id, "prompt": "Draw.", "image_path": "a.png", "taxonomy": "x", "img_type": "y", "subject": "z"}
    return body | {"difficulty": "easy", "scoring_points": [{"question": "Is it?", "score": 1.0}]}


def test_an_id_that_stands_there_twice_is_told_with_its_first_place(made: list[int], tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    lines = [json.dumps(row(id)) for id in ("a", "b", "c", "b", "d", "a", "d")]
    (tmp_path / "annotations" / "All_Subjects.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError) as told:
        read(tmp_path)
    for number, first in ((4, 2), (6, 1), (7, 5)):
        assert f":{number}" in str(told.value)
        assert f"stands already in line {first}" in str(told.value)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), max_size=6))
@settings(max_examples=40, deadline=None)
def test_streamed_lines_equal_those_of_the_whole_file(lines: list[str]) -> None:
    data = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\xef\xbb\xbf" + data.encode())
        streamed, whole = [*stream_lines(path)], data.split("\n")
    # An empty last line is no line.
    assert streamed == whole or (streamed == whole[:-1] and not whole[-1])


def test_a_line_that_is_not_utf8_is_told_with_its_byte(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntw\xff\n")
    with pytest.raises(DataError, match=r"not UTF-8 \(byte 6\)") as told:
        list(stream_lines(tmp_path / "x"))
    assert told.value.line == 2
