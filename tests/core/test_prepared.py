"""Images as they are sent: the same bytes each time, no larger than wanted, each prepared once."""

from __future__ import annotations

import asyncio
import base64
import io
import random
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps

from limner.core.images import BadImage, ImageForm, PreparedImage, Preparer, decode, prepare
from tests.core.test_images import save
from tests.support import picture


def opened(prepared: PreparedImage) -> Image.Image:
    head, data = prepared.url.split(",")
    assert head == "data:image/jpeg;base64"
    image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    image.load()
    return image


def test_what_others_may_show_differently_is_not_sent_as_it_is() -> None:
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
def test_the_longer_side_is_bounded_and_nothing_is_enlarged(width: int, height: int, most: int | None) -> None:
    """The shorter side is rounded down, as the released scorer does."""
    longer = max(width, height)
    if most is None or longer <= most:
        expected = (width, height)
    else:
        expected = (max(1, width * most // longer), max(1, height * most // longer))
    image = Image.new("L", (width, height))
    found = prepare(save(image, "PNG", compress_level=0), most)
    assert (found.width, found.height) == expected == opened(found).size


def test_a_side_too_long_for_jpeg_is_refused_unless_scaled() -> None:
    data = save(Image.new("L", (65_501, 1)), "PNG")
    with pytest.raises(BadImage, match="65501 x 1 pixels; JPEG"):
        prepare(data, None)
    assert prepare(data, 768).width == 768


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
def test_whatever_is_broken_is_a_bad_image_and_nothing_else() -> None:
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


def test_images_are_prepared_beside_the_event_loop() -> None:
    threads: set[str] = set()

    def load(_sha256: str) -> bytes:
        threads.add(threading.current_thread().name)
        return picture(1)

    asyncio.run(Preparer(load).get("x", None))
    assert threading.current_thread().name not in threads


def test_no_more_bytes_are_kept_than_allowed() -> None:
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


def test_a_bad_image_fails_for_everyone_who_waits_and_is_not_kept() -> None:
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


def test_one_impatient_caller_does_not_stop_the_others() -> None:
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
def test_an_image_is_prepared_byte_for_byte_as_by_the_release(size: tuple[int, int], how: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    more: dict[str, Any] = {"exif": turned_exif(6)} if how["format"] == "JPEG" else {}
    noisy(size).save(buffer, **how, **more)
    for side in (48, 768):
        assert prepare(buffer.getvalue(), side).parts == ("image/jpeg", as_released(buffer.getvalue(), side))


def turned_exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize("format", ["PNG", "JPEG"])
def test_the_quick_way_gives_the_same_picture_in_other_bytes(format: str) -> None:
    smooth = Image.linear_gradient("L").resize((900, 600)).convert("RGB")
    smooth.paste("black", (105, 57, 403, 301))  # Edges between pixels of the smaller picture.
    buffer = io.BytesIO()
    smooth.save(buffer, format=format)
    data = buffer.getvalue()
    forms: tuple[tuple[ImageForm, ImageForm], ...] = (("jpeg", "quick-jpeg"), ("native", "quick-native"))
    for form, other in forms:
        exact, quick = prepare(data, 100, form), prepare(data, 100, other)
        assert (quick.width, quick.height) == (exact.width, exact.height) == (100, 66)
        assert quick.parts[0] == exact.parts[0]
        assert quick.url != exact.url
        ours, theirs = (np.asarray(decode(one.parts[1]), dtype=float) for one in (quick, exact))
        assert np.abs(ours - theirs).mean() < 3
        assert prepare(data, None, other) == prepare(data, None, form)  # There is nothing to scale.
