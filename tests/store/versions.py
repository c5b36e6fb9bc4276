"""Stores of the first version, and processes that open one store at once or are killed while they do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from limner.store.store import _engines, _places

VERSION_1 = Path(__file__).with_name("version1.sql")
BODY = {"judge": "ocr", "rules": "labels-2", "variant": "labels"}
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

_KILL = """
import json, os, signal, sys
import sqlalchemy as sa
from limner.store import Store

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
for url in json.loads(sys.argv[1]):
    last += 1
    child = os.fork()
    if not child:
        Store(url).close()
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""


def make_version_1(url: str) -> None:
    """A store as the first version made it, with one setup, one drawing and its marking."""
    _, engine = _engines(_places(url)[0])
    with engine.begin() as connection:
        for statement in VERSION_1.read_text("utf-8").split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
        rows: dict[str, dict[str, Any]] = {
            "meta": {"key": "version", "value": "1"},
            "exams": {"name": "one", "kind": "genexam", "created": 1.0},
            "setups": {"id": "s", "judge": "ocr", "body": json.dumps(BODY), "created": 2.0},
            "drawings": {
                "id": "d", "exam": "one", "question_id": "q", "question_hash": "h", "painter": "mine",
                "spec": "folder/x", "strategy": "direct", "options": "{}", "seed": 0, "status": "failed",
                "calls": "[]", "origin": "run", "created": 3.0,
            },
            "markings": {
                "id": "m", "drawing": "d", "question_hash": "h", "setup": "s", "repeat": 0, "status": "failed",
                "rounds": 0, "replies": "[]", "origin": "run", "created": 4.0,
            },
        }  # fmt: skip
        for table, row in rows.items():
            names = ", ".join(f'"{name}"' for name in row)
            values = ", ".join(f":{name}" for name in row)
            connection.execute(sa.text(f"INSERT INTO {table} ({names}) VALUES ({values})"), row)
    engine.dispose()


def look(url: str, see: Callable[[sa.Connection], Any]) -> Any:
    """What `see` finds in the database, which is not opened as a store."""
    readers, _ = _engines(_places(url)[0])
    try:
        with readers.connect() as connection:
            return see(connection)
    finally:
        readers.dispose()


def shape(connection: sa.Connection) -> dict[str, Any]:
    """Every table with its columns, keys and indexes."""
    inspector = sa.inspect(connection)
    return {
        table: (
            [(one["name"], repr(one["type"]), one["nullable"], one["default"]) for one in inspector.get_columns(table)],
            inspector.get_pk_constraint(table)["constrained_columns"],
            sorted(map(repr, inspector.get_foreign_keys(table))),
            sorted(map(repr, inspector.get_indexes(table))),
        )
        for table in sorted(inspector.get_table_names())
    }


def rows(connection: sa.Connection) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables but the version."""
    found = {}
    for table in sorted(sa.inspect(connection).get_table_names()):
        if table != "meta":
            found[table] = [dict(row._mapping) for row in connection.execute(sa.text(f"SELECT * FROM {table}"))]
    return found


def race(urls: Iterable[str]) -> tuple[str, str]:
    """Several processes open each of these stores at once; what went wrong, and what they said."""
    arguments = json.dumps([OPENERS, list(urls)])
    command = [sys.executable, "-c", _RACE, arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


def killed(urls: Iterable[str]) -> list[int]:
    """Open each of these stores in a process that is killed, the first at its first step, the next at its second …

    Returns:
        Their exit codes: -9, and 0 once there were fewer steps than that.
    """
    command = [sys.executable, "-c", _KILL, json.dumps(list(urls))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    ends: list[int] = json.loads(ended.stdout)
    return ends
