"""Anything odd in a folder of images fails only the question it belongs to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.chaos.exam_run import ExamRun, as_nobody, make
from tests.fakes import ChatServer
from tests.support import picture


@pytest.fixture
def world(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ExamRun:
    return make(tmp_path, chat, monkeypatch)


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def loop_above(path: Path) -> None:
    path.unlink()
    folder = path.with_name("round")
    folder.symlink_to("round")
    path.symlink_to(folder / "x.png")


@pytest.mark.slow
@pytest.mark.parametrize("tie", [loop, loop_above])
def test_symlink_loop_fails_only_its_question(world: ExamRun, tie: object) -> None:
    tie(world.exam.drawing(world.exam.ids[1]))  # type: ignore[operator]
    result = world.run(code=3)
    assert (result.json()["failures"], result.json()["done"]) == ({"missing": 1}, 6)
    assert world.drawings()[[d.question_id for d in world.drawings()].index(world.exam.ids[1])].fault == "missing"


@pytest.mark.slow
def test_symlink_loop_in_references_fails_only_its_question(world: ExamRun) -> None:
    loop(world.exam.data / "images" / world.exam.rows[1]["image_path"])
    assert world.run(code=3).json()["failures"] == {"no_reference": 1}
    assert sorted(marking.status for marking in world.markings()) == ["done"] * 3 + ["failed"]


ODD = (b"\xff\xfe.png", b"line\nbreak.png", b"\x1b[31mred.png", b"tab\t.png", "\u202egnp.png".encode(), b"%s%d.png")


@pytest.mark.slow
def test_odd_file_names_do_not_affect_other_questions(world: ExamRun) -> None:
    folder = os.fsencode(world.exam.drawings)
    for number, name in enumerate(ODD):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(picture(100 + number))
        # A second file for the same id, which is told of.
        Path(os.fsdecode(folder + b"/" + name.replace(b".png", b".PNG"))).write_bytes(picture(200 + number))
    result = world.run()
    assert (result.json()["done"], result.json()["failed"]) == (8, 0)
    assert "files for the same id" in result.err
    assert "\x1b" not in result.err


def test_folder_in_place_of_file_counts_as_missing(world: ExamRun) -> None:
    path = world.exam.drawing(world.exam.ids[1])
    path.unlink()
    path.mkdir()
    assert world.run("--require-all", code=3).json()["failures"] == {"missing": 1}


@pytest.mark.slow
def test_unreadable_file_fails_only_its_question(world: ExamRun) -> None:
    """Runs as another user, since root may read everything."""
    world.run("--store", "first")  # Whatever is imported on the way is imported now.
    path = world.exam.drawing(world.exam.ids[1])
    path.chmod(0)
    world.folder.chmod(0o777)
    try:
        code, out, _ = as_nobody(lambda: world.run(code=None))
    finally:
        path.chmod(0o644)
    assert (code, json.loads(out)["failures"], json.loads(out)["done"]) == (3, {"missing": 1}, 6)
    assert [drawing.fault for drawing in world.drawings()].count("missing") == 1
