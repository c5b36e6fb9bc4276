"""Makes ``tests/compat/v1``: what version 0.1 stored, printed and computed, for later versions to be held to.

    python -m tests.compat.make_v1 FOLDER

was run once, at the version it fences, on a FOLDER with nothing but the limner.toml in it; that became
``tests/compat/v1``. The script is kept to tell how it came about. It uses that version's functions and tables, so it
need not run on a later one, and must not: what a later version makes is no fence for it. Needs PostgreSQL's server and
pg_dump.

FOLDER then holds
  inputs/       what the runs of `tests.compat.runs` need: an exam in GenExam's layout, drawings, results to import
  store/        limner.db and blobs/: all those runs, compacted, without blobs that nothing refers to
  store.sql.gz  the same rows as `pg_dump --inserts` writes them
  goldens/      what the commands of `tests.compat.goldens` print over that store, and what runs say when taken up again
  ids/          inputs and the keys and ids computed from them
  limner.toml   every section and field that settings know
  intended.toml the changes that are meant; see `tests.compat.intended`

In the store the name of the machine and of the working folder, which stand in claims and faults, are not as they were.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url

from limner.calls.claims import this_host
from limner.store import Store
from limner.store.schema import metadata
from tests.cli.invoke import limner
from tests.compat import goldens, make_ids, runs
from tests.compat.own_settings import own, unused
from tests.compat.runs import RUNS, SEED, STORE, Run
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer
from tests.postgres.server import PostgresServer
from tests.running.test_import_results import result
from tests.support import Gated, picture, write_exam

QUESTIONS = 12
LIMIT_BYTES = 3_000_000
MACHINE = "machine|boot|pid:[1]"


def main(target: Path) -> None:
    """Make everything."""
    assert not unused(target / "limner.toml"), unused(target / "limner.toml")
    write_inputs(target / "inputs")
    with tempfile.TemporaryDirectory() as name, StudioServer(seed=SEED) as studio, ImageServer(seed=SEED) as easel:
        work = Path(name)
        shutil.copytree(target / "inputs", work, dirs_exist_ok=True)
        runs.settle(work, studio, easel)
        with chdir(work):
            for run in RUNS:
                carry_out(run, studio, easel)
        compact(work / STORE, target / STORE)
    dump(target / STORE, target / "store.sql.gz")
    runs.V1, runs.INPUTS = target, target / "inputs"
    with tempfile.TemporaryDirectory() as name:
        write_goldens(Path(name), target)
    goldens.write(target / "goldens", "settings/own.json", own(target / "limner.toml"))
    make_ids.write(target / STORE, target / "ids")
    tidy(target / STORE)
    (target / "intended.toml").write_text(
        "# Changes of what version 0.1 printed that are meant; see tests/compat/intended.py.\n", "utf-8"
    )


def write_inputs(folder: Path) -> None:
    """An exam of twelve questions, drawings of all and of most of them, and results of its released scorer."""
    folder.mkdir()
    exam = write_exam(folder, QUESTIONS)
    (folder / "gaps").mkdir()
    for number, id in enumerate(exam.ids[:-1]):
        (folder / "gaps" / f"{id}.png").write_bytes(picture(number + 40))
    (folder / "gaps" / f"{exam.ids[1]}.png").write_bytes(b"no image")
    (folder / "results").mkdir()
    for number, row in enumerate(exam.rows[:6]):
        body = result(row, answer=int(number % 3 > 0), rating=number % 3)
        body["answers"][0]["answer"] = 1
        (folder / "results" / f"{row['id']}.json").write_text(json.dumps(body, ensure_ascii=False), "utf-8")
    (folder / "results" / f"{exam.ids[5]}.json").write_text("{", "utf-8")


def carry_out(run: Run, studio: StudioServer, easel: ImageServer) -> None:
    """Make one run in the working folder."""
    words = (*run.words, "--store", STORE, "--json")
    easel.configure(seed=SEED, **run.easel)
    plan = {"seed": SEED, **run.studio}
    if run.kill_at is None:
        studio.configure(**plan)
        said = limner(*words, code=run.code)
        print(run.name, said.out.strip(), flush=True)
        return
    process = Gated(*words, cwd=Path.cwd())
    try:
        studio.configure(**plan, kill={"pid": process.pid, "at_request": run.kill_at})
        process.go()
        assert process.end().returncode == -signal.SIGKILL
    finally:
        process.stop()
    print(run.name, "killed", flush=True)


def compact(source: Path, target: Path) -> None:
    """Copy a store without what nothing refers to and without the name of this machine."""
    (target / "blobs").mkdir(parents=True)
    with closing(sqlite3.connect(source / "limner.db")) as database:
        database.execute("PRAGMA page_size = 1024")
        database.execute("VACUUM INTO ?", (str(target / "limner.db"),))
    with closing(sqlite3.connect(target / "limner.db")) as database, database:
        for table, column in (("calls", "host"), ("calls", "detail"), ("attempts", "detail"), ("drawings", "detail")):
            for name, other in ((this_host(), MACHINE), (str(source.parent.resolve()), "/exams")):
                database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (name, other))
        text = "\n".join(database.iterdump())
    assert this_host().partition("|")[0] not in text
    for place in (str(source), tempfile.gettempdir() + "/", str(Path.cwd())):
        assert place not in text, f"{place} stands in the store"
    named = set(re.findall(r"\b[0-9a-f]{64}\b", text))
    for blob in (source / "blobs").rglob("*"):
        if blob.is_file() and blob.stem in named:
            kept = target / "blobs" / blob.relative_to(source / "blobs")
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(blob, kept)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print("store", size, "bytes", flush=True)
    assert size < LIMIT_BYTES, size


@contextmanager
def server() -> Iterator[str]:
    """A database server of our own."""
    with PostgresServer() as started:
        yield started.url


def dump(store: Path, file: Path) -> None:
    """Write a store's rows as `pg_dump --inserts` does, with the tables as Limner makes them there."""
    with server() as url:
        with Store(store) as source, Store(url) as copy, source.reading() as reader:
            for table in metadata.sorted_tables:
                rows = [dict(row._mapping) for row in reader.execute(sa.select(table))]
                copy.write(partial(_insert, copy, table, rows))
        plain = make_url(url).difference_update_query(["blobs"]).render_as_string()
        words = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--restrict-key=limner", plain]
        text = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout
    # Its own commands are for psql; the rest is plain SQL.
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("\\restrict", "\\unrest")))
    file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    tidy(store)


def _insert(store: Store, table: sa.Table, rows: list[dict[str, Any]], connection: sa.Connection) -> None:
    store.insert_new(connection, table, *rows)


def tidy(store: Path) -> None:
    """Check that the database is one file again."""
    assert {file.name for file in store.iterdir()} == {"limner.db", "blobs"}


def write_goldens(work: Path, target: Path) -> None:
    """What every command prints over a copy of the store, and what every run says that is taken up again."""
    store = runs.lay_out(work)
    with chdir(work):
        for golden in goldens.GOLDENS:
            goldens.write(target / "goldens", golden.file, golden.compute(STORE))
        with StudioServer(seed=SEED) as studio, ImageServer(seed=SEED) as easel:
            runs.settle(work, studio, easel)
            for run in RUNS:
                before = runs.count_rows(store)
                found: dict[str, Any] = runs.take_up(run, studio, easel)
                found["new_rows"] = {name: n - before[name] for name, n in runs.count_rows(store).items()}
                goldens.write(target / "goldens", f"resume/{run.name}.json", found)


if __name__ == "__main__":
    os.umask(0o022)
    main(Path(sys.argv[1]).absolute())
