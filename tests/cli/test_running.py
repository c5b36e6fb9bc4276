"""`limner run`, `draw` and `mark`: what is done, said and left undone, and the exit codes."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from rich.console import Console

from limner.cli.running import ProgressBars
from limner.running.progress import Progress
from limner.store import Store
from limner.store.schema import metadata
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.fakes import ChatServer
from tests.needs import need
from tests.support import JUDGE, SmallExam, environment, picture, write_settings


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


def test_run_draws_marks_and_prints_scores(words: list[str], judge: str) -> None:
    result = limner("run", "genexam", *words, "--judge", judge)
    assert f"genexam · judge {judge} (not examined) · reading careful" in result.out
    assert "mine" in result.out
    assert "8/8 done" in result.err


def test_options_that_no_painter_takes_are_refused(words: list[str]) -> None:
    result = limner("draw", "genexam", *words, "--painter-arg", "quality=high", code=2)
    assert "--painter-arg quality: no painter of this run has options" in result.err


def test_draw_then_mark(words: list[str], judge: str, small_exam: SmallExam) -> None:
    assert limner("draw", "genexam", *words, "--format=json").json()["done"] == 4
    shutil.rmtree(small_exam.data)
    marked = limner("mark", "genexam", "--judge", judge, "--store", "store", "--format=json").json()
    assert (marked["done"], marked["stored"]) == (4, 4)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "draw"])
def test_dry_run_writes_no_files(
    command: str, words: list[str], chat: ChatServer, small_exam: SmallExam, tmp_path: Path
) -> None:
    """Nor does it call anyone, with a store or without."""
    write_settings(tmp_path, chat.base_url)
    asked = ["--judge", JUDGE] if command == "run" else []
    expected = {"drawings": 4, "markings": 4 if asked else 0, "questions": 4}
    assert limner(command, "genexam", *words, *asked, "--dry-run", "--format=json").json() == expected
    assert not Path("store").exists()
    limner("draw", "genexam", *words, "--limit", "1")
    before = everything("store")
    result = limner(command, "genexam", *words, *asked, "--dry-run")
    assert "to do for 4 questions: 3 drawings" in result.out
    assert everything("store") == before
    assert chat.counts()["total"] == 0


@pytest.mark.slow
def test_the_same_sample_is_drawn_marked_and_estimated(words: list[str], judge: str, small_exam: SmallExam) -> None:
    picked = ("--sample", "2", "--sample-seed", "7")
    estimate = limner("estimate", "genexam", *words, "--judge", judge, *picked, "--format=json").json()
    assert [step["steps"] for step in estimate["steps"]] == [2, 2]
    assert limner("draw", "genexam", *words, *picked, "--format=json").json()["done"] == 2
    # From the store alone, the same ones are chosen.
    marked = limner("mark", "genexam", "--judge", judge, "--store", "store", *picked, "--format=json").json()
    assert (marked["done"], marked["stored"], marked["failed"]) == (2, 2, 0)
    again = limner("run", "genexam", *words, "--judge", judge, *picked, "--format=json").json()
    assert (again["done"], again["stored"]) == (0, 4)
    (row,) = limner("scores", "genexam", "--store", "store", *picked, "--format", "json").json()
    assert (row["coverage"], row["expected"]) == (1, 2)
    assert limner("run", "genexam", *words, "--judge", judge, "--sample", "9", "--dry-run", "--format=json").json() == {
        "drawings": 2, "markings": 2, "questions": 4,
    }  # fmt: skip


def test_questions_are_selected_by_ids_tags_limit_and_subset(
    words: list[str], judge: str, small_exam: SmallExam
) -> None:
    Path("ids.txt").write_text("\n".join(small_exam.ids[:3]), "utf-8")
    picked = ("--ids", "@ids.txt", "--where", "difficulty=medium", "--limit", "1")
    limner("run", "genexam", *words, "--judge", judge, *picked)
    assert [row["id"] for row in limner("export", "genexam", "--store", "store").lines()] == [small_exam.ids[1]]
    limner("run", "genexam", *words, "--judge", judge, "--subset", "mini")
    assert len(limner("export", "genexam", "--store", "store").lines()) == 2


def spoil(exam: SmallExam) -> Path:
    file = exam.data / "annotations" / "All_Subjects.jsonl"
    file.write_text(file.read_text("utf-8").replace('"medium"', '"extreme"', 1), "utf-8")
    return exam.data


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


@pytest.mark.slow
@pytest.mark.parametrize(("given", "code", "message"), WRONG.values(), ids=WRONG)
def test_usage_errors_are_reported_and_create_no_files(
    small_exam: SmallExam, given: Callable[[SmallExam], list[str]], code: int, message: str
) -> None:
    drawn = ("--painter", f"mine=folder/{small_exam.drawings}", "--data", small_exam.data)
    limner("draw", "genexam", *drawn, "--store", "old")
    before = everything("old")
    words = given(small_exam)
    if "--data" not in words:
        words += ["--data", str(small_exam.data)]
    for store in ("new", "old"):
        found = limner("run", "genexam", *words, "--store", store, code=code)
        assert message in found.err
        assert "Traceback" not in found.err
    assert not Path("new").exists()
    assert everything("old") == before


def test_differences_from_preset_are_reported(words: list[str], judge: str) -> None:
    asked = ("--preset", "paper", "--judge", judge, "--variant", "release", "--judge-arg", "seed=7")
    result = limner("run", "genexam", *words, *asked)
    assert f"differs from preset paper: judge {judge} instead of openai/gpt-5-2025-08-07" in result.err
    assert "differs from preset paper: variant release instead of paper" in result.err
    assert "differs from preset paper: seed=7 added" in result.err
    assert "reading paper" in result.out


def test_files_for_the_same_id_are_reported(words: list[str], judge: str, small_exam: SmallExam) -> None:
    first, second = small_exam.ids[:2]
    (small_exam.drawings / f"{first}.JPG").write_bytes(picture(1, "JPEG"))
    (small_exam.drawings / f"{second.lower()}.png").write_bytes(picture(1))
    result = limner("run", "genexam", *words, "--judge", judge, code=3)
    assert f"note: mine: files for the same id: {first}.JPG, {first}.png" in result.err
    assert f"note: mine: files for the same id: {second}.png, {second.lower()}.png" in result.err
    assert "several files fit" in result.err
    states = {row["id"]: row["status"] for row in limner("export", "genexam", "--store", "store").lines()}
    assert states == {id: "missing" if id == first else "done" for id in small_exam.ids}


def test_misnamed_files_are_reported_and_fixed_by_rename_list(
    words: list[str], judge: str, small_exam: SmallExam, tmp_path: Path
) -> None:
    for file in small_exam.drawings.iterdir():
        file.rename(file.with_name(file.name.lower().replace("_", " - it's ")))
    output = limner("run", "genexam", *words, "--judge", judge, code=2).err
    assert "no image is named after a question" in output
    assert "note: mine: 4 files look misnamed: " in output
    assert f"`limner exam rename genexam {small_exam.drawings}` lists how to rename them" in output
    here = ("--data", small_exam.data)
    listed = limner("exam", "rename", "genexam", small_exam.drawings, *here)
    assert "4 of 4 questions have no image; renaming would fix 4" in listed.err
    subprocess.run(["sh"], input=listed.out, text=True, check=True)
    assert limner("run", "genexam", *words, "--judge", judge, "--format=json").json()["done"] == 8
    assert limner("exam", "rename", "genexam", small_exam.drawings, *here).out == ""


def test_store_is_taken_from_environment(words: list[str], judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_STORE", "elsewhere")
    limner("run", "genexam", *words[:4], "--judge", judge)
    assert Path("elsewhere", "limner.db").is_file()
    assert "mine" in limner("scores", "genexam").out


def test_budget_applies_per_shard_and_note_reports_it() -> None:
    words = ["run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--limit", "2", "--dry-run"]
    result = limner(*words, "--shard", "1/4", "--budget", "5")
    assert "note: --budget 5 is for this shard alone: all 4 shards together may spend $20\n" in result.err
    counts = [limner(*words, "--shard", f"{i}/2", "--format=json").json()["drawings"] for i in (1, 2)]
    assert sum(counts) == 2


ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def drawn(progress: Progress, width: int = 80, height: int = 24, *, ended: bool = False) -> list[str]:
    """The lines of the bars, 20 seconds after the start, as they are read."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=height, color_system=None)
    bars = ProgressBars(progress, clock=lambda: progress.started + 20)
    bars.ended = ended
    console.print(bars)
    return [line.rstrip() for line in ESCAPE.sub("", out.getvalue()).splitlines()]


@pytest.fixture
def progress() -> Progress:
    """Two painters, one of which fails at times, and a judge."""
    found = Progress(total=60)
    for name in ("openai/gpt-image-1", "a-painter-with-quite-a-long-name"):
        found.part("draw", name).total = 20
    found.part("mark", "ocr").total = 20
    for n in range(12):
        part = found.part("draw", "openai/gpt-image-1")
        part.spent, found.spent = part.spent + 0.04, found.spent + 0.04
        found.count(f"q{n}", "failed" if n == 3 else "done", "refused" if n == 3 else None, "no", of=part)
    for n in range(4):
        found.count(f"q{n}", "done", of=found.part("mark", "ocr"))
    return found


@pytest.mark.parametrize("width", [60, 80, 140])
def test_each_painter_and_judge_has_progress_bar(progress: Progress, width: int) -> None:
    lines = drawn(progress, width)
    assert max(map(len, lines)) <= width
    first, second, third, last = lines
    assert first.startswith("draw openai")
    assert [*first.split()[-7:]] == ["12/20", "1", "failed", "0.6/s", "$0.48", "13s", "left"]
    assert second.split()[-4:] == ["0/20", "0.0/s", "$0.00", "…"]
    assert third.split()[:2] == ["mark", "ocr"]
    assert last.split()[0] == "all"
    assert last.split()[-6:] == ["16/60", "1", "failed", "0.8/s", "$0.48", "…"], "one painter has not begun"
    assert ("a-painter-with-quite-a-long-name" in second) == (width == 140)
    assert "━" in first


def test_control_characters_in_names_are_neutralised() -> None:
    found = Progress(total=1)
    found.part("draw", "evil\x1b[2J\nname[red]").total = 1
    (line, _) = drawn(found, 140)
    assert "evil\\u001b[2J name[red]" in line


def on_terminal(words: list[str], folder: Path, act: Callable[[int, str], None] = lambda _pid, _said: None) -> str:
    """What a command writes to a terminal of 80 columns; `act` sees it as it comes."""
    leader, follower = pty.openpty()
    os.set_blocking(leader, True)
    env = environment({"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PYTHONPATH": str(folder)})
    code = "from limner.cli import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=env,
        start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    said = b""
    try:
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # The other end is closed: the command has ended.
                break
            if not data:
                break
            said += data
            act(started.pid, said.decode(errors="replace"))
    finally:
        os.close(leader)
        started.wait(60)
    return said.decode(errors="replace") + f"\nexit {started.returncode}"


SLOW = """
import os, time
from PIL import Image

drawn = []

def draw(prompt):
    # The second waits until the command has been interrupted as often as it is to be.
    while len(drawn) == 1 and not os.path.exists("interrupted"):
        time.sleep(0.05)
    drawn.append(prompt)
    return Image.new("RGB", (64, 64), "white")
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [0, 1, 2])
def test_terminal_is_restored_after_run_and_interrupts(tmp_path: Path, times: int) -> None:
    """Run to its end, interrupted once, and twice: the cursor is back, and no mode is left on."""
    (tmp_path / "slow.py").write_text(SLOW, "utf-8")
    if not times:
        (tmp_path / "interrupted").touch()
    words = ["draw", "sample/genexam", "--painter", "mine=python/slow:draw", "--store", "s", "--concurrency", "1"]
    words += ["--limit", "3" if not times else "13"]
    sent: list[int] = []

    def act(pid: int, output: str) -> None:
        begun = re.search(r"[1-9]\d*/13", output) and len(sent) < 1
        again = sent and len(sent) < times and "stopping" in output
        if times and (begun or again):
            os.kill(pid, signal.SIGINT)
            sent.append(pid)
        if times and len(sent) == times and "stopping" in output:
            (tmp_path / "interrupted").touch()

    output = on_terminal(words, tmp_path, act)
    assert times == 0 or "draw mine" in ESCAPE.sub("", output)
    assert output.count("\x1b[?25l") <= output.count("\x1b[?25h"), "the cursor is hidden"
    assert output.rfind("\x1b[?25h") > output.rfind("\x1b[?25l")
    assert "\x1b[?1049h" not in output, "no other screen is used"
    assert output.endswith(f"exit {130 if times else 0}")
    if times == 0:
        assert "3/3" in output
    if times == 1:
        assert "interrupted; run the same command again to resume" in output
    if times == 2:
        assert len(sent) == 2


@pytest.mark.slow
def test_piped_lines_stay_plain(tmp_path: Path) -> None:
    from tests.cli.invoke import limner

    result = limner("draw", "sample/genexam", "--painter", "control/blank", "--limit", "2", "--store", tmp_path / "s")
    assert re.fullmatch(r"2/2 done · 0 failed · \d+\.\d/s · \$0\.00\n", result.err)


@pytest.mark.parametrize(
    "command", ["run", "draw", "mark", "evidence", "build run", "examine-judge", "exam prove", "modes", "rate"]
)
def test_commands_have_ray_options(command: str) -> None:
    output = limner(*command.split(), "--help-all").out
    assert "--ray auto|HOST:PORT" in output
    assert "--ray-gpus" in output


def test_ray_gpus_without_ray_is_usage_error() -> None:
    output = limner("run", "sample/genexam", "--painter", "control/reference", "--ray-gpus", "0.5", code=2).err
    assert "--ray-gpus and --ray-workers need --ray" in output


def test_dry_run_joins_no_cluster() -> None:
    words = ("run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--ray", "nowhere:1")
    assert "to do for" in limner(*words, "--dry-run").out
    assert limner(*words[:-1], "ray://x:1", code=2).err.count("--ray ray://x:1: give auto or HOST:PORT") == 1


def test_unreachable_cluster_is_an_error() -> None:
    need("ray", find_spec("ray") is not None, "pip install 'limner[ray]'")
    words = ("run", "sample/genexam", "--painter", "control/reference", "--limit", "1", "--ray", "nowhere:1")
    assert "no cluster found" in limner(*words, code=2).err


def test_messages_are_wrapped_between_words_on_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from limner.cli import say

    message = "limner: " + "an address " * 12 + "http://127.0.0.1:8000/" + "v1/" * 30
    say(message, err=True)
    assert capsys.readouterr().err == f"{message}\n"
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    say(message, err=True)
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines) == message
    assert all(len(line) <= 80 for line in lines[:-1])


def test_finished_bars_leave_one_line_and_budget_says_what_helps(progress: Progress) -> None:
    assert drawn(progress, ended=True) == ["16/60 done · 1 failed · 0.8/s · $0.48 · 55s left"]
    progress.waiting = {"the budget": 7}
    lines = drawn(progress)
    assert "waiting calls: 7 for the budget" in lines
    assert "a higher --budget, or shorter replies" in " ".join(lines)
