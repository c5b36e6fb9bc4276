"""The page's script of a Slurm array: run by bash, as Slurm would run its tasks, against a fake service."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from limner.store import Store
from limner.store.markings import load_markings
from tests.docs.blocks import ROOT, blocks
from tests.fakes import ChatServer
from tests.support import JUDGE, environment, write_exam, write_settings

QUESTIONS = 12


class Cluster:
    """Runs tasks of the script as a user would change it."""

    def __init__(self, folder: Path, run: str) -> None:
        (block,) = (one for one in blocks(ROOT / "docs" / "many-machines.md") if one.language == "bash")
        (old,) = (line for line in block.lines if line.startswith("RUN=(limner run "))
        text = block.text.replace(old, f"RUN=(limner run {run})").replace("SHARDS=8 ", "SHARDS=2 ")
        self.folder, self.file, self.scratch = folder, folder / "limner-array.sh", folder / "scratch"
        self.file.write_text(text, "utf-8")
        self.scratch.mkdir()
        program = folder / "bin" / "limner"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from limner.cli import main; main()" "$@"\n', "utf-8")
        program.chmod(0o755)
        self.env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "SLURM_TMPDIR": str(self.scratch)}

    def start(self, task: int) -> subprocess.Popen[str]:
        given = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": f"7{task}"}
        return subprocess.Popen(
            ["bash", str(self.file)], cwd=self.folder, env=environment(self.env | given), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, task: int) -> None:
        with self.start(task) as process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out

    def marked(self, task: int) -> list[str]:
        with Store(self.folder / "limner-shards" / f"shard-{task}") as store:
            return [one.drawing for one in load_markings(store, "genexam")]


@pytest.mark.slow
def test_array_tasks_complete_run_and_resume(tmp_path: Path, chat: ChatServer) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    write_settings(tmp_path, chat.base_url)
    words = f'genexam --data "$PWD/data" --painter "mine=folder/$PWD/{exam.drawings.name}"'
    cluster = Cluster(tmp_path, f"{words} --judge {JUDGE} --concurrency 1")
    shards = tmp_path / "limner-shards"

    # The first task's time is up while its first call is in flight: that one is finished and kept.
    chat.configure(hold=1000)
    with cluster.start(1) as process:
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

    cluster.run(1)
    cluster.run(2)
    first, second = cluster.marked(1), cluster.marked(2)
    assert set(done) <= set(first)
    assert (len(first) + len(second), set(first) & set(second)) == (QUESTIONS, set())
    assert Counter(chat.counts()["by_key"].values()) == {1: QUESTIONS}

    # The task ended when its copy was whole and did not stand in its place yet.
    shutil.copytree(shards / "shard-2", shards / "new-2")
    (shards / "shard-2").rename(shards / "old-2")
    cluster.run(2)
    assert Counter(chat.counts()["by_key"].values()) == {1: QUESTIONS}
    assert sorted(path.name for path in shards.iterdir()) == ["shard-1", "shard-2"]
    assert list(cluster.scratch.iterdir()) == []
