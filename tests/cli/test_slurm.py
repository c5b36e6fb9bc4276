"""The template of a Slurm array: its body under bash, as Slurm would run its tasks, against a fake service."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from limner.cli import COMMANDS
from limner.store import Store
from limner.store.markings import load_markings
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.support import JUDGE, environment, write_exam, write_settings

QUESTIONS = 12


def test_the_template_is_printed_and_is_bash(tmp_path: Path) -> None:
    text = limner("work", "--slurm").out
    assert text.startswith("#!/bin/bash\n#SBATCH")
    assert "#SBATCH --array=1-8\n" in text
    assert "\nSHARDS=8 " in text
    file = tmp_path / "array.sh"
    file.write_text(text, "utf-8")
    subprocess.run(["bash", "-n", file], check=True, timeout=60)


class Cluster:
    """Runs tasks of the template as a user would change it."""

    def __init__(self, folder: Path, run: str) -> None:
        text = limner("work", "--slurm").out.replace("SHARDS=8 ", "SHARDS=2 ")
        line = next(line for line in text.splitlines() if line.startswith("RUN=(limner run "))
        self.folder, self.file, bin = folder, folder / "limner-array.sh", folder / "bin"
        self.file.write_text(text.replace(line, f"RUN=(limner run {run})"), "utf-8")
        bin.mkdir()
        program = bin / "limner"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from limner.cli import main; main()" "$@"\n', "utf-8")
        program.chmod(0o755)
        self.scratch = folder / "scratch"
        self.env = {"PATH": f"{bin}:{os.environ['PATH']}", "SLURM_TMPDIR": str(self.scratch)}

    def start(self, *words: str, task: int | None = None) -> subprocess.Popen[str]:
        given = {} if task is None else {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": f"7{task}"}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = ["bash", str(self.file), *words]
        return subprocess.Popen(command, cwd=self.folder, env=environment(self.env | given), text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def run(self, *words: str, task: int | None = None) -> str:
        with self.start(*words, task=task) as process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out
        return str(out)

    def marked(self, task: int) -> list[str]:
        with Store(self.folder / "limner-shards" / f"shard-{task}") as store:
            return [one.drawing for one in load_markings(store, "genexam")]


@pytest.mark.slow
def test_tasks_of_the_array_make_the_whole_run_and_resume(tmp_path: Path, chat: ChatServer) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    write_settings(tmp_path, chat.base_url)
    words = f'genexam --data "$PWD/data" --painter "mine=folder/$PWD/{exam.drawings.name}"'
    run = f"{words} --judge {JUDGE} --concurrency 1"
    cluster = Cluster(tmp_path, run)

    # The first task's time is up while its first call is in flight: that one is finished and kept.
    chat.configure(hold=1000)
    with cluster.start(task=1) as process:
        chat.wait_in_flight(1, timeout=60)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert any("asked to stop" in line for line in process.stdout)
        chat.configure(latency_s=1.0)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 130, out
    done = cluster.marked(1)
    assert 0 < len(done) == chat.counts()["answered"]
    chat.configure()

    cluster.run(task=1)
    cluster.run(task=2)
    first, second = cluster.marked(1), cluster.marked(2)
    assert set(done) <= set(first)
    assert (len(first) + len(second), set(first) & set(second)) == (QUESTIONS, set())
    assert Counter(chat.counts()["by_key"].values()) == {1: QUESTIONS}
    assert sorted(path.name for path in (tmp_path / "limner-shards").iterdir()) == ["shard-1", "shard-2"]
    assert list(cluster.scratch.iterdir()) == []

    # A copy that was whole when the task ended before it stood in its place.
    shards = tmp_path / "limner-shards"
    shutil.copytree(shards / "shard-2", shards / "new-2")
    (shards / "shard-2").rename(shards / "old-2")
    cluster.run(task=2)
    assert sorted(path.name for path in shards.iterdir()) == ["shard-1", "shard-2"]
    assert Counter(chat.counts()["by_key"].values()) == {1: QUESTIONS}

    assert '\n    limner merge "$TARGET" "$STORES"/shard-*\n' in cluster.file.read_text("utf-8")
    if "merge" in COMMANDS:
        cluster.run("merge")
        with Store(tmp_path / "limner-store") as store:
            assert sorted(one.drawing for one in load_markings(store, "genexam")) == sorted([*first, *second])
