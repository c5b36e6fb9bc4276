"""The site's pictures: small ones for overviews and full-size ones, made once, in several processes."""

from __future__ import annotations

import io
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any

from ...core.errors import StoreError
from ...core.images import WEB_FORMATS, BadImage, decode, inspect, make_thumbnail, reduce_to_side
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
        max_side: The longest side of full-size pictures; larger ones are scaled down.
    """

    blobs: str
    small: Path
    large: Path | None
    max_side: int | None = None


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
        self._small = _there(spec.small)
        self._large = _there(spec.large)
        self._pool: ProcessPoolExecutor | None = None
        self._batches: list[Future[list[tuple[str, str, str]]]] = []

    def make(self, images: Iterable[str]) -> None:
        """Start making the missing pictures; call this only once."""
        wanted, lacking = set(images), []
        for image in sorted(wanted):
            if image in self._small and (self.spec.large is None or image in self._large):
                self.suffixes[image] = self._large.get(image, "")
            else:
                lacking.append(image)
        # From here on, only those existing pictures matter that are no longer shown.
        self._small, self._large = (
            {image: suffix for image, suffix in suffixes.items() if image not in wanted}
            for suffixes in (self._small, self._large)
        )
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
        for folder, suffixes in ((self.spec.small, self._small), (self.spec.large, self._large)):
            if folder is not None:
                for image, suffix in suffixes.items():
                    picture_path(folder, image, suffix).unlink(missing_ok=True)

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
    info = inspect(data)
    suffix, picture = "", None
    if spec.large is not None:
        same: Path | None = None
        if spec.max_side is not None and max(info.width, info.height) > spec.max_side:
            picture = decode(data)
            suffix, large = "webp", _encoded(_scaled(picture, spec.max_side), "WEBP", quality=88, method=2)
        elif info.format in WEB_FORMATS:
            suffix, large = info.suffix, data
            same = None if "://" in spec.blobs else picture_path(Path(spec.blobs), image, suffix)
        else:
            picture = decode(data)
            suffix, large = "png", _encoded(picture, "PNG")
        _put(picture_path(spec.large, image, suffix), large, same)
    small = make_thumbnail(data, SIDE, info) if picture is None else reduce_to_side(picture, SIDE)
    _put(picture_path(spec.small, image, SMALL), _encoded(small, "JPEG", quality=75))
    return suffix


def _scaled(picture: Any, side: int) -> Any:
    from PIL import Image

    longer = max(picture.size)
    size = tuple(max(1, round(length * side / longer)) for length in picture.size)
    return picture.resize(size, Image.Resampling.BILINEAR, reducing_gap=1.5)


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

    Files of a site must have normal permissions, and a link shares them with the store's own file.
    """
    try:
        if stat.S_IMODE(same.stat().st_mode) != _mode():
            return False
        os.link(same, part)
    except OSError:
        return False
    return True


@cache
def _mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
