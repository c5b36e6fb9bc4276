"""A store that is deleted, replaced or emptied under a run stops it: nothing counts as done that is not there."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Calls, Request, Result
from limner.core.errors import StoreError
from limner.exams.genexam.data import read
from limner.painters import Painting, PaintRequest
from limner.painters.base import FreePainter
from limner.running.plan import Plan
from limner.running.runner import Runner
from limner.store import Store
from limner.store.schema import metadata
from tests.support import SmallExam, picture


class Trickster(FreePainter):
    """Draws; at its third drawing something happens to the store."""

    name, spec, changeable = "ink", "ink", False

    def __init__(self, happens: Callable[[], object]) -> None:
        self.happens, self.drawn = happens, 0

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        self.drawn += 1
        if self.drawn == 3:
            self.happens()
        return Painting(picture(self.drawn), request.prompt)


def replaced(folder: Path) -> None:
    shutil.rmtree(folder)
    Store(folder).close()


def copied_over(folder: Path) -> None:
    """As a backup is put back: another file under the name."""
    shutil.copy(folder / "limner.db", folder / "copy")
    (folder / "copy").replace(folder / "limner.db")


HAPPENINGS: dict[str, Callable[[Path], Any]] = {
    "deleted": shutil.rmtree,
    "database deleted": lambda folder: (folder / "limner.db").unlink(),
    "moved": lambda folder: folder.rename(folder.with_name("moved")),
    "replaced": replaced,
    "copied over": copied_over,
}


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_run_stops_if_store_is_deleted_moved_or_replaced(
    tmp_path: Path, make_exam: Callable[[int], SmallExam], happening: str
) -> None:
    exam, folder, workers = make_exam(40), tmp_path / "store", 2
    with Store(folder) as store:
        painter = Trickster(lambda: HAPPENINGS[happening](folder))
        runner = Runner(Plan(read(exam.data), [painter], [], concurrency=workers), store)
        with pytest.raises(StoreError, match=r"deleted|moved|replaced") as caught:
            runner.run()
        assert str(folder) in str(caught.value)
        # Two may have been stored before it happened; after it, each worker draws one at most that is not stored.
        assert painter.drawn <= 2 + workers


def test_emptied_store_stops_run_before_call_is_paid_twice(store: Store) -> None:
    """Also where the file stays the same, or there is none, as with PostgreSQL."""

    def empty() -> None:
        with store._writers.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(sa.delete(table))

    paid = 0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal paid
        paid += 1
        empty()
        return Result({"text": "yes"}, 0.25)

    with pytest.raises(StoreError, match="replaced or emptied"):
        asyncio.run(Calls(store).do(Request("chat", "service/model", {"n": 1}), perform))
    assert paid == 1
