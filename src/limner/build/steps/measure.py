"""Size, detail and perceptual hash of a picture."""

from __future__ import annotations

import asyncio
from typing import Any

from ...core.images import BadImage, decode
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..picture_rules import detail, picture_hashes

_ROOM = 4
"""The number of pictures decoded at a time, so that memory stays bounded whatever the number of calls."""
_rooms: dict[Any, asyncio.Semaphore] = {}


async def measure(item: BuildItem, context: StepContext) -> BuildItem:
    """Measure size, detail and perceptual hash of a picture."""
    loop = asyncio.get_running_loop()
    if loop not in _rooms:
        _rooms.clear()
        _rooms[loop] = asyncio.Semaphore(_ROOM)
    async with _rooms[loop]:
        data = await context.picture(item.body["image"])
        try:
            return item.having(**await asyncio.to_thread(_measures, data))
        except BadImage as error:
            raise Dropped("not a picture", str(error)) from error


def _measures(data: bytes) -> dict[str, Any]:
    image = decode(data)
    return {"width": image.width, "height": image.height, "detail": detail(image), "hashes": picture_hashes(image)}


STEP = BuildStep("measure", "measures each picture: size, detail, perceptual hash", reads=("image",), each=measure)
