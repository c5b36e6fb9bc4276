"""A second Ctrl-C ends the command, whatever it waits for."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.fakes import ChatServer
from tests.fakes.misbehaving import Misbehaving, silent
from tests.postgres.server import PostgresServer
from tests.support import JUDGE, environment, run_limner, write_exam, write_settings

pytestmark = pytest.mark.slow
GENEROUS_S = 60.0
"""Two seconds are promised; a busy machine may need more to look at the clock."""
PAUSE_S = 1.0
"""Between the signals: two of one sort sent at once arrive as one."""


class Command:
    """A command that says when it has come to the place where it is to be interrupted."""

    def __init__(self, *words: str, cwd: Path, before: str = "") -> None:
        code = f"{before}\nfrom limner.cli import main; main()"
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", code, *words], cwd=cwd, env=environment(), **pipes)  # type: ignore[call-overload]

    def interrupt_twice(self) -> float:
        """Seconds from the second signal to the end."""
        assert self.process.poll() is None, self.process.communicate()
        family = psutil.Process(self.process.pid).children(recursive=True)
        os.kill(self.process.pid, signal.SIGINT)
        time.sleep(PAUSE_S)
        began = time.monotonic()
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGINT)
        try:
            out, err = self.process.communicate(timeout=GENEROUS_S)
        finally:
            self.process.kill()
        took = time.monotonic() - began
        assert self.process.returncode == 130, (out, err)
        assert b"Traceback" not in err, err
        # Those it started are gone too.
        _, alive = psutil.wait_procs(family, timeout=30)
        assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]
        return took


def wait_for(place: Path) -> None:
    """Wait until a process has left this file, as it does where it goes no further."""
    for _ in range(3000):
        if place.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"{place} does not appear")


def test_second_interrupt_ends_run_while_server_hangs(tmp_path: Path) -> None:
    exam = write_exam(tmp_path, 4)
    with Misbehaving(silent) as service:
        write_settings(tmp_path, service.url + "/v1", timeout_s=600)
        words = ("run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}")
        command = Command(*words, "--judge", JUDGE, cwd=tmp_path)
        service.wait(1)  # The others wait for the answer to the first.
        print("hung server", command.interrupt_twice())


def test_second_interrupt_ends_run_while_database_is_locked(tmp_path: Path, chat: ChatServer) -> None:
    exam = write_exam(tmp_path, 4)
    write_settings(tmp_path, chat.base_url)
    words = ("run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}", "--judge", JUDGE)
    assert run_limner(*words, "--limit", "1", cwd=tmp_path).returncode == 0
    chat.configure(hold=100, free=1)
    command = Command(*words, cwd=tmp_path)
    chat.wait_in_flight(2)
    other = sqlite3.connect(tmp_path / "limner-store" / "limner.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    chat.configure()
    while chat.counts()["in_flight"]:
        time.sleep(0.02)
    print("locked database", command.interrupt_twice())
    other.close()


def test_second_interrupt_ends_run_while_database_server_is_down(tmp_path: Path, chat: ChatServer) -> None:
    exam = write_exam(tmp_path, 4)
    write_settings(tmp_path, chat.base_url)
    with PostgresServer() as server:
        words = ("run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}")
        chat.configure(hold=100, free=1)
        command = Command(*words, "--judge", JUDGE, "--store", server.url, cwd=tmp_path)
        chat.wait_in_flight(3)
        server.stop()
        chat.configure()
        while chat.counts()["in_flight"]:
            time.sleep(0.02)
        print("database away", command.interrupt_twice())
        server.start()


def test_second_interrupt_ends_report_while_site_is_built(tmp_path: Path) -> None:
    words = ("run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr")
    assert run_limner(*words, cwd=tmp_path, timeout=120).returncode == 0
    before = (
        "import ctypes, pathlib, threading, limner.report.site.pictures as pictures\n"
        "library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(64)\n"
        "def stuck(*_, **__):\n    library.pthread_mutex_lock(lock)\n"
        # Another thread says so, once this one waits where no signal ends it.
        f"    threading.Timer(1, pathlib.Path({str(tmp_path / 'here')!r}).touch).start()\n"
        "    library.pthread_mutex_lock(lock)\n"
        "pictures._make = stuck"
    )
    command = Command("report", "-o", "site", cwd=tmp_path, before=before)
    wait_for(tmp_path / "here")
    print("site", command.interrupt_twice())
