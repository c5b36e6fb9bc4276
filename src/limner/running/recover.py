"""Images lost or damaged in the store, had again for nothing: from their folder, or from a service's stored job.

Nothing is ever drawn here. What comes back counts only if it has the very hash that was stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..calls import Fault
from ..core import settings
from ..core.errors import LimnerError
from ..painters import ApiPainter, FolderPainter, open_service
from ..painters.base import fetched_again, put_back
from ..store import Store
from ..store.records import Drawing
from ..store.schema import attempts, calls

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
            if service is not None and await fetched_again(result, service.refetch, self._store.blobs) is not None:
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
