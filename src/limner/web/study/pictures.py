"""ShownPictures for raters, each made once and kept at hand."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from ...study.pictures import normal_picture

KEPT = 192 * 2**20
"""So many bytes of finished pictures are kept at hand."""
AT_ONCE = 2
"""So many pictures are made at the same time."""
NICE = 10
"""By so much threads that make pictures stand back: answers must not wait for them."""


def _stand_back() -> None:
    """Give this thread less of the processor, where threads can have a share of their own."""
    if sys.platform != "linux":
        return  # Elsewhere this would be about the whole process.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


class ShownPictures:
    """Makes each picture once, in a thread, and keeps the latest."""

    def __init__(self, load: Callable[[str], bytes], side: int) -> None:
        self._load, self._side = load, side
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._flying: dict[str, asyncio.Task[bytes]] = {}
        self._makers = ThreadPoolExecutor(AT_ONCE, "limner-pictures", _stand_back)
        self._bytes = 0

    async def get(self, sha256: str) -> bytes:
        """The picture of an image in the store."""
        if sha256 in self._kept:
            self._kept.move_to_end(sha256)
            return self._kept[sha256]
        if sha256 not in self._flying:
            task = asyncio.ensure_future(self._make(sha256))
            self._flying[sha256] = task
            task.add_done_callback(lambda done: self._flying.pop(sha256, None))
        return await asyncio.shield(self._flying[sha256])

    async def _make(self, sha256: str) -> bytes:
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(self._makers, lambda: normal_picture(self._load(sha256), self._side))
        self._kept[sha256] = made
        self._bytes += len(made)
        while self._bytes > KEPT and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1])
        return made
