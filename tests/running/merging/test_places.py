"""Stores of different sorts become one: SQLite, PostgreSQL, images in folders and in buckets; and what a run did."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.calls.budget import read_purses
from limner.core.exam import Selection
from limner.running.estimate import spent
from limner.running.merge import merge
from limner.running.repair import verify
from limner.store import Store, now
from limner.store.schema import exams
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.running.merging.made import dump, images, make_whole, split
from tests.store.places import fresh_place
from tests.support import JUDGE, write_exam, write_settings


@pytest.mark.slow
def test_merge_from_files_to_server_and_back_keeps_content(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server = fresh_place(request, "s3", tmp_path, "merged")
    with make_whole(tmp_path / "whole") as whole:
        parts = split(whole, 2, random.Random(5), tmp_path)
        for part in parts:
            part.close()
        places = [str(part.file.parent) for part in parts if part.file]
        for place in places:  # An image that one part lacks comes with the other.
            assert merge(server, [place]).written
        again = merge(server, places)
        assert (again.written, again.whole) == (False, True)
        back = str(tmp_path / "back")
        assert merge(back, [server]).whole
        with Store(server) as merged, Store(back) as returned:
            for store in (merged, returned):
                assert dump(store) == dump(whole)
                assert images(store) == images(whole)
                assert spent(store) == spent(whole)
                assert read_purses(store)[0].spent == pytest.approx(read_purses(whole)[0].spent)
                assert {part.state for part in verify(store)} == {"ok"}
        # What is refused there leaves nothing either.
        with Store(places[0]) as part:
            part.write(lambda connection: connection.execute(exams.update().values(kind="mmmg")))
        refused = merge(server, places)
        assert [(wrong.table, wrong.id) for wrong in refused.contradictions] == [("exams", "genexam")]
        with Store(server) as merged:
            assert dump(merged) == dump(whole)


@pytest.mark.slow
def test_broken_row_is_reported_and_target_unchanged(tmp_path: Path) -> None:
    with Store(tmp_path / "source") as store:
        store.write(lambda connection: store.insert_new(connection, exams, _exam("one")))
        with store._writers.connect() as connection:
            connection.connection.dbapi_connection.execute("PRAGMA foreign_keys=OFF")  # type: ignore[union-attr]
            columns = "(hash, exam, id, position, body, subsets, created)"
            connection.exec_driver_sql(f"INSERT INTO questions {columns} VALUES ('h', 'lost', 'q', 0, '{{}}', '[]', 1)")
            connection.commit()
    with pytest.raises(Exception, match=r"a row cannot be merged: FOREIGN KEY.*nothing was written.*verify"):
        merge(str(tmp_path / "target"), [str(tmp_path / "source")])


def _exam(name: str) -> dict[str, object]:
    return {"name": name, "kind": "genexam", "created": now()}


@pytest.mark.slow
def test_merged_stores_of_two_machines_equal_one_run(
    tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exam = write_exam(tmp_path, 6)
    write_settings(tmp_path, chat.base_url)
    how: dict[str, Any] = {"data": exam.data, "painters": [f"mine=folder/{exam.drawings}"], "judges": [JUDGE]}
    api.run("genexam", store="whole", **how)
    asked = chat.counts()["total"]
    for name, ids in (("one", exam.ids[:4]), ("two", exam.ids[3:])):  # One question was asked on both.
        api.run("genexam", store=name, selection=Selection(ids=tuple(ids)), **how)
    assert chat.counts()["total"] == 2 * asked + 1
    result = limner("merge", "all", "one", "two")
    assert "one: new: drawings 4, markings 4, calls 4, questions 6" in result.out
    assert "two: new: drawings 2, markings 2, calls 2" in result.out
    assert limner("merge", "all", "two", "one").out.splitlines()[-1] == "all: already up to date"
    standings = []
    for name in ("whole", "all"):
        with Store(name) as store:
            standings.append([standing.to_json() for standing in api.scores("genexam", store=store)])
            dollars = sum(row.dollars for row in spent(store))
            assert dollars == pytest.approx(spent_in(["one", "two"]) if name == "all" else spent_in(["whole"]))
    assert standings[0] == standings[1]
    # Nothing is left to do, and nothing is asked.
    before = chat.counts()["total"]
    again = api.run("genexam", store="all", **how)
    assert (again.done, again.stored, chat.counts()["total"]) == (0, again.total, before)


def spent_in(names: list[str]) -> float:
    total = 0.0
    for name in names:
        with Store(name) as store:
            total += sum(row.dollars for row in spent(store))
    return total
