"""Images: limits before decoding, one look whatever the format."""

from __future__ import annotations

import io
import struct
import threading
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.core import images
from limner.core.images import SUFFIXES, BadImage, ImageInfo, decode, inspect
from tests.support import picture


def save(image: Image.Image, kind: str, **how: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


def pixels(data: bytes) -> list[Any]:
    return list(decode(data).get_flattened_data())


def png(width: int, height: int, body: bytes = b"") -> bytes:
    """A PNG whose header says this size, whatever stands in it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("kind", "suffix"), SUFFIXES.items())
def test_the_header_tells_format_and_size(tmp_path: Path, kind: str, suffix: str) -> None:
    data = picture(3, kind, (20, 10))
    (tmp_path / "image").write_bytes(data)
    assert inspect(data) == inspect(tmp_path / "image") == ImageInfo(kind, 20, 10)
    assert inspect(data).suffix == suffix


@pytest.mark.parametrize(
    "data", [b"", b"x", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"<svg/>", b"BM" + b"\0" * 40]
)
def test_what_is_no_image_is_refused(data: bytes) -> None:
    for look in (inspect, decode):
        with pytest.raises(BadImage):
            look(data)


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "ICO", "PCX"])
def test_other_formats_are_not_taken(kind: str) -> None:
    with pytest.raises(BadImage, match="PNG, JPEG, WEBP, GIF, BMP are taken"):
        inspect(save(Image.new("RGB", (16, 16)), kind))


@pytest.mark.parametrize(("width", "height"), [(20_000, 20_000), (2**31 - 1, 2**31 - 1), (100_001, 1000)])
def test_a_bomb_is_refused_by_its_header(monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda *_: pytest.fail("decoded before the limits"))
    for look in (inspect, decode):
        with warnings.catch_warnings(action="ignore"), pytest.raises(BadImage, match="pixels"):
            look(png(width, height))


def test_too_many_bytes_are_not_even_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    data = picture(1).ljust(101, b"\0")
    (tmp_path / "image").write_bytes(data)
    monkeypatch.setattr("PIL.Image.open", lambda *_, **__: pytest.fail("opened before the limits"))
    for source in (data, tmp_path / "image"):
        with pytest.raises(BadImage, match="101 bytes; at most 100"):
            inspect(source)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_half_an_image_is_refused(kind: str) -> None:
    whole = save(Image.effect_noise((64, 64), 90).convert("RGB"), kind)
    with pytest.raises(BadImage, match=r"cannot be decoded|not a readable image"):
        decode(whole[: len(whole) // 2])


def test_transparent_is_white() -> None:
    image = Image.new("RGBA", (3, 1), (200, 0, 0, 255))
    image.putpixel((1, 0), (200, 0, 0, 0))
    image.putpixel((2, 0), (0, 0, 0, 128))
    assert pixels(save(image, "PNG")) == [(200, 0, 0), (255, 255, 255), (127, 127, 127)]
    grey = Image.new("LA", (2, 1), (50, 255))
    grey.putpixel((1, 0), (50, 0))
    assert pixels(save(grey, "PNG")) == [(50, 50, 50), (255, 255, 255)]


@pytest.mark.parametrize(("mode", "seen", "hidden"), [("RGB", (1, 2, 3), (9, 8, 7)), ("L", 40, 90), ("P", 1, 2)])
def test_a_transparent_colour_is_white(mode: str, seen: Any, hidden: Any) -> None:
    image = Image.new(mode, (2, 1), seen)
    if mode == "P":
        image.putpalette([0, 0, 0, 10, 20, 30, 40, 50, 60])
    image.putpixel((1, 0), hidden)
    first, second = pixels(save(image, "PNG", transparency=hidden))
    assert first == {"RGB": (1, 2, 3), "L": (40, 40, 40), "P": (10, 20, 30)}[mode]
    assert second == (255, 255, 255)


def test_sixteen_bit_greys_keep_their_tones() -> None:
    values = [0, 257 * 64, 257 * 128, 65535]
    image = Image.frombytes("I;16", (4, 1), struct.pack("<4H", *values))
    assert pixels(save(image, "PNG")) == [(v // 257,) * 3 for v in values]


def test_an_image_is_turned_upright() -> None:
    image = Image.new("RGB", (16, 8), "white")
    image.paste((255, 0, 0), (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = 6  # The top of the scene is at the right.
    upright = decode(save(image, "JPEG", exif=exif, quality=95))
    assert upright.size == (8, 16)
    red, _, blue = upright.getpixel((4, 3))  # type: ignore[misc]
    assert (red > 230, blue < 40) == (True, True)
    assert upright.getexif().get(0x0112) is None


def test_of_a_moving_image_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "WEBP", "PNG"):
        more: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
        data = save(frames[0], kind, save_all=True, append_images=frames[1:], **more)
        assert set(pixels(data)) == {(255, 0, 0)}


@pytest.mark.parametrize(("orientation", "size"), [(1, (16, 8)), (3, (16, 8)), (6, (8, 16)), (9, (16, 8))])
def test_the_header_tells_the_upright_size(orientation: int, size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = save(Image.new("RGB", (16, 8)), "JPEG", exif=exif)
    info = inspect(data)
    assert (info.width, info.height) == decode(data).size == size
    assert bool(info.notes) == (orientation in (3, 6))


def test_what_it_is_instead_is_told() -> None:
    for data, said in (
        (b"<svg/>", "this is SVG"),
        (b"%PDF-1.7", "this is PDF"),
        (b"{}", "this is JSON"),
        (b"x", "not"),
    ):
        with pytest.raises(BadImage, match=said):
            inspect(data)


def test_large_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "BIG_PIXELS", 63)
    inside, most, all_in = 0, 0, threading.Barrier(4)
    flatten = images.flatten

    def slowly(image: Image.Image) -> Image.Image:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        found = flatten(image.resize((500, 500)))
        inside -= 1
        return found

    def work() -> None:
        all_in.wait(60)
        decode(picture(1))

    monkeypatch.setattr(images, "flatten", slowly)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == 1


def test_broken_metadata_is_a_bad_image_too() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "words"
    data = save(Image.new("L", (8, 8)), "JPEG", exif=exif)
    # The words of the description become the width: no number, which trips whoever turns the image upright.
    changed = data.replace(b"\x01\x0e\x00\x02", b"\x01\x00\x00\x02")
    with warnings.catch_warnings(action="ignore"), pytest.raises(BadImage, match="cannot be decoded"):
        decode(changed)
