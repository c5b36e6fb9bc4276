"""One process: whatever it sends, it harms its own job and nothing else."""

from __future__ import annotations

import json
import os
import pickle
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limner.workers import JobFailure, JobResult, Recipe, WorkerDeath
from limner.workers import process as module
from limner.workers.frames import LENGTHS, MARK
from limner.workers.process import Process

READY = """
import json, os, struct, sys, threading
def send(data):
    while data:
        data = data[os.write(1, data):]
def frame(head, total=0):
    words = json.dumps({"sizes": [], **head}).encode()
    return struct.pack(">4sIQ", b"LMN1", len(words), total) + words
send(frame({"ready": True}))
"""


@pytest.fixture
def lying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes processes that are ready, and then run some code instead of answering."""
    made: list[Process] = []

    def start(code: str) -> Process:
        (tmp_path / "child.py").write_text(READY + code, "utf-8")
        monkeypatch.setattr(module, "CHILD", tmp_path / "child.py")
        made.append(Process(Recipe("liar", "none:none", most=1000)))
        made[-1].load()
        return made[-1]

    yield start
    for each in made:
        each.stop()


def asked(process: Process, seconds: float = 30.0, items: Any = None) -> list[Any]:
    return list(process.ask({}, (), seconds, items))


class Trap:
    """Makes a file where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.place),))


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_pickle_is_not_loaded(lying: Any, tmp_path: Path, wrapped: bool) -> None:
    data = pickle.dumps(Trap(tmp_path / "sprung"))
    if wrapped:
        data = LENGTHS.pack(MARK, len(data), 0) + data
    with pytest.raises(WorkerDeath, match="its worker was ended"):
        asked(lying(f"send({data!r}); threading.Event().wait()"))
    assert not (tmp_path / "sprung").exists()


LIES = {
    "ten gigabytes": ('send(struct.pack(">4sIQ", b"LMN1", 20, 10_000_000_000) + b"x" * 2**20)', "10,000,000,000 bytes"),
    "a long header": ('send(struct.pack(">4sIQ", b"LMN1", 2**32 - 1, 0) + b"x" * 2**20)', "4,294,967,295 bytes"),
    "more than asked": ('send(frame({"job": 1, "place": 0, "sizes": [1001]}, 1001))', "1,001 bytes"),
    "garbage": ('send(b"\\xff" * 4096)', "no frame"),
    "no object": ('send(struct.pack(">4sIQ", b"LMN1", 2, 0) + b"[]")', "does not fit"),
    "another job": ('send(frame({"job": 7, "place": 0, "value": 1}))', "another question"),
    "another item": ('send(frame({"job": 1, "place": 1, "value": 1}))', "for no item"),
    "an odd item": ('send(frame({"job": 1, "place": [], "value": 1}))', "for no item"),
    "an item twice": ('send(frame({"job": 1, "place": 0, "value": 1}) * 2)', "for no item"),
}


@pytest.mark.parametrize(("code", "said"), LIES.values(), ids=LIES)
def test_what_is_no_answer_is_the_end_of_the_worker(lying: Any, code: str, said: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process = lying(code + "; threading.Event().wait()")
    with pytest.raises(WorkerDeath, match=said) as caught:
        asked(process)
    assert not caught.value.late
    assert not process.alive
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


DRIP = """
def drip():
    while True:
        send(b"L"); send(b""); threading.Event().wait(0.05)
send(struct.pack(">4sIQ", b"LMN1", 1000, 0)); drip()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "threading.Event().wait()",
        DRIP,
        "while True: os.write(2, b'words' * 1000)",
        "os.close(2); threading.Event().wait()",
    ],
    ids=["silent", "dripping", "babbling", "mute"],
)
def test_the_time_limit_holds_whatever_it_does(lying: Any, code: str) -> None:
    with pytest.raises(WorkerDeath, match=r"no result within 0\.3 s") as caught:
        asked(lying(code), 0.3)
    assert caught.value.late


@pytest.mark.slow
def test_it_holds_though_someone_outside_the_group_keeps_the_pipe(lying: Any, tmp_path: Path) -> None:
    escaped = f"""
if os.fork() == 0:
    os.setsid()
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    threading.Event().wait()
threading.Event().wait()
"""
    began = time.monotonic()
    with pytest.raises(WorkerDeath):
        asked(lying(escaped), 1.0)
    assert time.monotonic() - began < 120
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_faults_of_items_and_of_all(lying: Any) -> None:
    code = """
send(frame({"job": 1, "place": 1, "value": "second"}))
send(frame({"job": 1, "place": 0, "fault": "refusal", "detail": 5}))
send(frame({"job": 1, "fault": ["odd"], "end": True}))
threading.Event().wait()
"""
    found = asked(lying(code), items=[[{}, 0]] * 3)
    assert [place for place, _ in found] == [1, 0, None]
    assert found[0][1] == JobResult("second")
    assert [(each.kind, each.detail) for _, each in found[1:] if isinstance(each, JobFailure)] == [
        ("refusal", "5"), ("['odd']", "")
    ]  # fmt: skip


def test_nothing_is_taken_for_ready_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "child.py").write_text(READY.replace('{"ready": True}', '{"value": 1}'), "utf-8")
    monkeypatch.setattr(module, "CHILD", tmp_path / "child.py")
    with pytest.raises(WorkerDeath, match="an answer before the question") as caught:
        Process(Recipe("liar", "none:none")).load()
    assert caught.value.loading


def test_what_it_prints_is_kept_in_part(lying: Any) -> None:
    process = lying("os.write(2, b'words ' * 10_000); os.write(2, json.dumps('the end').encode()); os._exit(1)")
    with pytest.raises(WorkerDeath, match="the end") as caught:
        asked(process)
    assert json.dumps("the end") in caught.value.heard
    assert len(caught.value.heard) <= module.HEARD
