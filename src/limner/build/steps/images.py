"""Pictures from folders, tables and lists of links, each with the text it came with."""

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
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..gather import Found, from_folder, from_table

ID = 16
"""Digits of a picture's hash that name its item."""


class ImagesSettings(StrictModel):
    """Where pictures come from.

    Attributes:
        folders: Folders of pictures, each with its text beside it.
        tables: Parquet, CSV or JSON lines with pictures and their captions, or folders saved by `datasets`.
        crawl: Lists of links (``url``, with ``page``, ``text``, ``licence``, ``keyword``): CSV, JSON lines or parquet.
        hosts: Hosts that links may lead to; each link's own where none is named.
        licence: Of pictures that nothing else is said of.
        text_limit: Characters of source text that are kept.
    """

    folders: tuple[Path, ...] = ()
    tables: tuple[Path, ...] = ()
    crawl: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    licence: str = "unknown"
    text_limit: int = Field(default=8000, ge=0)


async def images(items: Sequence[BuildItem], bench: Bench) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """See the module."""
    how: ImagesSettings = bench.settings
    if not (how.folders or how.tables or how.crawl):
        place = bench.place
        raise UsageError(
            f"step {place}: say where pictures come from: --set '{place}.folders=[\"DIR\"]', "
            f"'{place}.tables=[\"FILE.parquet\"]' or '{place}.crawl=[\"LIST.csv\"]'"
        )
    there: dict[str, str] = {}
    for found in all_found(how):
        name = hashlib.sha256(found.origin.encode()).hexdigest()[:ID]
        try:
            sha256 = await kept(found, bench)
        except Dropped as dropped:
            yield f"bad-{name}", dropped
            continue
        if sha256[:ID] in there:
            yield f"same-{name}", Dropped("exact duplicate", f"{found.origin}: as {there[sha256[:ID]]}")
            continue
        there[sha256[:ID]] = found.origin
        body = body_of(found, sha256, how)
        if prompt := body["source"].pop("prompt", ""):
            body["free_prompt"] = prompt
        yield BuildItem(sha256[:ID], body)


def all_found(how: ImagesSettings) -> Iterator[Found]:
    """Every picture in the folders, tables and lists that settings name."""
    for folder in how.folders:
        yield from from_folder(folder)
    for table in (*how.tables, *how.crawl):
        yield from from_table(table)


def body_of(found: Found, sha256: str, how: ImagesSettings) -> dict[str, Any]:
    """Return what an item has of a picture: its hash, the text beside it, its licence, and in ``source`` all else."""
    about = dict(found.about)
    text = about.pop("text", "")[: how.text_limit]
    licence = about.pop("licence", how.licence)
    source = {"origin": found.origin, **({"url": found.link} if found.link else {})}
    return {"image": sha256, "source_text": text, "licence": licence, "source": source | about}


async def kept(found: Found, bench: Bench) -> str:
    """Put the picture into the store; returns its hash.

    Raises:
        Dropped: It is none, or cannot be had.
    """
    try:
        return await _put(found, bench)
    except (BadImage, OSError) as error:
        raise Dropped("not a picture", f"{found.origin}: {error}") from error
    except Fault as fault:
        raise Dropped("not found", f"{found.origin}: {fault.detail}") from fault


async def _put(found: Found, bench: Bench) -> str:
    if found.link is not None and found.data is None and found.file is None:
        return await _fetched(found.link, bench)
    data = found.data
    if data is None:
        assert found.file is not None
        if found.file.stat().st_size > MAX_BYTES:
            raise BadImage(f"{found.file.stat().st_size:,} bytes; at most {MAX_BYTES:,} are taken")
        data = await asyncio.to_thread(found.file.read_bytes)
    sha256, _ = await asyncio.to_thread(bench.blobs.put, data)
    return sha256


async def _fetched(link: str, bench: Bench) -> str:
    hosts = bench.settings.hosts or ((urlsplit(link).hostname or ""),)

    async def perform(_attempt: Attempt) -> Result:
        data = await fetch(link, hosts)
        try:
            sha256, _ = await asyncio.to_thread(bench.blobs.put, data)
        except BadImage as error:
            raise Fault("image", str(error)) from error
        return Result({"image": sha256})

    outcome = await bench.calls.do(Request("fetch", "crawl", {"url": link, "hosts": list(hosts)}), perform)
    return str(outcome.payload["image"])


def check_images(how: ImagesSettings) -> None:
    """Raise where a table or list cannot be read for want of a package.

    Raises:
        UsageError: See `limner.core.errors.check_tables`.
    """
    check_tables((*how.tables, *how.crawl))


STEP = BuildStep("images", "takes pictures from folders, tables and lists of links", ImagesSettings, source=images,
                 check=check_images)  # fmt: skip
