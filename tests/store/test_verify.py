"""A store is looked through: what is damaged, missing or orphaned is found, and nothing else is."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner import api
from limner.running.repair import verify
from limner.store import Store
from limner.store.schema import attempts, calls, drawings, markings, metadata, questions
from limner.store.verify import TEMPORARY_PREFIX, PartReport, check
from tests.cli.invoke import limner
from tests.running.merging.made import make_whole
from tests.store.places import EVERYWHERE, NO_BUCKET
from tests.support import SmallExam, picture

PARTS = ["database", "rows", "references", "images", "orphans"]


def age(path: Path) -> None:
    os.utime(path, (time.time() - 3 * 86400,) * 2)


@pytest.fixture
def drawn(store: Store, small_exam: SmallExam) -> Store:
    painters = [f"mine=folder/{small_exam.drawings}"]
    api.run("genexam", data=small_exam.data, painters=painters, judges=["ocr"], store=store)
    return store


def states(reports: list[PartReport]) -> dict[str, str]:
    return {report.name: report.state for report in reports}


def blob(store: Store, number: int = 0) -> str:
    """The name of a drawing's file among the blobs."""
    with store.reading() as connection:
        image = connection.scalars(sa.select(drawings.c.image).order_by(drawings.c.question_id)).all()[number]
    (name,) = [name for name, _ in store.blobs.names() if str(image) in name]
    return name


@pytest.mark.slow
def test_intact_store_passes_verification(drawn: Store) -> None:
    reports = list(check(drawn))
    assert states(reports) == dict.fromkeys(PARTS, "ok")
    assert [report.looked > 0 for report in reports] == [True] * 5
    assert next(report.looked for report in reports if report.name == "images") == 8
    assert [report.name for report in check(drawn, quick=True)] == ["database"]


@pytest.mark.slow
@EVERYWHERE
def test_damaged_image_is_reported_with_its_owner(drawn: Store) -> None:
    name = blob(drawn)
    drawn.blobs._files.write(name, drawn.blobs._files.read(name)[:-9])
    reports = {report.name: report for report in check(drawn)}
    assert states(list(reports.values())) == dict.fromkeys(PARTS, "ok") | {"images": "bad"}
    (defect,) = reports["images"].defects
    assert defect.subject == name[3:67]
    assert "drawing of Biology_0 by mine" in defect.detail


@EVERYWHERE
def test_repair_restores_images_from_source_folder(drawn: Store) -> None:
    name = blob(drawn)
    data = drawn.blobs._files.read(name)
    drawn.blobs._files.write(name, data[:-9])
    drawn.blobs.remove(blob(drawn, 1))
    reports = {report.name: report for report in verify(drawn, repair=True)}
    assert (reports["images"].state, reports["images"].repaired) == ("ok", 2)
    assert drawn.blobs._files.read(name) == data
    assert states(list(check(drawn))) == dict.fromkeys(PARTS, "ok")


def test_unrecoverable_image_stays_reported(drawn: Store, small_exam: SmallExam) -> None:
    drawn.blobs._files.write(blob(drawn), b"")
    small_exam.drawing("Biology_0").write_bytes(picture(999))
    reports = {report.name: report for report in verify(drawn, repair=True)}
    assert (reports["images"].state, reports["images"].repaired) == ("bad", 0)


@pytest.mark.slow
def test_old_orphans_are_noted_and_quarantined(drawn: Store) -> None:
    sha256, _ = drawn.blobs.put(picture(4000))
    (orphan,) = Path(drawn.blobs.root).rglob(f"{sha256}.*")
    half = orphan.with_name(f"{TEMPORARY_PREFIX}abc")
    half.write_bytes(b"half")
    assert states(list(check(drawn)))["orphans"] == "ok"  # A run may be about to name them.
    age(orphan)
    age(half)
    reports = {report.name: report for report in check(drawn)}
    assert (reports["orphans"].state, len(reports["orphans"].defects)) == ("note", 2)
    reports = {report.name: report for report in verify(drawn, repair=True)}
    assert (reports["orphans"].state, reports["orphans"].repaired) == ("ok", 2)
    assert (orphan.exists(), half.exists()) == (False, False)
    assert (Path(drawn.blobs.root) / "orphans" / orphan.name).read_bytes() == picture(4000)
    assert states(list(check(drawn))) == dict.fromkeys(PARTS, "ok")


def test_old_referenced_images_are_not_orphans(drawn: Store) -> None:
    for path in Path(drawn.blobs.root).rglob("*.*"):
        age(path)
    assert states(list(check(drawn)))["orphans"] == "ok"


@pytest.mark.slow
@NO_BUCKET
@pytest.mark.parametrize(
    ("wipe", "words"),
    [
        (sa.delete(drawings), "its drawing is not in drawings"),
        (sa.delete(questions), "its question Biology_0 is not in questions"),
        (sa.delete(attempts), "it is done, but its result is missing"),
        (sa.update(markings).values(replies=[["ocr", "0" * 64]]), "is missing"),
    ],
)
def test_dangling_references_are_reported(drawn: Store, wipe: sa.Delete, words: str) -> None:
    lenient = "PRAGMA foreign_keys=OFF" if drawn.file is not None else "SET session_replication_role = replica"
    with drawn._writers.connect() as connection:
        if drawn.file is not None:
            connection.connection.dbapi_connection.execute(lenient)  # type: ignore[union-attr]
        else:
            connection.exec_driver_sql(lenient)
        connection.execute(wipe)
        connection.commit()
    reports = {report.name: report for report in check(drawn)}
    assert reports["references"].state == "bad"
    assert any(words in defect.detail for defect in reports["references"].defects)


@NO_BUCKET
def test_repair_marks_calls_without_result_as_interrupted(drawn: Store, small_exam: SmallExam) -> None:
    drawn.write(lambda connection: connection.execute(sa.delete(attempts)))
    reports = {report.name: report for report in verify(drawn, repair=True)}
    assert reports["references"].state == "ok"
    with drawn.reading() as connection:
        assert set(connection.execute(sa.select(calls.c.status, calls.c.fault)).all()) == {("failed", "interrupted")}


def test_inconsistent_index_is_rebuilt(tmp_path: Path, small_exam: SmallExam) -> None:
    store = Store(tmp_path / "store")
    api.run("genexam", data=small_exam.data, painters=[f"folder/{small_exam.drawings}"], judges=["ocr"], store=store)
    store.close()
    with closing(sqlite3.connect(tmp_path / "store" / "limner.db")) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        (before,) = connection.execute("SELECT sql FROM sqlite_master WHERE name='markings_by_setup'").fetchone()
        # The index says that it is of another column than the one it was made of.
        changed = "UPDATE sqlite_master SET sql = ? WHERE name = 'markings_by_setup'"
        connection.execute(changed, (before.replace("(setup)", "(status)"),))
        connection.commit()
    with Store(tmp_path / "store") as store:
        assert states(list(check(store)))["database"] == "bad"
        reports = {report.name: report for report in verify(store, repair=True)}
        assert (reports["database"].state, reports["database"].repaired > 0) == ("ok", True)
        assert states(list(check(store)))["database"] == "ok"


HARM = {
    "UPDATE drawings SET calls = 'not json'": "its calls is 'not json', not JSON",
    "UPDATE drawings SET created = 'x'": "its created is 'x', not a number",
    "UPDATE drawings SET seed = 1.5": "its seed is '1.5', not a whole number",
    "UPDATE drawings SET painter = 'other'": "its content was changed",
    "UPDATE questions SET body = replace(body, '\"weight\"', '\"Weight\"'), reference = 'x'": "its content was changed",
    'UPDATE attempts SET result = \'{"text": "all right"}\'': "its content was changed",
    "UPDATE markings SET marks = '[]', replies = '[]'": "its content was changed",
    "UPDATE markings SET replies = '[1]'": "its content was changed",
    "UPDATE calls SET request = '{}'": "its content does not have the form of its table",
    "UPDATE calls SET target = 'other/model'": "its content was changed",
    "UPDATE setups SET body = '{}'": "its content was changed",
}


@NO_BUCKET
def test_changed_rows_are_reported(drawn: Store) -> None:
    if drawn.file is None:
        pytest.skip("a server checks types and JSON itself")
    assert all(report.state == "ok" for report in verify(drawn))
    drawn.close()
    whole = drawn.file.read_bytes()
    for harm, words in HARM.items():
        drawn.file.write_bytes(whole)
        with closing(sqlite3.connect(drawn.file)) as connection:
            connection.execute(harm)
            connection.commit()
        with Store(drawn.file.parent) as damaged:
            reports = {report.name: report for report in verify(damaged)}
        assert reports["rows"].state == "bad", harm
        assert any(words in defect.detail for defect in reports["rows"].defects), (harm, reports["rows"].defects)


@NO_BUCKET
def test_command_names_damaged_row_and_shows_the_rest(drawn: Store) -> None:
    """A command that pays is not run on a part of a store."""
    if drawn.file is None:
        pytest.skip("a server checks types and JSON itself")
    store = str(drawn.file.parent)
    rows = limner("export", "genexam", "--store", store).lines()
    drawn.write(
        lambda connection: connection.exec_driver_sql(
            "UPDATE drawings SET calls = 'no', options = 'no' WHERE question_id = 'Biology_0'"
        )
    )
    drawn.close()
    whole = drawn.file.read_bytes()
    for command in ("export", "scores", "show", "mark"):
        words = (command, "genexam", *(["Biology_0"] if command == "show" else []), "--store", store)
        said = limner(*words, *(["--judge", "ocr"] if command == "mark" else []), code=1 if command == "mark" else 3)
        assert "Traceback" not in said.err
        assert "table drawings" in said.err
        assert "limner verify" in said.err
        if command == "export":
            assert said.lines() == [row for row in rows if row["id"] != "Biology_0"]
    assert drawn.file.read_bytes() == whole


VALUES = ("'not json'", "'{}'", "x'ff41'", "CAST(x'ff41' AS TEXT)", "-1", "NULL")
COMMANDS = [
    ("scores", "genexam"), ("compare", "genexam"), ("agree", "genexam", "--study", "pilot"),
    ("agree", "genexam", "--pairs"), ("show", "genexam", "Sample_Biology_1-0"), ("export", "genexam"), ("spend",),
    ("spend", "--purse"), ("batches", "--all"), ("estimate", "genexam", "--judge", "openai/gpt-6.1-sol"), ("verify",),
    ("study", "status", "pilot"), ("build", "list"), ("mark", "genexam", "--judge", "key"),
    ("draw", "genexam", "--painter", "control/blank"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: str(table.name))
def test_no_damaged_value_ends_in_a_traceback(tmp_path: Path, table: sa.Table) -> None:
    """A test that runs another command raises what the command raises."""
    chance = random.Random(table.name)
    whole = make_whole(tmp_path / "store")
    whole.close()
    database = tmp_path / "store" / "limner.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = database.read_bytes()
    for column in table.c:
        value, words = chance.choice(VALUES), chance.choice(COMMANDS)
        for file in database.parent.glob("limner.db-*"):
            file.unlink()
        database.write_bytes(kept)
        with closing(sqlite3.connect(database)) as connection, suppress(sqlite3.IntegrityError):
            connection.execute(f'UPDATE "{table.name}" SET "{column.name}" = {value}')
            connection.commit()
        said = limner(*words, "--store", str(database.parent), code=None)
        assert "Traceback" not in said.err, (column.name, value, words)
