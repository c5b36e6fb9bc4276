"""Pictures: made once, linked where they can be, never trusted."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from limner.report.site.pictures import FEW, SMALL, Pictures, PictureSpec, picture_path
from limner.store import Blobs
from tests.report.site.hostile import picture


def blobs(folder: Path) -> Blobs:
    return Blobs(str(folder / "blobs"))


def made(spec: PictureSpec, *images: str) -> Pictures:
    pictures = Pictures(spec, workers=1)
    pictures.make(images)
    pictures.finish()
    return pictures


def spec(tmp_path: Path, *, large: bool = True) -> PictureSpec:
    return PictureSpec(str(tmp_path / "blobs"), tmp_path / "thumbs", tmp_path / "images" if large else None)


def opened(path: Path) -> Image.Image:
    return Image.open(io.BytesIO(path.read_bytes()))


@pytest.mark.parametrize(
    ("form", "suffix", "small"),
    [("PNG", "png", (300, 200)), ("JPEG", "jpg", (450, 300)), ("WEBP", "webp", (300, 200))],
)
def test_browser_formats_are_linked_without_copy(
    tmp_path: Path, form: str, suffix: str, small: tuple[int, int]
) -> None:
    image, _ = blobs(tmp_path).put(data := picture(1, (900, 600), form))
    pictures = made(spec(tmp_path), image)
    assert pictures.suffixes == {image: suffix}
    large = picture_path(tmp_path / "images", image, suffix)
    assert large.read_bytes() == data
    assert os.stat(large).st_nlink == 2
    assert opened(picture_path(tmp_path / "thumbs", image, SMALL)).size == small


def test_private_file_of_store_stays_private(tmp_path: Path) -> None:
    image, _ = blobs(tmp_path).put(data := picture(2))
    (tmp_path / "usual").touch()
    private = picture_path(tmp_path / "blobs", image, "png")
    private.chmod(0o600)
    made(spec(tmp_path), image)
    large = picture_path(tmp_path / "images", image, "png")
    assert large.read_bytes() == data
    assert large.stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert private.stat().st_mode & 0o777 == 0o600


def test_exif_orientation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    Image.new("RGB", (640, 320), "red").save(buffer, "JPEG", exif=exif)
    image, _ = blobs(tmp_path).put(buffer.getvalue())
    made(spec(tmp_path), image)
    assert opened(picture_path(tmp_path / "thumbs", image, SMALL)).size == (160, 320)


def test_thumbnail_matches_picture_with_white_for_transparency(tmp_path: Path) -> None:
    pixels = Image.new("RGBA", (1024, 512), (0, 0, 0, 0))
    pixels.paste((200, 40, 40, 255), (0, 0, 512, 512))
    shown = []
    for drawn, form in ((pixels, "PNG"), (pixels.quantize(8), "PNG"), (pixels, "WEBP")):
        buffer = io.BytesIO()
        drawn.save(buffer, form)
        image, _ = blobs(tmp_path).put(buffer.getvalue())
        made(spec(tmp_path), image)
        small = opened(picture_path(tmp_path / "thumbs", image, SMALL)).convert("RGB")
        shown.append((small.size, *(np.asarray(small)[80, at].astype(int) for at in (80, 260))))
    for size, left, right in shown:
        assert size == (342, 171)
        assert abs(left - (200, 40, 40)).max() < 8
        assert abs(right - 255).max() < 8


def test_second_build_adds_new_and_removes_old_pictures(tmp_path: Path) -> None:
    store = blobs(tmp_path)
    old, kept, new = (store.put(picture(n))[0] for n in (6, 7, 8))
    assert made(spec(tmp_path), old, kept).made == 2
    stamp = picture_path(tmp_path / "thumbs", kept, SMALL).stat().st_mtime_ns
    (tmp_path / "thumbs" / kept[:2] / ".part-left").write_bytes(b"half")
    again = made(spec(tmp_path), kept, new)
    assert again.made == 1
    assert again.suffixes == {kept: "png", new: "png"}
    assert picture_path(tmp_path / "thumbs", kept, SMALL).stat().st_mtime_ns == stamp
    left = {path.stem for path in (tmp_path / "thumbs").glob("*/*")}
    assert left == {kept, new}


def test_broken_and_missing_images_are_reported_and_others_made(tmp_path: Path) -> None:
    store = blobs(tmp_path)
    good, _ = store.put(picture(9))
    broken = "ab" * 32
    path = tmp_path / "blobs" / "ab" / f"{broken}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture(10)[:60])
    pictures = made(spec(tmp_path), good, broken, "cd" * 32)
    assert pictures.has(good)
    assert pictures.bad.keys() == {broken, "cd" * 32}
    assert not pictures.has(broken)


@pytest.mark.slow
def test_many_thumbnails_are_made_in_subprocesses(tmp_path: Path) -> None:
    store = blobs(tmp_path)
    images = [store.put(picture(n, (30 + n, 20)))[0] for n in range(FEW + 5)]
    pictures = Pictures(spec(tmp_path), workers=2)
    pictures.make(images)
    assert pictures._pool is not None
    counts: list[int] = []
    pictures.finish(counts.append)
    assert pictures.made == counts[-1] == len(images)
    assert all(picture_path(tmp_path / "thumbs", image, SMALL).exists() for image in images)
