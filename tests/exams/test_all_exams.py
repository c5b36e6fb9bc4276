"""What holds for every installed exam: its sample runs, its store is enough, its reader bears anything, it is small."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner import exams
from limner.core.errors import DataError, UsageError
from limner.core.exam import Exam, Question
from limner.exams import kind, read, resolve, write_starter
from tests.cli.invoke import limner

ODD: tuple[Any, ...] = (None, 0, -1.5, True, "", "\x00", "\ud800", "../x", [], [[]], {}, {"": []}, "x" * 70_000)
PICTURES = {".png", ".jpg", ".jpeg", ".webp"}


NAMES = exams.EXAMS.own()
"""Other packages' exams are not looked at."""
each_exam = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sample(name: str) -> Path:
    found = kind(name).sample
    assert found is not None
    return found


def started(name: str) -> Path:
    """A copy of the sample's data, as `limner exam new` makes it."""
    write_starter(Path("mine"), name)
    return Path("mine", "data")


@each_exam
def test_sample_is_well_formed(name: str) -> None:
    output = limner("exam", "check", f"sample/{name}").out
    exam = read(resolve(f"sample/{name}"))
    assert f"sample/{name}: {len(exam.questions)} questions, all well-formed" in output
    assert all(f"    {tag}: " in output for tag in kind(name).protocol.breakdowns)
    assert len({question.id for question in exam.questions}) == len(exam.questions) >= 6
    for path in sample(name).rglob("*"):
        if path.suffix in PICTURES:
            with Image.open(path) as image:
                assert max(image.size) <= 640, path


@each_exam
def test_criteria_are_unique_and_valid(name: str) -> None:
    protocol = kind(name).protocol
    seen = set()
    for question in read(resolve(f"sample/{name}")).questions:
        criteria = protocol.criteria(question)
        assert criteria
        assert len({criterion.id for criterion in criteria}) == len(criteria)
        assert all(criterion.top >= 1 and criterion.text for criterion in criteria)
        seen |= {criterion.kind for criterion in criteria}
    assert protocol.label_kinds <= seen


@each_exam
def test_starter_equals_sample(name: str) -> None:
    assert f"limner exam check {Path('mine', 'exam.toml')}" in limner("exam", "new", "mine", "--like", name).out
    limner("exam", "check", "mine/exam.toml")
    mine, shipped = read(resolve("mine/exam.toml")), read(resolve(f"sample/{name}"))
    assert [question.hash for question in mine.questions] == [question.hash for question in shipped.questions]
    assert not list(Path("mine").rglob("*.py"))


@pytest.mark.slow
@each_exam
def test_stored_exam_is_usable_without_data(name: str) -> None:
    """An exam of one's own: drawn by two controls and marked; then everything is read without its data."""
    limner("exam", "new", "mine", "--like", name)
    judge = "ocr" if kind(name).protocol.label_kinds else "key"
    some = ",".join(question.id for question in read(resolve("mine/exam.toml")).questions[1::2][:4])
    words = ("--painter", "control/reference", "--painter", "control/blank", "--judge", judge, "--ids", some)
    assert limner("run", "mine/exam.toml", *words, code=None).code in (0, 3)
    shutil.rmtree("mine/data")
    protocol = kind(name).protocol
    by = [word for tag in protocol.breakdowns for word in ("--by", tag)]
    standings = {found["painter"]: found for found in limner("scores", "mine", *by, "--format", "json").json()}
    assert set(standings) == {"control/reference", "control/blank"}
    assert standings["control/reference"]["n"] > 0
    assert all(set(found["by"]) == set(protocol.breakdowns) for found in standings.values())
    decided = {painter: found["decided"] for painter, found in standings.items()}
    if judge == "ocr":
        assert decided["control/reference"].get("met", 0) > decided["control/blank"].get("met", 0)
    else:
        assert {each["share"] for each in decided.values()} == {0.0}, "a key knows only the sample itself"
    for form in ("table", "csv"):
        assert "control/blank" in limner("scores", "mine/exam.toml", "--format", form).out
    rows = limner("export", "mine").lines()
    assert {row["painter"] for row in rows} == set(standings)
    for form in ("csv", "parquet"):
        limner("export", "mine", "--format", form, "-o", f"rows.{form}")
        assert Path(f"rows.{form}").stat().st_size > 0
    limner("export", "mine", "--images", "drawings")
    assert len(list(Path("drawings").rglob("*.png"))) >= standings["control/blank"]["n"]
    for id in {row["id"] for row in rows}:
        shown = limner("show", "mine", id, "--format=json").json()
        assert shown["criteria"]
        assert {marking["judge"] for marking in shown["markings"]} == {judge}
        assert id in limner("show", "mine", id).out


def check_use(exam: Exam[Any], name: str) -> None:
    """Do with every question what is done with it later: none of it may fail."""
    for question in exam.questions:
        assert len(question.hash) == 64
        again = Question.from_json(json.loads(json.dumps(question.to_json())), type(question.rubric), None)
        assert again.rubric == question.rubric
        assert kind(name).protocol.criteria(question)
        assert not (Path("/a") / question.id).is_relative_to("/b")


def broken(data: bytes, generator: random.Random) -> bytes:
    """The file with a few bytes changed, or cut off, or with a piece of it doubled or put elsewhere."""
    place = generator.randrange(len(data) + 1)
    match generator.randrange(4):
        case 0:
            return data[:place]
        case 1:
            flipped = bytearray(data)
            for _ in range(generator.randint(1, 8)):
                flipped[generator.randrange(len(flipped))] ^= 1 << generator.randrange(8)
            return bytes(flipped)
        case 2:
            other = generator.randrange(len(data) + 1)
            return data[:place] + data[min(place, other) : max(place, other)] + data[place:]
        case _:
            odd = [
                b"\x00",
                b"\xff",
                b"null",
                b"[]",
                b"{}",
                b'""',
                b"1e999",
                b"-1",
                b"\n",
                b"[" * 3000,
                b"\\ud800",
                b"NaN",
            ]
            return data[:place] + generator.choice(odd) + data[place + generator.randint(0, 12) :]


@pytest.mark.slow
@each_exam
def test_reader_handles_corrupted_files(name: str) -> None:
    """Broken data is an error that names its file, or still an exam; never another exception."""
    root, generator = started(name), random.Random(name)
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.stat().st_size]
    written = [path for path in files if path.suffix not in PICTURES]
    assert written
    messages = []
    for turn in range(80):
        path = generator.choice(written if turn % 5 else files)
        whole = path.read_bytes()
        path.write_bytes(broken(whole, generator))
        try:
            exam = read(resolve("mine/exam.toml"))
            check_use(exam, name)
        except (DataError, UsageError) as error:
            messages.append(str(error))
        finally:
            path.write_bytes(whole)
    assert len(messages) > 10
    assert max(map(len, messages)) < 20_000
    assert read(resolve("mine/exam.toml")).questions


@each_exam
def test_reader_handles_unexpected_values(name: str) -> None:
    """JSON that is well-formed and holds something else than is wanted, field by field."""
    root = started(name)
    files = [path for path in sorted(root.rglob("*.json*")) if path.suffix in (".json", ".jsonl")]
    for path in files:
        text = path.read_text("utf-8")
        try:
            row = json.loads(text.splitlines()[0])
        except ValueError:
            row = json.loads(text)
        inner = row[0] if isinstance(row, list) and row else row
        if not isinstance(inner, dict):
            continue
        for field in inner:
            for odd in ODD:
                changed = json.dumps({**inner, field: odd})
                path.write_text(f"[{changed}]" if text.lstrip().startswith("[") else changed + "\n", "utf-8")
                try:
                    found = read(resolve("mine/exam.toml"))
                    check_use(found, name)
                except (DataError, UsageError):
                    continue
        path.write_text(text, "utf-8")
