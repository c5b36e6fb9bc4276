"""Pictures from folders, tables and lists of links, each with its text."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from ...calls import Attempt, Fault, Request, Result
from ...calls.downloads import fetch
from ...core.errors import UsageError, check_tables
from ...core.images import MAX_BYTES, BadImage
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..gather import SourcePicture, from_folder, from_table

ID = 16
"""The number of digits of a picture's hash in its item's id."""


class ImagesSettings(StrictModel):
    """The sources of pictures.

    Attributes:
        folders: Folders of pictures, with the text of each in a file of the same name.
        tables: Parquet, CSV or JSON lines with pictures and their captions, or folders saved by `datasets`.
        crawl: Lists of links (``url``, with ``page``, ``text``, ``licence``, ``keyword``): CSV, JSON lines or parquet.
        hosts: Hosts that links may lead to; if empty, each link's own host.
        licence: The licence of pictures that state none.
        text_limit: Characters of source text that are kept.
    """

    folders: tuple[Path, ...] = ()
    tables: tuple[Path, ...] = ()
    crawl: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    licence: str = "unknown"
    text_limit: int = Field(default=8000, ge=0)


async def images(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every picture in folders, tables and lists of links."""
    how: ImagesSettings = context.settings
    if not (how.folders or how.tables or how.crawl):
        place = context.place
        raise UsageError(
            f"step {place}: say where pictures come from: --set '{place}.folders=[\"DIR\"]', "
            f"'{place}.tables=[\"FILE.parquet\"]' or '{place}.crawl=[\"LIST.csv\"]'"
        )
    origins: dict[str, str] = {}
    for picture in source_pictures(how):
        name = hashlib.sha256(picture.origin.encode()).hexdigest()[:ID]
        try:
            sha256 = await store_picture(picture, context)
        except Dropped as dropped:
            yield f"bad-{name}", dropped
            continue
        if sha256[:ID] in origins:
            yield f"same-{name}", Dropped("exact duplicate", f"{picture.origin}: as {origins[sha256[:ID]]}")
            continue
        origins[sha256[:ID]] = picture.origin
        body = picture_fields(picture, sha256, how)
        if prompt := body["source"].pop("prompt", ""):
            body["free_prompt"] = prompt
        yield BuildItem(sha256[:ID], body)


def source_pictures(how: ImagesSettings) -> Iterator[SourcePicture]:
    """Yield every picture in the folders, tables and lists of the settings."""
    for folder in how.folders:
        yield from from_folder(folder)
    for table in (*how.tables, *how.crawl):
        yield from from_table(table)


def picture_fields(picture: SourcePicture, sha256: str, how: ImagesSettings) -> dict[str, Any]:
    """Return an item's fields from a picture: hash, text, licence, and the rest in ``source``."""
    about = dict(picture.about)
    text = about.pop("text", "")[: how.text_limit]
    licence = about.pop("licence", how.licence)
    source = {"origin": picture.origin, **({"url": picture.link} if picture.link else {})}
    return {"image": sha256, "source_text": text, "licence": licence, "source": source | about}


async def store_picture(picture: SourcePicture, context: StepContext) -> str:
    """Store the picture and return its hash.

    Raises:
        Dropped: It is not a picture, or cannot be fetched.
    """
    try:
        return await _store_bytes(picture, context)
    except (BadImage, OSError) as error:
        raise Dropped("not a picture", f"{picture.origin}: {error}") from error
    except Fault as fault:
        raise Dropped("not found", f"{picture.origin}: {fault.detail}") from fault


async def _store_bytes(picture: SourcePicture, context: StepContext) -> str:
    if picture.link is not None and picture.data is None and picture.file is None:
        return await _fetch_link(picture.link, context)
    data = picture.data
    if data is None:
        assert picture.file is not None
        if picture.file.stat().st_size > MAX_BYTES:
            raise BadImage(f"{picture.file.stat().st_size:,} bytes; at most {MAX_BYTES:,} are taken")
        data = await asyncio.to_thread(picture.file.read_bytes)
    sha256, _ = await asyncio.to_thread(context.blobs.put, data)
    return sha256


async def _fetch_link(link: str, context: StepContext) -> str:
    hosts = context.settings.hosts or ((urlsplit(link).hostname or ""),)

    async def perform(_attempt: Attempt) -> Result:
        data = await fetch(link, hosts)
        try:
            sha256, _ = await asyncio.to_thread(context.blobs.put, data)
        except BadImage as error:
            raise Fault("image", str(error)) from error
        return Result({"image": sha256})

    outcome = await context.calls.do(Request("fetch", "crawl", {"url": link, "hosts": list(hosts)}), perform)
    return str(outcome.payload["image"])


def check_images(how: ImagesSettings) -> None:
    """Check that the packages for reading tables and lists are installed.

    Raises:
        UsageError: See `limner.core.errors.check_tables`.
    """
    check_tables((*how.tables, *how.crawl))


STEP = BuildStep("images", "takes pictures from folders, tables and lists of links", ImagesSettings, source=images,
                 check=check_images)  # fmt: skip
