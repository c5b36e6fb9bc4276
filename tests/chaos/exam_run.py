"""A small exam with a folder of drawings and a fake judge, run by the command line in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limner.store import Store
from limner.store.markings import Marking, load_markings
from limner.store.records import Drawing, load_drawings
from tests.cli.invoke import Said, limner
from tests.fakes import ChatServer
from tests.support import JUDGE, SmallExam, write_exam, write_settings


@dataclass
class ExamRun:
    """One exam, one folder painter, one judge, one store called ``store`` in the working folder."""

    folder: Path
    exam: SmallExam
    chat: ChatServer

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def painter(self) -> str:
        return f"mine=folder/{self.exam.drawings}"

    def draw(self, *more: str | Path, code: int | None = 0) -> Said:
        words = (
            "draw",
            "genexam",
            "--data",
            self.exam.data,
            "--painter",
            self.painter,
            "--store",
            "store",
            "--format=json",
        )
        return self._said(*words, *more, code=code)

    def run(self, *more: str | Path, code: int | None = 0) -> Said:
        words = ("run", "genexam", "--data", self.exam.data, "--painter", self.painter, "--judge", JUDGE)
        return self._said(*words, "--store", "store", "--format=json", *more, code=code)

    def mark(self, *more: str | Path, code: int | None = 0) -> Said:
        return self._said("mark", "genexam", "--judge", JUDGE, "--store", "store", "--format=json", *more, code=code)

    def _said(self, *words: str | Path, code: int | None) -> Said:
        said = limner(*words, code=code)
        assert "Traceback" not in said.err
        return said

    def asked(self) -> int:
        return int(self.chat.counts()["total"])

    def drawings(self) -> list[Drawing]:
        with Store(self.store, create=False) as store:
            return sorted(load_drawings(store, "genexam"), key=lambda drawing: drawing.question_id)

    def markings(self) -> list[Marking]:
        with Store(self.store, create=False) as store:
            return list(load_markings(store, "genexam"))

    def blob(self, number: int = 0) -> Path:
        """The file of a drawing's image."""
        image = self.drawings()[number].image
        (path,) = (self.store / "blobs").rglob(f"{image}.*")
        return path


def make(folder: Path, chat: ChatServer, patch: pytest.MonkeyPatch, count: int = 4) -> ExamRun:
    """In `folder`, which becomes the working folder."""
    write_settings(folder, chat.base_url)
    patch.chdir(folder)
    patch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
    return ExamRun(folder, write_exam(folder, count), chat)


def damage(path: Path, how: str) -> bytes:
    """Truncate a file, or change one of its bytes; returns what it was."""
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        changed = bytearray(data)
        changed[len(changed) // 2] ^= 0x40
        path.write_bytes(bytes(changed))
    return data


def tree(folder: Path) -> dict[str, Any]:
    """Every file below a folder with its size and time of change."""
    files = {}
    for path in sorted(folder.rglob("*")):
        seen = os.lstat(path)
        files[str(path.relative_to(folder))] = (seen.st_size, seen.st_mtime_ns)
    return files


def as_nobody(say: Callable[[], Said]) -> tuple[int, str, str]:
    """Exit code, output and messages of a command that another user gives, who may do less than root.

    What the command imports must have been imported before: that user need not be let into where Python lies.
    """
    folder = Path.cwd()
    for above in (*folder.parents[:-1], folder):
        above.chmod(above.stat().st_mode | 0o011)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            result = say()
            os.write(write, json.dumps([result.code, result.out, result.err]).encode())
        except BaseException as error:
            os.write(write, json.dumps([-1, "", repr(error)]).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        code, out, err = json.loads(pipe.read())
    os.waitpid(child, 0)
    return code, out, err
