"""The answer keys of the samples: what they know, and that they are what the drawing program writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from tools.samples.readings import ocr_marks
from tools.samples.variants import write_variants

from limner.core.errors import UsageError
from limner.exams import SHIPPED, kind, read, resolve
from limner.exams.key import BLANK, OCR_MARKS, OCR_PAINTERS, PAINTERS, VARIANTS, answer_key, key_folder
from tests.cli.invoke import limner

each_exam = pytest.mark.parametrize("name", SHIPPED)
MAX_BYTES = 6 * 1024 * 1024


def folder_of(name: str) -> Path:
    folder = key_folder(kind(name))
    assert folder is not None
    return folder


@each_exam
def test_key_knows_every_painter_of_every_question(name: str) -> None:
    key, exam = answer_key(kind(name)), read(resolve(f"sample/{name}"))
    assert len({question.tags.get("sample", question.id) for question in exam.questions}) >= 12
    expected = {(question.id, painter) for question in exam.questions for painter in PAINTERS}
    assert {(answer.id, answer.painter) for answer in key.answers} == expected
    for answer in key.answers:
        question = exam.find(answer.id)
        assert question is not None
        best = {criterion.id: criterion.top for criterion in kind(name).protocol.criteria(question)}
        assert bool(answer.faults) == (answer.painter != "reference"), answer
        assert all(value < best[id] for id, (value, _) in answer.faults.items() if id in best)
        assert all(reason for _, reason in answer.faults.values())
        if answer.file:
            assert hashlib.sha256((key.folder / answer.file).read_bytes()).hexdigest() == answer.image
        if answer.painter == "reference":
            assert question.reference is not None
            assert question.reference.sha256 == answer.image


@pytest.mark.slow
@each_exam
def test_redrawing_gives_same_key_and_pictures(name: str, tmp_path: Path) -> None:
    write_variants(name, tmp_path)
    old, new = ((folder / "key.jsonl").read_text("utf-8").splitlines() for folder in (folder_of(name), tmp_path))
    assert [json.loads(line) | {"image": ""} for line in new] == [json.loads(line) | {"image": ""} for line in old]
    for path in tmp_path.rglob("*.png"):
        with Image.open(path) as drawn, Image.open(folder_of(name) / path.relative_to(tmp_path)) as shipped:
            # Releases of Pillow may shade the rim of a letter or choose a palette differently.
            difference = ImageChops.difference(drawn.convert("RGB"), shipped.convert("RGB")).convert("L")
            assert sum(difference.histogram()[48:]) <= 0.001 * drawn.width * drawn.height, path


def test_shipped_pictures_are_small() -> None:
    files = [path for name in SHIPPED for path in folder_of(name).rglob("*") if path.is_file()]
    assert {path.parent.name for path in files if path.suffix == ".png"} >= {*VARIANTS}
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


def marks(*words: str) -> dict[str, int | None]:
    (row,) = limner("export", *words).lines()
    return dict(row["marks"])


def test_key_abstains_on_other_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("imgs").mkdir()
    Image.linear_gradient("L").save("imgs/Sample_Biology_1.png")
    Image.new("RGB", (320, 200), "#dddddd").save("imgs/Sample_Music_1.png")
    question = "--ids", "Sample_Biology_1"
    limner("run", "sample/genexam", *question, "--painter", "mine=folder/imgs", "--judge", "key")
    assert set(marks("sample/genexam", *question).values()) == {None}
    limner("run", "sample/genexam", "--ids", "Sample_Music_1", "--painter", "mine=folder/imgs", "--judge", "key")
    assert set(marks("sample/genexam", "--ids", "Sample_Music_1").values()) == {0}


def test_key_abstains_on_edited_copy_of_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    limner("exam", "new", "flowers")
    words = "--ids", "Sample_Biology_1"
    limner("run", "flowers/exam.toml", *words, "--painter", "sample/reference", "--judge", "key")
    assert set(marks("flowers/exam.toml", *words).values()) == {None}


def test_unknown_pictures_and_arguments_are_usage_errors() -> None:
    message = limner("run", "sample/genexam", "--painter", "sample/two-heads", "--judge", "key", code=2).err
    assert "no picture 'two-heads' is shipped with the samples; choose from: reference, one-part-missing" in message
    assert (
        "no control 'labels-erased'"
        in limner("draw", "sample/genexam", "--painter", "control/labels-erased", code=2).err
    )
    message = limner("run", "sample/genexam", "--painter", "sample/blank", "--judge", "key/x", code=2).err
    assert "'key/x' is not a judge: there is key, without arguments" in message


def test_exam_without_key_is_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    exam = kind("genexam")
    monkeypatch.setattr("limner.exams.key.FOLDER", "nowhere")
    with pytest.raises(UsageError, match="the exam genexam has no sample with an answer key"):
        answer_key(exam)


@each_exam
def test_recorded_ocr_marks_belong_to_keyed_pictures(name: str) -> None:
    key = answer_key(kind(name))
    recorded = {(id, image) for id, image, _ in key.ocr_marks()}
    assert recorded == {(a.id, a.image) for a in key.answers if a.painter in OCR_PAINTERS and a.image != BLANK}


@pytest.mark.slow
@each_exam
def test_recorded_ocr_marks_are_those_of_the_examiner(name: str) -> None:
    lines = [json.loads(line) for line in (folder_of(name) / OCR_MARKS).read_text("utf-8").splitlines()]
    first = lines[0]["id"]
    assert list(ocr_marks(name, frozenset({first}))) == [line for line in lines if line["id"] == first]
