"""Processes that open one store at once, or are killed while they do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable

from limner.store import Store
from limner.store.schema import meta

OPENERS = 5

_RACE = """
import json, multiprocessing, sys
from limner.store import Store

def open_all(barrier, urls, wrong):
    for url in urls:
        barrier.wait()
        try:
            Store(url).close()
        except Exception as error:
            wrong.put(str(error))

openers, urls = json.loads(sys.argv[1])
fork = multiprocessing.get_context("fork")
barrier, wrong = fork.Barrier(openers), fork.SimpleQueue()
processes = [fork.Process(target=open_all, args=(barrier, urls, wrong)) for _ in range(openers)]
for process in processes:
    process.start()
for process in processes:
    process.join()
while not wrong.empty():
    print(wrong.get())
"""

KILL_STEPS = """
import json, os, signal, sys
import sqlalchemy as sa

steps = last = 0

def step(*_):
    global steps
    steps += 1
    if steps == last:
        os.kill(os.getpid(), signal.SIGKILL)

def audit(event, _arguments):
    if event in ("sqlite3.connect", "os.remove", "os.rename"):
        step()

sys.addaudithook(audit)
for event in ("before_cursor_execute", "after_cursor_execute", "commit"):
    sa.event.listen(sa.Engine, event, step)
ends = []
"""
"""The beginning of a program that counts its steps in stores and is killed at the step number `last`."""
_KILL = (
    KILL_STEPS
    + """
from limner.store import Store

for url, last in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        Store(url).close()
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""
)


def set_version(url: str, version: str) -> None:
    """Turn a store into one of another version."""
    with Store(url) as store:
        store.write(lambda connection: connection.execute(meta.update().values(value=version)))


def race(urls: Iterable[str]) -> tuple[str, str]:
    """Several processes open each of these stores at once; what went wrong, and what they said."""
    arguments = json.dumps([OPENERS, list(urls)])
    command = [sys.executable, "-c", _RACE, arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


def killed(urls: Iterable[tuple[str, int]]) -> list[int]:
    """Open each of these stores in a process of its own, which is killed at the step given with it.

    Returns:
        Their exit codes: -9, and 0 where there were fewer steps than that, or the step is 0.
    """
    command = [sys.executable, "-c", _KILL, json.dumps(list(urls))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    ends: list[int] = json.loads(ended.stdout)
    return ends
