"""Verifies a store, and mends what can be mended for nothing: nothing is drawn, asked or thrown away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..calls import Fault
from ..core import settings
from ..core.errors import LimnerError, StoreError
from ..core.loops import run_to_end
from ..painters import ApiPainter, FolderPainter, open_service
from ..painters.base import fetched_again, put_back
from ..store import Store, now
from ..store.records import Drawing
from ..store.schema import attempts, calls, drawings
from ..store.verify import PART, UNANSWERED, Defect, PartReport, check, check_database, without

INDEX = " index "
"""Stands in SQLite's complaints about an index, which can be made anew from its table."""


def verify(store: Store, *, repair: bool = False) -> Iterator[PartReport]:
    """Every part of the store, looked at and, where asked for, repaired."""
    for report in check(store):
        yield _repaired(store, report) if repair and report.defects else report


def _repaired(store: Store, report: PartReport) -> PartReport:
    if report.name == "database":
        return _database(store, report)
    if report.name == "images":
        return without(report, run_to_end(_images(store, report)))
    if report.name == "references":
        return without(report, _references(store, report))
    return without(report, _orphans(store, report))


def _database(store: Store, report: PartReport) -> PartReport:
    """Indexes are made anew; a damaged table cannot be."""
    if store.file is None or not all(INDEX in f" {defect.detail} " for defect in report.defects):
        return report
    try:
        store.write(lambda connection: connection.exec_driver_sql("REINDEX"))
    except StoreError:
        return report
    left = check_database(store)
    return PartReport("database", left.looked, left.defects, len(report.defects) - len(left.defects))


def _references(store: Store, report: PartReport) -> list[Defect]:
    """Return a call whose result is gone counts as interrupted: the next run that needs it makes it again."""
    broken = [defect for defect in report.defects if defect.detail == UNANSWERED]
    lost = {"status": "failed", "fault": "interrupted", "detail": "its result was lost from the store"}
    for defect in broken:
        change = calls.update().where(calls.c.key == defect.subject.removeprefix("calls "))
        store.write(lambda connection, change=change: connection.execute(change.values(**lost, updated=now())))  # type: ignore[misc]
    return broken


async def _images(store: Store, report: PartReport) -> list[Defect]:
    recovery, found = Recovery(store), []
    keys = _drawn_by(store)
    for defect in report.defects:
        with store.reading() as connection:
            rows = connection.execute(sa.select(drawings).where(drawings.c.image == defect.subject)).all()
        for row in rows:
            if await recovery.drawing(Drawing(**row._mapping)):
                found.append(defect)
                break
        else:
            if await recovery.from_calls(defect.subject, keys.get(defect.subject, ())):
                found.append(defect)
    return found


def _drawn_by(store: Store) -> dict[str, list[str]]:
    """Return the calls that brought each image."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    found: dict[str, list[str]] = {}
    with store.reading() as connection:
        query = sa.select(calls.c.key, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
        for row in connection.execute(query):
            found.setdefault(str((row.result or {}).get("image")), []).append(row.key)
    return found


def _orphans(store: Store, report: PartReport) -> list[Defect]:
    """Halves of files are removed; images are set aside, for somebody may have paid for them."""
    for defect in report.defects:
        if defect.subject.rpartition("/")[2].startswith(PART):
            store.blobs.remove(defect.subject)
        else:
            store.blobs.set_aside(defect.subject)
    return list(report.defects)


FOLDER = "folder/"


class Recovery:
    """Looks for the images of one store elsewhere."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folders: dict[str, FolderPainter | None] = {}
        self._services: dict[str, ApiPainter | None] = {}
        self._settings: settings.Settings | None = None

    async def drawing(self, drawing: Drawing) -> bool:
        """Whether the image of a drawing stands among the blobs again."""
        if drawing.image is None:
            return False
        if drawing.spec.startswith(FOLDER) and await self.from_folder(drawing):
            return True
        return await self.from_calls(drawing.image, drawing.calls)

    async def from_folder(self, drawing: Drawing) -> bool:
        """From the folder that the drawing was taken from, as long as the file is the same."""
        folder = self._folder(drawing.spec)
        if folder is None or drawing.image is None:
            return False
        try:
            data = await asyncio.to_thread(folder.find(drawing.question_id).read_bytes)
        except (Fault, OSError):
            return False
        return await put_back(data, drawing.image, self._store.blobs)

    async def from_calls(self, image: str, keys: Iterable[str]) -> bool:
        """From the stored jobs or links of the calls that drew it."""
        accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
        query = sa.select(calls.c.target, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
        for row in self._store.rows(query, calls.c.key, keys):
            result: dict[str, Any] = row.result or {}
            service = self._service(row.target) if result.get("image") == image else None
            if service is not None and await fetched_again(result, service.refetch, self._store.blobs):
                return True
        return False

    def _folder(self, spec: str) -> FolderPainter | None:
        if spec not in self._folders:
            try:
                self._folders[spec] = FolderPainter(spec, spec, Path(spec.removeprefix(FOLDER)).expanduser())
            except (LimnerError, OSError, RuntimeError):
                self._folders[spec] = None
        return self._folders[spec]

    def _service(self, target: str) -> ApiPainter | None:
        if target not in self._services:
            self._settings = self._settings or settings.load()
            try:
                found = open_service(target, self._settings, self._store.blobs)
                found.check()
            except LimnerError:
                # Not a service, not in the settings, or without its key.
                found = None
            self._services[target] = found
        return self._services[target]
