"""The site's pictures: small ones for overviews and full-size ones, made once, in several processes."""

from __future__ import annotations

import io
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from ...core.errors import StoreError
from ...core.images import WEB_FORMATS, BadImage, decode, inspect, make_thumbnail
from ...store import Blobs

SIDE = 320
"""The approximate longer side of a small picture, in pixels."""
SMALL = "jpg"
"""The suffix of small pictures: JPEG files are made ten times faster than WebP."""
BATCH = 32
"""The number of pictures passed to a process at a time."""
FEW = 4 * BATCH
"""The most pictures that are made without starting processes."""


@dataclass(frozen=True)
class PictureSpec:
    """The settings for making pictures.

    Attributes:
        blobs: The store's images.
        small: The folder of small pictures; `large` is that of full-size ones, or None.
    """

    blobs: str
    small: Path
    large: Path | None


def picture_path(folder: Path, sha256: str, suffix: str) -> Path:
    """Return the path of a picture."""
    return folder / sha256[:2] / f"{sha256}.{suffix}"


class Pictures:
    """The site's pictures: `make` starts on missing ones, `finish` waits for them.

    Attributes:
        suffixes: Image -> the suffix of its full-size file.
        bad: The images that cannot be shown, with the reasons.
    """

    def __init__(self, spec: PictureSpec, workers: int | None = None) -> None:
        self.spec = spec
        self.suffixes: dict[str, str] = {}
        self.bad: dict[str, str] = {}
        self.made = 0
        self._workers = workers or min(8, os.cpu_count() or 1)
        self._wanted: set[str] = set()
        self._pool: ProcessPoolExecutor | None = None
        self._batches: list[Future[list[tuple[str, str, str]]]] = []

    def make(self, images: Iterable[str]) -> None:
        """Start making the missing pictures; call this only once."""
        small, large, lacking = _there(self.spec.small), _there(self.spec.large), []
        self._wanted = set(images)
        for image in sorted(self._wanted):
            if image in small and (self.spec.large is None or image in large):
                self.suffixes[image] = large.get(image, "")
            else:
                lacking.append(image)
        for folder in filter(None, (self.spec.small, self.spec.large)):
            for start in {image[:2] for image in lacking}:
                (folder / start).mkdir(parents=True, exist_ok=True)
        if len(lacking) <= FEW:
            self._take(_make(self.spec, lacking))
            return
        # Spawn, since the store's threads may hold locks that would never be released in a forked process.
        self._pool = ProcessPoolExecutor(self._workers, mp_context=multiprocessing.get_context("spawn"))
        for at in range(0, len(lacking), BATCH):
            self._batches.append(self._pool.submit(_make, self.spec, lacking[at : at + BATCH]))

    def _take(self, results: Iterable[tuple[str, str, str]]) -> None:
        for image, suffix, why in results:
            self.suffixes[image] = suffix
            if why:
                self.bad[image] = why
            else:
                self.made += 1

    def finish(self, watch: Callable[[int], None] = lambda _: None) -> None:
        """Wait for the last picture, then delete those that are no longer shown."""
        try:
            for batch in as_completed(self._batches):
                self._take(batch.result())
                watch(self.made)
        finally:
            self.close()
        for folder in filter(None, (self.spec.small, self.spec.large)):
            for image, suffix in _there(folder).items():
                if image not in self._wanted:
                    picture_path(folder, image, suffix).unlink()

    def close(self) -> None:
        """Stop the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def has(self, image: str) -> bool:
        """Return whether there is a small picture."""
        return image in self.suffixes and image not in self.bad

    def small(self, image: str | None) -> str | int:
        """Return a small picture for a list: its hash, or 0 if there is none."""
        return image if image and self.has(image) else 0

    def large(self, image: str | None) -> dict[str, Any] | None:
        """Return a picture: its hash and its full-size file's suffix, or its error."""
        if image is None:
            return None
        if not self.has(image):
            return {"sha": image, "wrong": self.bad.get(image, "it was stored after the pictures were made")}
        return {"sha": image, "large": self.suffixes[image]}


def _there(folder: Path | None) -> dict[str, str]:
    """Return the pictures in a folder, with their suffixes."""
    suffixes = {}
    for path in folder.glob("*/*.*") if folder is not None and folder.is_dir() else ():
        if len(path.stem) == 64:
            suffixes[path.stem] = intern(path.suffix[1:])
        elif path.name.startswith(".part-"):
            path.unlink()
    return suffixes


def _make(spec: PictureSpec, images: Sequence[str]) -> list[tuple[str, str, str]]:
    """Make pictures in a worker process; return each image with its full-size file's suffix and its error."""
    blobs, results = Blobs(spec.blobs), []
    for image in images:
        try:
            results.append((image, _one(spec, blobs, image), ""))
        except (BadImage, StoreError, OSError) as error:
            results.append((image, "", str(error)[:300]))
    return results


def _one(spec: PictureSpec, blobs: Blobs, image: str) -> str:
    data = blobs.get(image)
    info, suffix = inspect(data), ""
    if spec.large is not None:
        shown = info.format in WEB_FORMATS
        suffix = info.suffix if shown else "png"
        same = picture_path(Path(spec.blobs), image, suffix) if shown and "://" not in spec.blobs else None
        _put(picture_path(spec.large, image, suffix), data if shown else _encoded(decode(data), "PNG"), same)
    _put(picture_path(spec.small, image, SMALL), _encoded(make_thumbnail(data, SIDE, info), "JPEG", quality=75))
    return suffix


def _encoded(picture: Any, form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _put(path: Path, data: bytes, same: Path | None = None) -> None:
    """Write a file completely or not at all; link it to the file `same` if that is possible."""
    part = path.with_name(f".part-{path.name}")
    if same is None or not _linked(same, part):
        part.unlink(missing_ok=True)
        part.write_bytes(data)
    os.replace(part, path)
    if same is not None:
        part.unlink(missing_ok=True)  # Replacing a hard link with another to the same file leaves both.


def _linked(same: Path, part: Path) -> bool:
    """Create a hard link, and return whether that is possible.

    A link shares its permissions with the store's own file, and a web server must be able to read the site.
    """
    try:
        if not same.stat().st_mode & stat.S_IRGRP:
            return False
        os.link(same, part)
    except OSError:
        return False
    return True
