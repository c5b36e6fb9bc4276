"""Probes measure an image through the call journal: once per image, in worker threads."""

from __future__ import annotations

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from ..calls import Attempt, Calls, Fault, Request, Result
from ..images import BadImage, decode
from .lines import Line
from .ocr import RapidOcr


@dataclass(frozen=True)
class Finding:
    """The lines of text in one image, and the call that found them."""

    lines: list[Line]
    call: str


class OcrProbe:
    """Reads the text in images: one engine per worker, results by image hash."""

    def __init__(self, workers: int | None = None) -> None:
        self._engine = RapidOcr()
        self._workers = workers or min(8, os.cpu_count() or 1)

    @property
    def name(self) -> str:
        """Backend and version: part of what identifies a reading."""
        return f"{self._engine.name}/{self._engine.version}"

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="limner-ocr")

    async def measure(self, data: bytes, calls: Calls) -> Finding:
        """The text in the image behind `data`.

        Raises:
            Fault: ``image`` when it cannot be decoded, ``probe`` when the engine fails.
        """
        sha256 = hashlib.sha256(data).hexdigest()

        async def perform(_attempt: Attempt) -> Result:
            loop = asyncio.get_running_loop()
            lines = await loop.run_in_executor(self._pool, self._read, data)
            return Result({"lines": [line.to_json() for line in lines]})

        outcome = await calls.do(Request("probe", f"ocr/{self.name}", {"image": sha256}), perform)
        return Finding([Line.from_json(line) for line in outcome.payload["lines"]], outcome.key)

    def _read(self, data: bytes) -> list[Line]:
        try:
            return self._engine.read(decode(data))
        except BadImage as error:
            raise Fault("image", str(error)) from error
        except Exception as error:
            raise Fault("probe", f"{self.name}: {error!r}") from error
