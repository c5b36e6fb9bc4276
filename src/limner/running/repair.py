"""Verification of a store, and repairs that cost nothing: nothing is drawn, asked or thrown away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..calls import Fault, Request
from ..calls.keys import setup_id
from ..core import settings
from ..core.errors import LimnerError, StoreError
from ..core.loops import run_to_end
from ..painters import ApiPainter, FolderPainter, open_service
from ..painters.base import fetch_again, restore_image
from ..store import Store, now
from ..store.records import Drawing
from ..store.schema import attempts, calls, content_columns, drawings
from ..store.verify import TEMPORARY_PREFIX, UNANSWERED, Defect, PartReport, check, check_database, without_repaired


def _call_key(row: Mapping[str, Any]) -> str:
    request = row["request"]
    return Request(row["kind"], row["target"], request["body"], request["repeat"], request["round"]).key


IDENTITIES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "calls": _call_key,
    "setups": lambda row: setup_id(row["body"]),
}
"""The functions that compute the key of a row from its content, by table."""
INDEX = " index "
"""A word in SQLite's messages about an index, which can be rebuilt from its table."""


def verify(store: Store, *, repair: bool = False) -> Iterator[PartReport]:
    """Yield the report of every part of the store, repaired if requested."""
    for report in check(store, identities=IDENTITIES):
        yield _repaired(store, report) if repair and report.defects else report


def _repaired(store: Store, report: PartReport) -> PartReport:
    if report.name == "database":
        return _database(store, report)
    if report.name == "images":
        return without_repaired(report, run_to_end(_images(store, report)))
    if report.name == "references":
        return without_repaired(report, _references(store, report))
    return without_repaired(report, _orphans(store, report))


def _database(store: Store, report: PartReport) -> PartReport:
    """Rebuild indexes; a damaged table cannot be repaired."""
    if store.file is None or not all(INDEX in f" {defect.detail} " for defect in report.defects):
        return report
    try:
        store.write(lambda connection: connection.exec_driver_sql("REINDEX"))
    except StoreError:
        return report
    left = check_database(store)
    return PartReport("database", left.looked, left.defects, len(report.defects) - len(left.defects))


def _references(store: Store, report: PartReport) -> list[Defect]:
    """Mark calls whose results are lost as interrupted, so that the next run makes them again."""
    broken = [defect for defect in report.defects if defect.detail == UNANSWERED]
    lost = {"status": "failed", "fault": "interrupted", "detail": "its result was lost from the store"}
    for defect in broken:
        change = calls.update().where(calls.c.key == defect.subject.removeprefix("calls "))
        store.write(lambda connection, change=change: connection.execute(change.values(**lost, updated=now())))  # type: ignore[misc]
    return broken


async def _images(store: Store, report: PartReport) -> list[Defect]:
    recovery, recovered = Recovery(store), []
    keys = _drawn_by(store)
    for defect in report.defects:
        with store.reading() as connection:
            rows = connection.execute(
                sa.select(*content_columns(drawings)).where(drawings.c.image == defect.subject)
            ).all()
        for row in rows:
            if await recovery.drawing(Drawing(**row._mapping)):
                recovered.append(defect)
                break
        else:
            if await recovery.from_calls(defect.subject, keys.get(defect.subject, ())):
                recovered.append(defect)
    return recovered


def _drawn_by(store: Store) -> dict[str, list[str]]:
    """Return the calls that produced each image."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    keys_by_image: dict[str, list[str]] = {}
    with store.reading() as connection:
        query = sa.select(calls.c.key, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
        for row in connection.execute(query):
            keys_by_image.setdefault(str((row.result or {}).get("image")), []).append(row.key)
    return keys_by_image


def _orphans(store: Store, report: PartReport) -> list[Defect]:
    """Remove partial files; move unreferenced images aside, because they may have been paid for."""
    for defect in report.defects:
        if defect.subject.rpartition("/")[2].startswith(TEMPORARY_PREFIX):
            store.blobs.remove(defect.subject)
        else:
            store.blobs.set_aside(defect.subject)
    return list(report.defects)


FOLDER = "folder/"


class Recovery:
    """The search for lost images of one store in other places."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folders: dict[str, FolderPainter | None] = {}
        self._services: dict[str, ApiPainter | None] = {}
        self._settings: settings.Settings | None = None

    async def drawing(self, drawing: Drawing) -> bool:
        """Return whether the image of a drawing is back in the store."""
        if drawing.image is None:
            return False
        if drawing.spec.startswith(FOLDER) and await self.from_folder(drawing):
            return True
        return await self.from_calls(drawing.image, drawing.calls)

    async def from_folder(self, drawing: Drawing) -> bool:
        """Restore the image from the folder it came from, if the file is unchanged."""
        folder = self._folder(drawing.spec)
        if folder is None or drawing.image is None:
            return False
        file = (drawing.notes or {}).get("file")
        name = Path(file).with_suffix("").as_posix() if file else drawing.question_id
        try:
            data = await asyncio.to_thread(folder.find(name).read_bytes)
        except (Fault, OSError):
            return False
        return await restore_image(data, drawing.image, self._store.blobs)

    async def from_calls(self, image: str, keys: Iterable[str]) -> bool:
        """Restore the image from the stored jobs or links of the calls that drew it."""
        accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
        query = sa.select(calls.c.target, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
        for row in self._store.rows(query, calls.c.key, keys):
            result: dict[str, Any] = row.result or {}
            service = self._service(row.target) if result.get("image") == image else None
            if service is not None and await fetch_again(result, service.refetch, self._store.blobs):
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
                service = open_service(target, self._settings, self._store.blobs)
                service.check()
            except LimnerError:
                # Not a service, not in the settings, or without its key.
                service = None
            self._services[target] = service
        return self._services[target]
