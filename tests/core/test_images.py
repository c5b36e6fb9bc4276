"""Images: limits before decoding, one look whatever the format."""

from __future__ import annotations

import asyncio
import base64
import io
import random
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from limner.core import images
from limner.core.images import (
    SUFFIXES,
    BadImage,
    ImageInfo,
    PreparedImage,
    Preparer,
    check_whole,
    decode,
    inspect,
    prepare,
)
from limner.store import Blobs
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
def test_header_gives_format_and_size(tmp_path: Path, kind: str, suffix: str) -> None:
    data = picture(3, kind, (20, 10))
    (tmp_path / "image").write_bytes(data)
    assert inspect(data) == inspect(tmp_path / "image") == ImageInfo(kind, 20, 10)
    assert inspect(data).suffix == suffix


@pytest.mark.parametrize(
    "data", [b"", b"x", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"<svg/>", b"BM" + b"\0" * 40]
)
def test_invalid_image_data_is_rejected(data: bytes) -> None:
    for look in (inspect, decode):
        with pytest.raises(BadImage):
            look(data)


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "ICO", "PCX"])
def test_unsupported_formats_are_rejected(kind: str) -> None:
    with pytest.raises(BadImage, match="accepted: PNG, JPEG, WEBP, GIF, BMP"):
        inspect(save(Image.new("RGB", (16, 16)), kind))


@pytest.mark.parametrize(("width", "height"), [(20_000, 20_000), (2**31 - 1, 2**31 - 1), (100_001, 1000)])
def test_decompression_bomb_is_rejected_by_header(monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda *_: pytest.fail("decoded before the limits"))
    for look in (inspect, decode):
        with warnings.catch_warnings(action="ignore"), pytest.raises(BadImage, match="pixel"):
            look(png(width, height))


def test_oversized_file_is_rejected_before_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    data = picture(1).ljust(101, b"\0")
    (tmp_path / "image").write_bytes(data)
    monkeypatch.setattr("PIL.Image.open", lambda *_, **__: pytest.fail("opened before the limits"))
    for source in (data, tmp_path / "image"):
        with pytest.raises(BadImage, match="101 bytes; the limit is 100"):
            inspect(source)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_truncated_image_is_rejected(kind: str) -> None:
    whole = save(Image.effect_noise((64, 64), 90).convert("RGB"), kind)
    with pytest.raises(BadImage, match=r"cannot be decoded|not a readable image"):
        decode(whole[: len(whole) // 2])


def test_transparent_pixels_become_white() -> None:
    image = Image.new("RGBA", (3, 1), (200, 0, 0, 255))
    image.putpixel((1, 0), (200, 0, 0, 0))
    image.putpixel((2, 0), (0, 0, 0, 128))
    assert pixels(save(image, "PNG")) == [(200, 0, 0), (255, 255, 255), (127, 127, 127)]
    grey = Image.new("LA", (2, 1), (50, 255))
    grey.putpixel((1, 0), (50, 0))
    assert pixels(save(grey, "PNG")) == [(50, 50, 50), (255, 255, 255)]


@pytest.mark.parametrize(("mode", "seen", "hidden"), [("RGB", (1, 2, 3), (9, 8, 7)), ("L", 40, 90), ("P", 1, 2)])
def test_transparent_palette_colour_becomes_white(mode: str, seen: Any, hidden: Any) -> None:
    image = Image.new(mode, (2, 1), seen)
    if mode == "P":
        image.putpalette([0, 0, 0, 10, 20, 30, 40, 50, 60])
    image.putpixel((1, 0), hidden)
    first, second = pixels(save(image, "PNG", transparency=hidden))
    assert first == {"RGB": (1, 2, 3), "L": (40, 40, 40), "P": (10, 20, 30)}[mode]
    assert second == (255, 255, 255)


def test_sixteen_bit_grey_keeps_tones() -> None:
    values = [0, 257 * 64, 257 * 128, 65535]
    image = Image.frombytes("I;16", (4, 1), struct.pack("<4H", *values))
    assert pixels(save(image, "PNG")) == [(v // 257,) * 3 for v in values]


def test_exif_orientation_is_applied() -> None:
    image = Image.new("RGB", (16, 8), "white")
    image.paste((255, 0, 0), (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = 6  # The top of the scene is at the right.
    upright = decode(save(image, "JPEG", exif=exif, quality=95))
    assert upright.size == (8, 16)
    red, _, blue = upright.getpixel((4, 3))  # type: ignore[misc]
    assert (red > 230, blue < 40) == (True, True)
    assert upright.getexif().get(0x0112) is None


def test_first_frame_of_animation_is_used() -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "WEBP", "PNG"):
        more: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
        data = save(frames[0], kind, save_all=True, append_images=frames[1:], **more)
        assert set(pixels(data)) == {(255, 0, 0)}


@pytest.mark.parametrize(("orientation", "size"), [(1, (16, 8)), (3, (16, 8)), (6, (8, 16)), (9, (16, 8))])
def test_header_size_respects_exif_orientation(orientation: int, size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = save(Image.new("RGB", (16, 8)), "JPEG", exif=exif)
    info = inspect(data)
    assert (info.width, info.height) == decode(data).size == size
    assert bool(info.notes) == (orientation in (3, 6))


def test_rejection_names_actual_file_type() -> None:
    for data, message in (
        (b"<svg/>", "this is SVG"),
        (b"%PDF-1.7", "this is PDF"),
        (b"{}", "this is JSON"),
        (b"x", "not"),
    ):
        with pytest.raises(BadImage, match=message):
            inspect(data)


def test_large_images_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_room", images.PixelRoom(64))
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


def test_broken_metadata_raises_bad_image() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "words"
    data = save(Image.new("L", (8, 8)), "JPEG", exif=exif)
    # The words of the description become the width: no number, which trips whoever turns the image upright.
    changed = data.replace(b"\x01\x0e\x00\x02", b"\x01\x00\x00\x02")
    with warnings.catch_warnings(action="ignore"), pytest.raises(BadImage, match="cannot be decoded"):
        decode(changed)


def opened(prepared: PreparedImage) -> Image.Image:
    head, data = prepared.url.split(",")
    assert head == "data:image/jpeg;base64"
    image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    image.load()
    return image


def test_native_form_reencodes_transparent_or_rotated_images() -> None:
    glass, solid = (save(Image.new("RGBA", (8, 8), (0, 0, 0, alpha)), "PNG") for alpha in (0, 255))
    exif = Image.Exif()
    exif[0x0112] = 3
    turned = save(Image.new("RGB", (8, 8)), "PNG", exif=exif)
    plain = save(Image.new("RGB", (8, 8)), "WEBP")
    same = {name: base64.b64decode(prepare(data, None, "native").url.partition(",")[2]) == data
            for name, data in (("glass", glass), ("solid", solid), ("turned", turned), ("plain", plain))}  # fmt: skip
    assert same == {"glass": False, "solid": True, "turned": False, "plain": True}


SIZES = st.integers(1, 3000)


@given(SIZES, SIZES, st.sampled_from([None, 1, 7, 512, 768]))
def test_longer_side_is_bounded_without_upscaling(width: int, height: int, most: int | None) -> None:
    """The shorter side is rounded down, as the released scorer does."""
    longer = max(width, height)
    if most is None or longer <= most:
        expected = (width, height)
    else:
        expected = (max(1, width * most // longer), max(1, height * most // longer))
    image = Image.new("L", (width, height))
    found = prepare(save(image, "PNG", compress_level=0), most)
    assert (found.width, found.height) == expected == opened(found).size


def broken() -> list[bytes]:
    """Small images of many sorts with a few bytes changed, cut or added, the same ones each time."""
    chance, whole = random.Random(20), []
    noise = Image.effect_noise((24, 24), 60)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "words"
    for mode, kind in (("RGB", "PNG"), ("P", "PNG"), ("L", "GIF"), ("RGB", "BMP"), ("RGBA", "WEBP")):
        whole.append(save(noise.convert(mode), kind))
    whole += [save(noise, "JPEG", exif=exif)] * 3
    found = []
    for _ in range(150):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.choice((1, 2, 6))):
            at = chance.randrange(min(len(data), chance.choice((80, 300, 10**6))))
            change = chance.choice(("change", "change", "cut", "add"))
            if change == "change":
                data[at] = chance.randrange(256)
            elif change == "cut" and at > 20:
                del data[at:]
            else:
                data[at:at] = chance.randbytes(5)
        found.append(bytes(data))
    return found


@pytest.mark.slow
def test_corrupted_images_raise_only_bad_image() -> None:
    refused = 0
    with warnings.catch_warnings(action="ignore"):
        for data in broken():
            try:
                prepare(data, 16)
            except BadImage:
                refused += 1
    assert 25 < refused < 150


class Shelf:
    """Images by hash, with a count of how often each was taken."""

    def __init__(self, *numbers: int) -> None:
        self.data = {f"{n}": picture(n, size=(40, 20)) for n in numbers}
        self.taken: list[str] = []

    def __call__(self, sha256: str) -> bytes:
        self.taken.append(sha256)
        return self.data[sha256]


def test_each_image_is_prepared_once_per_size() -> None:
    shelf = Shelf(*range(4))
    preparer = Preparer(shelf)

    async def run() -> list[PreparedImage]:
        wanted = [(f"{n % 4}", size) for n in range(200) for size in (None, 10)]
        return list(await asyncio.gather(*(preparer.get(*one) for one in wanted)))

    found = asyncio.run(run())
    assert sorted(shelf.taken) == sorted([*"0123"] * 2)
    assert preparer.prepared == 8
    assert len({one.url for one in found}) == 8
    assert {(one.width, one.height) for one in found} == {(40, 20), (10, 5)}


def test_images_are_prepared_outside_event_loop_thread() -> None:
    threads: set[str] = set()

    def load(_sha256: str) -> bytes:
        threads.add(threading.current_thread().name)
        return picture(1)

    asyncio.run(Preparer(load).get("x", None))
    assert threading.current_thread().name not in threads


def test_image_cache_respects_byte_limit() -> None:
    shelf = Shelf(*range(10))
    size = len(prepare(shelf.data["0"], None).url)
    preparer = Preparer(shelf, limit=3 * size + size // 2)

    async def run() -> None:
        for n in range(10):
            await preparer.get(f"{n}", None)
        shelf.taken.clear()
        for n in (9, 8, 7, 9, 6, 9, 7):
            await preparer.get(f"{n}", None)

    asyncio.run(run())
    # The three last used are at hand: 6 is fetched anew and drives out 8, which nobody wanted longest.
    assert shelf.taken == ["6"]
    assert preparer._bytes == sum(len(one.url) for one in preparer._kept.values()) <= 3 * size + size // 2


def test_bad_image_fails_all_waiters_and_is_not_cached() -> None:
    data, tried = [b"no image", picture(1)], 0

    def load(_sha256: str) -> bytes:
        nonlocal tried
        tried += 1
        return data[tried - 1]

    async def run() -> None:
        preparer = Preparer(load)
        both = await asyncio.gather(*(preparer.get("x", None) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in both] == [BadImage, BadImage]
        assert (await preparer.get("x", None)).width == 8

    asyncio.run(run())
    assert tried == 2


def test_cancelled_caller_does_not_stop_other_waiters() -> None:
    go_on, begun = threading.Event(), threading.Event()

    def load(_sha256: str) -> bytes:
        begun.set()
        assert go_on.wait(60)
        return picture(1)

    async def run() -> None:
        preparer = Preparer(load)
        first, second = (asyncio.create_task(preparer.get("x", None)) for _ in range(2))
        assert await asyncio.to_thread(begun.wait, 10)
        first.cancel()
        go_on.set()
        assert (await second).width == 8

    asyncio.run(run())


def as_released(data: bytes, max_side: int) -> bytes:
    """The JPEG that the release of GenExam makes, step by step and with no thought of speed."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    longer = max(image.size)
    if longer > max_side:
        width, height = (int(side * max_side / longer) for side in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG")
    return buffer.getvalue()


def noisy(size: tuple[int, int]) -> Image.Image:
    """A picture of which every pixel counts."""
    return Image.effect_noise(size, 90).convert("RGB")


@pytest.mark.parametrize("size", [(96, 64), (64, 200), (31, 17), (768, 48)])
@pytest.mark.parametrize(
    "how", [{"format": "PNG"}, {"format": "JPEG", "quality": 95}, {"format": "WEBP"}, {"format": "BMP"}]
)
def test_prepared_image_matches_release_byte_for_byte(size: tuple[int, int], how: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    more: dict[str, Any] = {"exif": turned_exif(6)} if how["format"] == "JPEG" else {}
    noisy(size).save(buffer, **how, **more)
    for side in (48, 768):
        assert prepare(buffer.getvalue(), side).parts == ("image/jpeg", as_released(buffer.getvalue(), side))


def turned_exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (png(6001, 6001), "33,554,432 in total"),
        (png(1, 20_001), "20,000 a side"),
        (png(64, 64, zlib.compress(bytes(193))), "cannot be decoded: its data has 193 of 12,352 bytes"),
        (b"".join([picture(1, "JPEG"), *[b"\xff\xda"] * 100]), "more than 100 scans"),
    ],
)
def test_image_beyond_limits_is_refused_before_decoding(tmp_path: Path, data: bytes, limit: str) -> None:
    with pytest.raises(BadImage, match=limit):
        check_whole(data)
    with pytest.raises(BadImage, match=limit):
        Blobs(str(tmp_path)).put(data)


# Interlaced, which Pillow cannot write.
ADAM7 = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAADCAAAAAEERNr1AAAAEElEQVR4nGMIZQBCMAGkQgEU+gL+SMFLjwAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_complete_pngs_are_accepted(mode: str) -> None:
    for size in ((1, 1), (7, 5), (33, 9)):
        assert (check_whole(images.encode_png(Image.new(mode, size))).width) == size[0]
    assert check_whole(ADAM7).height == 3


@pytest.mark.slow
def test_large_images_take_less_than_800_megabytes() -> None:
    """Three at once, as large as accepted, with transparency, which takes the most."""
    run = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 800 * 2**10


# Not ru_maxrss, which keeps what the process that started this one had.
LARGE = """
from concurrent.futures import ThreadPoolExecutor
from PIL import Image
from limner.core.images import encode_png, prepare
data = encode_png(Image.new("RGBA", (5792, 5792), (9, 9, 9, 128)), 1)
with ThreadPoolExecutor(3) as pool:
    list(pool.map(lambda _: prepare(data, 1024), range(3)))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize("size", [(40, 30), (2000, 1500)])
def test_grey_images_are_sent_as_grey_jpegs(size: tuple[int, int]) -> None:
    from PIL import Image

    drawing = Image.linear_gradient("L").resize(size)
    sent = Image.open(io.BytesIO(images.prepare(images.encode_png(drawing), 768).parts[1]))
    assert (sent.format, sent.mode) == ("JPEG", "L")
    as_released = drawing if max(size) <= 768 else drawing.resize((768, 576), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    as_released.save(buffer, format="JPEG")
    assert images.prepare(images.encode_png(drawing), 768).parts[1] == buffer.getvalue()
