"""The download of an exam's released data into the folder that ``--data`` defaults to."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from ..calls import Fault
from ..calls.downloads import fetch_file
from ..calls.http import TEXT_REPLY_BYTES, exchange
from ..core.errors import DataError, LimnerError
from ..core.redaction import public_address
from ..exams import DataSource

HUB, HUB_VARIABLE = "https://huggingface.co", "HF_ENDPOINT"
"""Hugging Face, and the variable that names a mirror of it."""
LIST_S, STALL_S = 60.0, 60.0
"""Seconds to wait for the list of files, and for the next bytes of a file."""
LOOK_S = 0.5
"""Seconds between looks at the progress of a file."""
MAX_UNPACKED_BYTES = 64 * 2**30
REDIRECTS = 3
Watch = Callable[[str, int, int | None], None]
"""A function that is told a file's name, the bytes that have arrived, and all its bytes, if known."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to download.

    Attributes:
        sha256: The hash of its content, if known.
        git_hash: The hash that git gives it, if known.
    """

    name: str
    url: str
    size: int | None = None
    sha256: str | None = None
    git_hash: str | None = None

    def check(self, path: Path) -> None:
        """Check a downloaded file, and delete it if it is wrong.

        Raises:
            DataError: Its size or its hash is not the one that the service states.
        """
        size = path.stat().st_size
        if self.size is not None and size != self.size:
            problem = f"has {size:,} bytes instead of {self.size:,}"
        else:
            hashes = (self.sha256, hashlib.sha256()), (self.git_hash, hashlib.sha1(b"blob %d\0" % size))
            if all(stated is None or _hash(path, digest) == stated for stated, digest in hashes):
                return
            problem = "has the wrong hash"
        path.unlink()
        raise DataError(f"{self.name} {problem}; it was deleted: run the command again to download it again")


@dataclass(frozen=True)
class Release:
    """The files of an exam's data as offered now, and their licence as its card states it."""

    files: tuple[RemoteFile, ...]
    licence: str | None

    @property
    def size(self) -> int | None:
        """The bytes of all files, if known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def look_up(source: DataSource) -> Release:
    """Return the files that the authors offer.

    Raises:
        LimnerError: They cannot be listed.
    """
    if source.hub is None:
        return Release(tuple(RemoteFile(name, f"{source.url}{quote(name)}") for name in source.files), source.licence)
    hub = os.environ.get(HUB_VARIABLE, HUB).rstrip("/")
    address = f"{hub}/api/datasets/{source.hub}?blobs=true"
    try:
        reply = asyncio.run(exchange("GET", address, headers={}, timeout=LIST_S, most=TEXT_REPLY_BYTES))
    except Fault as fault:
        raise LimnerError(_about(address, fault)) from fault
    return _read_listing(reply, source, f"{hub}/datasets/{source.hub}/resolve")


def _read_listing(reply: dict[str, Any], source: DataSource, base: str) -> Release:
    revision, rows = reply.get("sha") or "main", reply.get("siblings")
    card = reply.get("cardData")
    files = []
    for row in rows if isinstance(rows, list) else ():
        name = str(row.get("rfilename", "")) if isinstance(row, dict) else ""
        inside = PurePosixPath(name)
        if ".." in inside.parts or inside.is_absolute() or not any(_fits(name, like) for like in source.files):
            continue
        large = row.get("lfs") or {}
        git_hash = None if large else row.get("blobId")
        url = f"{base}/{quote(str(revision))}/{quote(name)}"
        files.append(RemoteFile(name, url, row.get("size"), large.get("sha256"), git_hash))
    if not files:
        raise LimnerError(f"{source.page} has none of the files {', '.join(source.files)}; has it changed?")
    licence = card.get("license") if isinstance(card, dict) else None
    return Release(tuple(files), str(licence) if licence else source.licence)


def _fits(name: str, pattern: str) -> bool:
    """Return whether a file's name has a pattern, whatever the case: releases mix .jpg with .JPG."""
    return fnmatchcase(name.casefold(), pattern.casefold())


def download(release: Release, folder: Path, watch: Watch = lambda *_: None) -> None:
    """Download the files into a folder; a broken download continues where it stopped.

    The folder appears once everything is there; until then, what has arrived is kept beside it.

    Raises:
        LimnerError: A file does not arrive, or is not what the service says.
    """
    begun = folder.with_name(f"{folder.name}.part")
    for file in release.files:
        path = begun / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            file.check(path)
            continue
        part = path.with_name(f"{path.name}.part")
        try:
            asyncio.run(_fetch(file, part, watch))
        except Fault as fault:
            raise LimnerError(_about(file.url, fault)) from fault
        file.check(part)
        part.rename(path)
    for archive in [begun / file.name for file in release.files if file.name.endswith(".zip")]:
        unpack(archive, begun)
        archive.unlink()
    begun.rename(folder)


async def _fetch(file: RemoteFile, part: Path, watch: Watch) -> None:
    async def report() -> None:
        while True:
            watch(file.name, part.stat().st_size, file.size)
            await asyncio.sleep(LOOK_S)

    with part.open("ab", buffering=0) as target:
        reports = asyncio.create_task(report())
        try:
            await fetch_file(file.url, {}, target, redirects=REDIRECTS, stall_s=STALL_S)
        finally:
            reports.cancel()


def _about(address: str, fault: Fault) -> str:
    """Return what is wrong with an address, which is named once."""
    place = public_address(address)
    return fault.detail if place in fault.detail else f"{place}: {fault.detail}"


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip file into a folder, without the one folder that everything in it may be in.

    Raises:
        DataError: It is damaged or too large, or a path leads out of the folder.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            members = [member for member in content.infolist() if not member.is_dir() and _is_wanted(member.filename)]
            if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
                raise DataError(f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes", file=archive)
            paths = [PurePosixPath(member.filename) for member in members]
            shared = {path.parts[0] for path in paths if path.parts}
            skipped = 1 if len(shared) == 1 and all(len(path.parts) > 1 for path in paths) else 0
            for member, path in zip(members, paths, strict=True):
                target = folder.joinpath(*path.parts[skipped:])
                if not target.resolve().is_relative_to(folder.resolve()):
                    raise DataError(f"{member.filename!r} leads out of the folder", file=archive)
                target.parent.mkdir(parents=True, exist_ok=True)
                with content.open(member) as packed, target.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        archive.unlink()
        raise DataError(f"is damaged ({error}); it was deleted: run the command again", file=archive) from error


def _is_wanted(name: str) -> bool:
    return not name.startswith("__MACOSX/") and PurePosixPath(name).name != ".DS_Store"


def _hash(path: Path, digest: Any) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()
