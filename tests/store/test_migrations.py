"""Older stores are brought forward, with a backup, all or nothing; newer ones are refused."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.core.errors import StoreError
from limner.store import Store, migrations, version_at
from limner.store.migrations import MIGRATIONS
from limner.store.records import load_setups
from limner.store.schema import VERSION, meta, setups
from tests.store.versions import BODY, killed, look, make_version_1, race, rows, shape


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A store of version 1."""
    (tmp_path / "old").mkdir()
    make_version_1(str(tmp_path / "old"))
    return str(tmp_path / "old")


def backup(url: str) -> Path:
    return Path(url) / "limner.db.v1.backup"


def test_every_version_has_its_migration() -> None:
    assert sorted(MIGRATIONS) == list(range(2, VERSION + 1))


def test_an_older_store_is_brought_forward_and_says_so_once(old: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = look(old, rows)
    with Store(old) as store:
        assert load_setups(store) == {"s": BODY}
        with store.reading() as connection:
            assert connection.scalars(sa.select(setups.c.kind)).all() == ["judge"]
    said = capfd.readouterr().err
    assert (
        said == f"the store {old} is brought from version 1 to {VERSION}; a backup of version 1 is in {backup(old)}\n"
    )
    after = look(old, rows)
    assert [row.pop("kind") for row in after["setups"]] == ["judge"]
    assert {name: found for name, found in after.items() if name in before} == before
    assert not any(found for name, found in after.items() if name not in before)
    Store(old).close()
    assert capfd.readouterr().err == ""
    assert version_at(old) == VERSION


def test_the_backup_is_the_store_as_it_was(old: str) -> None:
    as_it_was = look(old, rows), look(old, shape)
    Store(old).close()
    url = f"sqlite:///{backup(old)}"
    assert (look(url, rows), look(url, shape), version_at(url)) == (*as_it_was, 1)
    assert sorted(path.name for path in Path(old).iterdir() if "backup" in path.name) == [backup(old).name]


def test_a_backup_that_is_there_stays(old: str) -> None:
    backup(old).write_bytes(b"an earlier one")
    Store(old).close()
    assert (backup(old).read_bytes(), version_at(old)) == (b"an earlier one", VERSION)


def test_a_new_store_is_like_one_brought_forward(old: str, tmp_path: Path) -> None:
    Store(old).close()
    Store(tmp_path / "new").close()
    assert look(old, shape) == look(str(tmp_path / "new"), shape)
    assert version_at(tmp_path / "new") == VERSION
    assert not list((tmp_path / "new").glob("*backup*"))


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    url = str(tmp_path / "store")
    with Store(url) as store:
        store.write(lambda connection: connection.execute(meta.update().values(value=str(VERSION + 1))))
    before = look(url, shape)
    wanted = rf"has version {VERSION + 1}; this Limner knows versions up to {VERSION}\. Use a newer Limner"
    with pytest.raises(StoreError, match=wanted):
        Store(url)
    assert (look(url, shape), version_at(url)) == (before, VERSION + 1)


def test_the_version_is_looked_at_without_changing_anything(old: str, tmp_path: Path) -> None:
    assert version_at(old) == 1
    assert version_at(tmp_path / "none") is None
    assert not backup(old).exists()
    assert not (tmp_path / "none").exists()


def test_a_step_that_fails_leaves_the_old_store(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: sa.Connection) -> None:
        MIGRATIONS[2](connection)
        connection.execute(sa.text("ALTER TABLE nowhere ADD COLUMN x INTEGER"))

    before = look(old, shape)
    monkeypatch.setattr(migrations, "MIGRATIONS", {2: broken})
    with pytest.raises(StoreError, match=rf"has version 1 and cannot be brought to version {VERSION}: .*nowhere"):
        Store(old)
    assert (look(old, shape), version_at(old)) == (before, 1)
    monkeypatch.undo()
    Store(old).close()
    assert version_at(old) == VERSION


def test_without_room_for_a_backup_nothing_is_changed(old: str) -> None:
    backup(old).with_name(backup(old).name + ".part").mkdir()
    with pytest.raises(StoreError, match=r"has version 1 and cannot be brought to version .*; nothing was changed"):
        Store(old)
    assert version_at(old) == 1


def as_nobody(url: str) -> str:
    """What opening the store says to somebody without rights of root."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            Store(url).close()
        except StoreError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, encoding="utf-8") as pipe:
        return pipe.read()


@pytest.mark.parametrize(
    ("file", "folder", "words"),
    [
        (0o444, 0o777, ["has version 1 and cannot be brought to version", "readonly database", "nothing was changed"]),
        (
            0o666,
            0o555,
            ["has version 1 and cannot be brought to version", "put a copy of the store where it can be written"],
        ),
    ],
    ids=["file", "folder"],
)
def test_a_store_that_cannot_be_written_says_what_to_do(file: int, folder: int, words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        make_version_1(place)
        (Path(place) / "limner.db").chmod(file)
        Path(place).chmod(folder)
        said = as_nobody(place)
        Path(place).chmod(0o777)
        assert [word for word in words if word not in said] == []
        assert (version_at(place), backup(place).exists()) == (1, False)


@pytest.mark.slow
def test_several_processes_may_bring_one_store_forward_at_once(tmp_path: Path) -> None:
    urls = [str(tmp_path / str(n)) for n in range(12)]
    for url in urls:
        Path(url).mkdir()
        make_version_1(url)
    wrong, said = race(urls)
    assert wrong == ""
    assert [line.split()[2] for line in said.splitlines()] == urls  # One of them did it, and said so.
    for url in urls:
        assert (version_at(url), version_at(f"sqlite:///{backup(url)}")) == (VERSION, 1)


@pytest.mark.slow
def test_killed_at_any_step_it_is_old_or_new_and_the_next_one_ends_it(old: str, tmp_path: Path) -> None:
    with sqlite3.connect(f"{old}/limner.db") as source:
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    urls = [str(tmp_path / f"killed-{step}") for step in range(1, 91)]
    for url in urls:
        Path(url).mkdir()
        (Path(url) / "limner.db").write_bytes((Path(old) / "limner.db").read_bytes())
    ends = killed(urls)
    assert (ends.count(-9), ends.count(0)) == (steps := ends.index(0), len(urls) - steps)
    assert steps > 10
    first, found = look(old, shape), [version_at(url) for url in urls]
    assert found == [1] * (late := found.index(VERSION)) + [VERSION] * (len(urls) - late)
    assert late > 10
    for url, version in zip(urls, found, strict=True):
        assert (look(url, shape) == first) == (version == 1)
        Store(url).close()
        assert (version_at(url), version_at(f"sqlite:///{backup(url)}")) == (VERSION, 1)
        assert [path.name for path in Path(url).glob("*backup*")] == [backup(url).name]
