"""Images made ready to be sent by workers, for those who have more cores than this machine."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable

from ..core.images import MAX_BYTES, BadImage, ImageForm, PreparedImage, prepare
from .pools import pool_of
from .recipe import JobFailure, Recipe, WorkerDeath, WorkerUnfit

SECONDS = 120.0
"""How long one image may take."""
RECIPE = Recipe("images", f"{__name__}:preparer", most=2 * MAX_BYTES)


def preparer() -> Callable[..., bytes]:
    """What a worker prepares with: a line with media type and size, and the image's bytes."""

    def make(data: bytes, max_side: int | None, form: ImageForm) -> bytes:
        found = prepare(data, max_side, form)
        media, image = found.parts
        return f"{media} {found.width} {found.height}\n".encode() + image

    return make


async def prepare_by_worker(data: bytes, max_side: int | None, form: ImageForm) -> PreparedImage:
    """The same as `limner.core.images.prepare`, by a worker; here, where workers are of no use.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    try:
        job = pool_of(RECIPE).submit({"max_side": max_side, "form": form}, (data,), seconds=SECONDS)
        (found,) = (await asyncio.wrap_future(job)).bodies
    except (JobFailure, WorkerDeath, WorkerUnfit) as error:
        if isinstance(error, JobFailure) and error.kind == "image":
            raise BadImage(error.detail) from error
        return await asyncio.to_thread(prepare, data, max_side, form)
    line, _, image = found.partition(b"\n")
    media, width, height = line.decode().split()
    url = f"data:{media};base64,{base64.b64encode(image).decode()}"
    return PreparedImage(url, int(width), int(height))
