"""`limner merge`: what it says in words and in JSON, and by its exit code."""

from __future__ import annotations

from operator import methodcaller
from pathlib import Path

import pytest

from limner.store import Store
from limner.store.records import Drawing, save_drawing
from limner.store.schema import calls, exams
from tests.cli.invoke import limner
from tests.running.merging.made import spend
from tests.support import picture


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stores with a drawing each of the same slot, and calls."""
    monkeypatch.chdir(tmp_path)
    for n, name in enumerate(("one", "two")):
        with Store(name) as store:
            exam = exams.insert().values(name="e", kind="x", created=1.0)
            store.write(methodcaller("execute", exam))
            image, _ = store.blobs.put(picture(n))
            drawing = Drawing("d", "e", "q", "h", "mine", "folder/x", "direct", 0, "done", image=image, created=2.0 + n)
            save_drawing(store, drawing).result()
            spend(store, [n])


@pytest.mark.slow
def test_contradictions_are_listed_and_earlier_rows_can_be_kept() -> None:
    result = limner("merge", "all", "one", "two", code=1)
    assert "rows that contradict another store's: 1" in result.err
    assert "two: drawings d: another image; the drawing was made twice" in result.err
    assert "all: nothing was written. Fix this, or keep the earlier rows with --keep-earlier" in result.err
    assert not Path("all").exists()
    body = limner("merge", "all", "one", "two", "--format=json", code=1).json()
    (wrong,) = body["contradictions"]
    assert (body["written"], wrong["table"], wrong["id"], wrong["columns"]) == (False, "drawings", "d", ["image"])
    result = limner("merge", "all", "two", "one", "--keep-earlier")
    assert "two: new: drawings 1, calls 1, other rows 6, images 1; its cost: $0.6250" in result.out
    assert "one: new: calls 1, other rows 2, images 1; its cost: $0.5000; rows updated: " in result.out
    with Store("all") as merged, Store("one") as one, merged.reading() as found, one.reading() as wanted:
        query = "SELECT image FROM drawings"
        assert found.exec_driver_sql(query).scalar() == wanted.exec_driver_sql(query).scalar()


def test_omitted_rows_set_exit_code() -> None:
    with Store("one") as store:
        store.write(lambda connection: connection.execute(calls.update().values(status="submitted")))
    result = limner("merge", "all", "one", code=3)
    assert "calls in flight, left out: 1 (submitted); merge again once they have ended" in result.out
    for path in Path("two/blobs").rglob("*.png"):
        path.unlink()
    result = limner("merge", "other", "two", code=3)
    assert "images lost: 1; `limner verify --repair --store two` may restore them" in result.out
    assert "drawing of q by mine" in result.out


def test_merge_dry_run_writes_no_files() -> None:
    result = limner("merge", "all", "one", "--dry-run")
    assert result.out.splitlines()[-1] == "all: nothing was written (--dry-run)"
    assert not Path("all").exists()
    assert "no store at nowhere" in limner("merge", "all", "nowhere", code=1).err
    assert limner("merge", "all", code=2).err
