"""Merged stores have what one store would have: no row lost, none doubled, in any order."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.core.errors import NoStore, StoreError, UsageError
from limner.running.estimate import spent
from limner.running.merge import merge
from limner.running.merge_tables import RULES
from limner.running.repair import verify
from limner.store import Store
from limner.store.records import load_drawings
from limner.store.schema import VERSION, drawings, markings, metadata
from tests.running.merging.made import dump, images, make_whole, split, standings
from tests.store.openers import KILL_STEPS, set_version
from tests.support import picture


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with make_whole(tmp_path_factory.mktemp("whole")) as store:
        yield store


def urls(stores: list[Store]) -> list[str]:
    for store in stores:
        store.close()
    return [str(store.file.parent) for store in stores if store.file is not None]


def bytes_of(folder: str) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def test_every_table_has_rule_and_rules_name_existing_columns(whole: Store) -> None:
    assert set(metadata.tables) <= set(RULES)
    assert all(not RULES[name].travels for name in RULES.keys() - metadata.tables.keys())
    for name, rule in RULES.items():
        if rule.travels and not rule.journal:
            columns = set(metadata.tables[name].columns.keys())
            assert {*rule.same, rule.by, *rule.united, *rule.sums} <= columns, name
            assert not rule.final or "status" in columns
    assert sum(bool(rows) for rows in dump(whole).values()) >= 22  # The tests here are about all of version 5.


@pytest.mark.slow
def test_merging_parts_in_any_order_gives_whole(whole: Store, tmp_path: Path) -> None:
    chance = random.Random(0)
    parts = urls(split(whole, 3, chance, tmp_path))
    before = [bytes_of(part) for part in parts]
    wanted = dump(whole)
    orders = list(itertools.permutations(parts))
    for n, order in enumerate(chance.sample(orders, 2)):
        target = str(tmp_path / f"target{n}")
        report = merge(target, order)
        assert (report.contradictions, report.written, report.whole) == ([], True, True)
        with Store(target) as merged:
            assert dump(merged) == wanted
            assert images(merged) == images(whole)
            assert standings(merged) == standings(whole)
            assert spent(merged) == spent(whole)
            assert {part.state for part in verify(merged)} == {"ok"}
        there = bytes_of(target)
        again = merge(target, order[::-1])
        assert (again.written, [dict(one.new) for one in again.sources]) == (False, [{}] * 3)
        assert bytes_of(target) == there
    assert [bytes_of(part) for part in parts] == before


@pytest.mark.slow
def test_dry_run_gives_same_report_and_writes_no_files(whole: Store, tmp_path: Path) -> None:
    parts = urls(split(whole, 2, random.Random(1), tmp_path))
    target = tmp_path / "target"
    planned = merge(str(target), parts, dry_run=True)
    assert not target.exists()
    done = merge(str(target), parts)
    assert planned.to_json() | {"written": True} == done.to_json()
    there = bytes_of(str(target))
    assert merge(str(target), parts, dry_run=True).written is False
    assert bytes_of(str(target)) == there


def two(whole: Store, tmp_path: Path) -> tuple[str, str]:
    """A copy of the whole, and another one."""
    copies = (str(tmp_path / "one"), str(tmp_path / "other"))
    for copy in copies:
        shutil.copytree(place(whole), copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    return copies


def place(store: Store) -> str:
    """The folder of a store, its database all in one file."""
    assert store.file is not None
    store.write(lambda _: None)
    with sqlite3.connect(store.file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return str(store.file.parent)


def change(url: str, statement: sa.Update) -> None:
    with Store(url) as store:
        assert store.write(lambda connection: connection.execute(statement).rowcount) == 1


@pytest.mark.slow
def test_contradictions_are_reported_and_target_unchanged(whole: Store, tmp_path: Path) -> None:
    one, other = two(whole, tmp_path)
    drawing = next(row for row in load_drawings(whole, "genexam") if row.status == "done")
    with Store(other) as store:
        image, _ = store.blobs.put(picture(77))
    mine = drawings.c.id == drawing.id
    change(other, drawings.update().where(mine).values(image=image, created=drawing.created + 5))
    for target, source in ((one, other), (other, one), (str(tmp_path / "new"), one)):
        before = bytes_of(target) if Path(target).exists() else None
        report = merge(target, [source, other] if target.endswith("new") else [source])
        (wrong,) = report.contradictions
        assert (wrong.table, wrong.id, wrong.columns) == ("drawings", drawing.id, ("image",))
        assert "under another painter name" in str(wrong)
        assert wrong.source in str(wrong)
        assert report.written is False
        assert (bytes_of(target) if Path(target).exists() else None) == before
    # Asked for, the earlier stands, wherever it is.
    for target, source in ((one, other), (other, one)):
        assert merge(target, [source], keep_earlier=True).contradictions != []
    with Store(one) as merged, Store(other) as turned:
        assert dump(merged) == dump(turned) == dump(whole)
        assert merged.blobs.get(image) == picture(77)  # The other's image is not lost.


@pytest.mark.slow
def test_result_replaces_fault_in_either_direction(whole: Store, tmp_path: Path) -> None:
    one, other = two(whole, tmp_path)
    with Store(one) as store, store.reading() as connection:
        marking = connection.execute(sa.select(markings).where(markings.c.status == "done")).first()
    assert marking is not None
    lost = {"status": "failed", "fault": "network", "detail": "gone", "created": marking.created + 9, "marks": None}
    change(one, markings.update().where(markings.c.id == marking.id).values(**lost))
    source = bytes_of(one)
    assert merge(other, [one]).written is False
    assert merge(one, [other]).sources[0].changed == {"markings": 1}
    assert bytes_of(one) != source
    with Store(one) as merged:
        assert dump(merged) == dump(whole)


@pytest.mark.parametrize("other", ["source", "target"])
def test_a_store_of_another_version_is_refused(tmp_path: Path, other: str) -> None:
    for name in ("source", "target"):
        Store(tmp_path / name).close()
    set_version(str(tmp_path / other), str(VERSION + 1))
    with pytest.raises(StoreError, match=rf"{other} has version {VERSION + 1}, and this Limner reads only version"):
        merge(str(tmp_path / "target"), [str(tmp_path / "source")])


def test_missing_source_and_repeated_store_are_refused(whole: Store, tmp_path: Path) -> None:
    with pytest.raises(NoStore, match=r"no store at .*nothing"):
        merge(str(tmp_path / "target"), [str(tmp_path / "nothing")])
    one, _ = two(whole, tmp_path)
    for same in (one, f"{one}/.", f"sqlite:///{one}/limner.db"):
        with pytest.raises(UsageError, match="is named twice"):
            merge(one, [same])


@pytest.mark.slow
def test_image_missing_in_one_store_is_taken_from_another(whole: Store, tmp_path: Path) -> None:
    one, other = two(whole, tmp_path)
    (lost, *_) = sorted(images(whole))
    for store in (one, other):
        (Path(store) / "blobs" / lost).unlink()
    report = merge(str(tmp_path / "first"), [one])
    assert (report.whole, list(report.sources[0].images.lost)) == (False, [lost[3:67]])
    (Path(other) / "blobs" / lost).write_bytes(b"damaged")
    assert not merge(str(tmp_path / "second"), [one, other]).whole
    assert merge(str(tmp_path / "third"), [one, other, place(whole)]).whole
    with Store(tmp_path / "third") as merged:
        assert images(merged) == images(whole)


KILL = (
    KILL_STEPS
    + """
from limner.running.merge import merge

sources, targets, count = json.loads(sys.argv[1])
for n, target in enumerate(targets):
    last = 0 if n == 0 else max(1, total * n // (count + 1))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        merge(target, sources)
        os.write(write, str(steps).encode())
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if n == 0:
        total = int(os.read(read, 20))
print(json.dumps(ends))
"""
)


@pytest.mark.slow
def test_killed_merge_writes_all_rows_or_none_and_can_be_repeated(whole: Store, tmp_path: Path) -> None:
    parts, points = urls(split(whole, 2, random.Random(3), tmp_path)), 4
    before, wanted = [bytes_of(part) for part in parts], dump(whole)
    targets = [str(tmp_path / f"killed{n}") for n in range(points + 1)]
    # The first is not killed, and says how many steps there are.
    command = [sys.executable, "-c", KILL, json.dumps([parts, targets, points])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, json.loads(ended.stdout)) == (0, [0] + [-9] * points), ended.stderr
    halves = 0
    for target in targets[1:]:
        if Path(target).exists():
            with Store(target) as killed:
                tables = dump(killed)
                assert tables == wanted or not any(rows for name, rows in tables.items() if name != "meta")
                halves += bool(images(killed)) and not tables["drawings"]
        assert merge(target, parts).whole
        with Store(target) as merged:
            assert (dump(merged), images(merged)) == (wanted, images(whole))
    assert halves > 0
    assert [bytes_of(part) for part in parts] == before
