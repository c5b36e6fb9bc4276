"""`limner run`, `draw` and `mark`: what is done, said and left undone, and the exit codes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.store import Store
from limner.store.schema import metadata
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.fakes import ChatServer
from tests.support import JUDGE, SmallExam, picture, write_settings


@pytest.fixture
def judge(small_exam: SmallExam, tmp_path: Path) -> str:
    return f"replay/{write_replay(tmp_path / 'replies.jsonl', {'mine': verdicts(small_exam.rows, 5)})}"


@pytest.fixture
def words(small_exam: SmallExam) -> list[str]:
    """Painter, data and store."""
    return ["--painter", f"mine=folder/{small_exam.drawings}", "--data", str(small_exam.data), "--store", "store"]


def everything(store: str | Path) -> dict[str, list[Any]]:
    """All rows of all tables."""
    with Store(store, create=False) as opened, opened.reading() as connection:
        return {table.name: sorted(map(repr, connection.execute(sa.select(table)))) for table in metadata.sorted_tables}


def test_run_draws_marks_and_shows(words: list[str], judge: str) -> None:
    said = limner("run", "genexam", *words, "--judge", judge)
    assert f"genexam · judge {judge} (not examined) · reading careful" in said.out
    assert "mine" in said.out
    assert "8/8 done" in said.err


def test_draw_then_mark(words: list[str], judge: str, small_exam: SmallExam) -> None:
    assert limner("draw", "genexam", *words, "--json").json()["done"] == 4
    shutil.rmtree(small_exam.data)
    marked = limner("mark", "genexam", "--judge", judge, "--store", "store", "--json").json()
    assert (marked["done"], marked["stored"]) == (4, 4)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "draw"])
def test_a_dry_run_writes_nothing(
    command: str, words: list[str], chat: ChatServer, small_exam: SmallExam, tmp_path: Path
) -> None:
    """Nor does it call anyone, with a store or without."""
    write_settings(tmp_path, chat.base_url)
    asked = ["--judge", JUDGE] if command == "run" else []
    expected = {"drawings": 4, "markings": 4 if asked else 0, "questions": 4}
    assert limner(command, "genexam", *words, *asked, "--dry-run", "--json").json() == expected
    assert not Path("store").exists()
    limner("draw", "genexam", *words, "--limit", "1")
    before = everything("store")
    said = limner(command, "genexam", *words, *asked, "--dry-run")
    assert "to do for 4 questions: 3 drawings" in said.out
    assert everything("store") == before
    assert chat.counts()["total"] == 0


@pytest.mark.slow
def test_the_same_sample_is_drawn_marked_and_estimated(words: list[str], judge: str, small_exam: SmallExam) -> None:
    picked = ("--sample", "2", "--sample-seed", "7")
    told = limner("estimate", "genexam", *words, "--judge", judge, *picked, "--json").json()
    assert [step["steps"] for step in told["steps"]] == [2, 2]
    assert limner("draw", "genexam", *words, *picked, "--json").json()["done"] == 2
    # From the store alone, the same ones are chosen.
    marked = limner("mark", "genexam", "--judge", judge, "--store", "store", *picked, "--json").json()
    assert (marked["done"], marked["stored"], marked["failed"]) == (2, 2, 0)
    again = limner("run", "genexam", *words, "--judge", judge, *picked, "--json").json()
    assert (again["done"], again["stored"]) == (0, 4)
    (row,) = limner("scores", "genexam", "--store", "store", *picked, "--format", "json").json()
    assert (row["coverage"], row["expected"]) == (1, 2)
    assert limner("run", "genexam", *words, "--judge", judge, "--sample", "9", "--dry-run", "--json").json() == {
        "drawings": 2, "markings": 2, "questions": 4,
    }  # fmt: skip


def test_selection(words: list[str], judge: str, small_exam: SmallExam) -> None:
    Path("ids.txt").write_text("\n".join(small_exam.ids[:3]), "utf-8")
    picked = ("--ids", "@ids.txt", "--where", "difficulty=medium", "--limit", "1")
    limner("run", "genexam", *words, "--judge", judge, *picked)
    assert [row["id"] for row in limner("export", "genexam", "--store", "store").lines()] == [small_exam.ids[1]]
    limner("run", "genexam", *words, "--judge", judge, "--subset", "mini")
    assert len(limner("export", "genexam", "--store", "store").lines()) == 2


WRONG: dict[str, tuple[Callable[[SmallExam], list[str]], int, str]] = {
    "no painter": (lambda exam: ["--judge", "ocr"], 2, "name a painter with --painter"),
    "no judge": (lambda exam: ["--painter", "control/blank"], 2, "name a judge with --judge"),
    "unknown painter": (lambda exam: ["--painter", "nobody", "--judge", "ocr"], 2, "'nobody' is not a painter"),
    "unknown control": (lambda exam: ["--painter", "control/none", "--judge", "ocr"], 2, "no control 'none'"),
    "no such folder": (lambda exam: ["--painter", "folder/none", "--judge", "ocr"], 2, "no such folder"),
    "unknown judge": (lambda exam: ["--painter", "control/blank", "--judge", "nobody"], 2, "'nobody' is not a judge"),
    "no such replay": (lambda exam: ["--painter", "control/blank", "--judge", "replay/x"], 2, "cannot be read"),
    "option without a value": (
        lambda exam: ["--painter", "control/blank", "--judge", "ocr", "-O", "reference"],
        2,
        "-O takes KEY=VALUE, not 'reference'",
    ),
    "unknown id": (
        lambda exam: ["--painter", "control/blank", "--judge", "ocr", "--ids", "Art_1"],
        2,
        "no question with id Art_1",
    ),
    "nothing selected": (
        lambda exam: ["--painter", "control/blank", "--judge", "ocr", "--where", "subject=Art"],
        2,
        "no question is selected",
    ),
    "wrong data": (
        lambda exam: ["--painter", "control/blank", "--judge", "ocr", "--data", str(spoil(exam))],
        1,
        "All_Subjects.jsonl:2: id Mathematics_1: difficulty: ",
    ),
}


def spoil(exam: SmallExam) -> Path:
    file = exam.data / "annotations" / "All_Subjects.jsonl"
    file.write_text(file.read_text("utf-8").replace('"medium"', '"extreme"', 1), "utf-8")
    return exam.data


@pytest.mark.slow
@pytest.mark.parametrize(("given", "code", "said"), WRONG.values(), ids=WRONG)
def test_mistakes_are_named_and_leave_nothing_behind(
    small_exam: SmallExam, given: Callable[[SmallExam], list[str]], code: int, said: str
) -> None:
    drawn = ("--painter", f"mine=folder/{small_exam.drawings}", "--data", small_exam.data)
    limner("draw", "genexam", *drawn, "--store", "old")
    before = everything("old")
    words = given(small_exam)
    if "--data" not in words:
        words += ["--data", str(small_exam.data)]
    for store in ("new", "old"):
        found = limner("run", "genexam", *words, "--store", store, code=code)
        assert said in found.err
        assert "Traceback" not in found.err
    assert not Path("new").exists()
    assert everything("old") == before


def test_a_preset_is_named_with_what_differs_from_it(words: list[str], judge: str) -> None:
    asked = ("--preset", "paper", "--judge", judge, "--variant", "release", "--judge-arg", "seed=7")
    said = limner("run", "genexam", *words, *asked)
    assert f"differs from preset paper: judge {judge} instead of openai/gpt-5-2025-08-07" in said.err
    assert "differs from preset paper: variant release instead of paper" in said.err
    assert "differs from preset paper: seed=7 added" in said.err
    assert "reading paper" in said.out


def test_files_for_the_same_id_are_told_of(words: list[str], judge: str, small_exam: SmallExam) -> None:
    first, second = small_exam.ids[:2]
    (small_exam.drawings / f"{first}.JPG").write_bytes(picture(1, "JPEG"))
    (small_exam.drawings / f"{second.lower()}.png").write_bytes(picture(1))
    said = limner("run", "genexam", *words, "--judge", judge, code=3)
    assert f"note: mine: files for the same id: {first}.JPG, {first}.png" in said.err
    assert f"note: mine: files for the same id: {second}.png, {second.lower()}.png" in said.err
    assert "several files fit" in said.err
    states = {row["id"]: row["status"] for row in limner("export", "genexam", "--store", "store").lines()}
    assert states == {id: "missing" if id == first else "done" for id in small_exam.ids}


def test_misnamed_files_are_told_of_and_a_list_renames_them(
    words: list[str], judge: str, small_exam: SmallExam, tmp_path: Path
) -> None:
    for file in small_exam.drawings.iterdir():
        file.rename(file.with_name(file.name.lower().replace("_", " - it's ")))
    said = limner("run", "genexam", *words, "--judge", judge, code=3).err
    assert "note: mine: 4 files look misnamed: " in said
    assert f"`limner exam rename genexam {small_exam.drawings}` lists how to rename them" in said
    listed = limner("exam", "rename", "genexam", small_exam.drawings, "--store", "store")
    assert "4 of 4 questions have no image; 4 would be mended" in listed.err
    subprocess.run(["sh"], input=listed.out, text=True, check=True)
    assert limner("run", "genexam", *words, "--judge", judge, "--json").json()["done"] == 8
    assert limner("exam", "rename", "genexam", small_exam.drawings, "--store", "store").out == ""


def test_a_store_from_the_environment(words: list[str], judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_STORE", "elsewhere")
    limner("run", "genexam", *words[:4], "--judge", judge)
    assert Path("elsewhere", "limner.db").is_file()
    assert "mine" in limner("scores", "genexam").out


def test_the_budget_of_a_shard_is_its_own_and_it_is_said() -> None:
    words = ["run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--limit", "2", "--dry-run"]
    said = limner(*words, "--shard", "1/4", "--budget", "5")
    assert "note: --budget 5 is for this shard alone: 4 shards may spend $20 together\n" in said.err
    counts = [limner(*words, "--shard", f"{i}/2", "--json").json()["drawings"] for i in (1, 2)]
    assert sum(counts) == 2
