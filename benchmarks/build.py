"""How quick, how large and how right the filters of a build are: 1,000 pictures, and seeded damage to real ones.

    python -m benchmarks.build near
    python -m benchmarks.build filters --references FOLDER [--ocr N]

`near` draws its own pictures. `filters` damages those in a folder; the half that thresholds were set on is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image, ImageDraw
from tests.build.damage import COPIES, ENGLISH, FOREIGN, LOW, MARKS, jpeg, labelled, padded, png, resized

from benchmarks.table import Cell, Table, peak_mib
from benchmarks.table import told as told_table
from limner.build.engine import Spending, new_build
from limner.build.picture_rules import (
    distance,
    find_watermark,
    light_tones,
    near_duplicates,
    picture_hashes,
    unread_lines,
)
from limner.build.recipe import open_recipe
from limner.build.steps import DuplicatesSettings, FilterSettings, picture_sizes
from limner.build.wording import why_not_english
from limner.calls import Calls
from limner.core.images import decode
from limner.core.vocabulary import apply_rules
from limner.evidence.probe import OcrProbe, TextRegionProbe
from limner.store import Store


def drawn(number: int) -> Image.Image:
    """A figure of random shapes and words; each number gives another one."""
    chance = random.Random(number)
    image = Image.new("RGB", (chance.randint(600, 1400), chance.randint(500, 1100)), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(chance.randint(8, 30)):
        x, y = chance.randrange(image.width), chance.randrange(image.height)
        box = (x, y, x + chance.randint(20, 300), y + chance.randint(20, 300))
        colour = tuple(chance.randrange(220) for _ in range(3))
        chance.choice((pen.rectangle, pen.ellipse))(box, outline=colour, width=chance.randint(1, 6))
        pen.line((x, y, chance.randrange(image.width), chance.randrange(image.height)), fill=colour, width=2)
    return image


def near(many: int) -> Table:
    """A build over so many pictures, one in ten of them a near-duplicate, as far as its filters need no OCR."""
    made: list[tuple[Cell, ...]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pictures"
        folder.mkdir()
        copies = (jpeg, resized, padded)
        for n in range(many):
            image = drawn(n) if n % 10 else copies[n // 10 % 3](drawn(n + 1), random.Random(n))
            (folder / f"{n:04}.png").write_bytes(png(image))
        began = time.perf_counter()
        with ThreadPoolExecutor(2) as two:
            hashes = list(two.map(lambda file: picture_hashes(decode(file.read_bytes())), sorted(folder.iterdir())))
        hashed = time.perf_counter() - began
        found = near_duplicates([(str(n), one) for n, one in enumerate(hashes)], DuplicatesSettings().bits)
        indexed = time.perf_counter() - began - hashed
        made += [("hashes alone, two threads", hashed, many, many), ("index alone", indexed, many, many - len(found))]
        before = peak_mib()
        with Store(Path(place) / "store") as store:
            settings = [f'images.folders=["{folder}"]', "keywords.per_topic=0", 'taxonomy.subjects=["Music"]']
            builder = new_build(store, "many", "exam", settings=settings)
            builder.models = {"annotator": _Nobody()}  # type: ignore[dict-item]
            for until in ("images", "measure", "duplicates", "resolution"):
                began = time.perf_counter()
                builder.run(Spending(), until)
                count = builder.look(until)[0][-1]
                made.append((f"step `{until}`", time.perf_counter() - began, count.arrived, count.kept))
    figures = {"found": float(len(found)), "peak mib": peak_mib()}
    note = f"{len(found)} of {(many + 9) // 10} copies are found. At most {figures['peak mib']:.0f} MiB in memory, "
    return Table(
        ("what", "seconds", "pictures in", "out"),
        tuple(made),
        figures,
        note + f"{figures['peak mib'] - before:.0f} of them for the build.",
    )


def rows(quick: bool = False) -> Table:
    """A thousand pictures."""
    return near(30 if quick else 1000)


class _Nobody:
    """No step up to there asks anyone."""

    name = "nobody"
    settings: ClassVar[dict[str, Any]] = {}

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> None:
        """It is never asked."""


def told(what: str, hits: int, there: int, false: int, clean: int) -> str:
    """Precision and recall in words."""
    precision = hits / (hits + false) if hits + false else float("nan")
    return f"{what}: recall {hits}/{there} = {hits / there:.3f}, false {false}/{clean}, precision {precision:.3f}"


def filters(folder: Path, ocr: int) -> None:
    """Every filter on the half of the pictures that no threshold was set on."""
    files = sorted(folder.rglob("*.png"))
    random.Random(5).shuffle(files)
    images = {file.stem: decode(file.read_bytes()) for file in files[1::2]}
    print(f"{len(images)} pictures, never used for tuning")
    bits, hashes = DuplicatesSettings().bits, {name: picture_hashes(image) for name, image in images.items()}
    ranked = sorted(hashes.items())
    false = len(near_duplicates(ranked, bits))
    for kind, damage in COPIES.items():
        made = {name: picture_hashes(damage(image, random.Random(name))) for name, image in images.items()}
        hits = sum(min(map(distance, hashes[name], made[name])) <= bits for name in images)
        print(told(f"near-duplicates, {kind}", hits, len(images), false, len(images)))
    print(told("low resolution", *_low(images)))
    if ocr:
        asyncio.run(_text(dict(list(images.items())[:ocr])))


def _is_low(image: Image.Image) -> bool:
    (settings,) = (place.settings for place in open_recipe("exam").places if place.name == "resolution")
    assert isinstance(settings, FilterSettings)
    return any(apply_rules(settings.rules, picture_sizes(image)))


def _low(images: dict[str, Image.Image]) -> tuple[int, int, int, int]:
    hits = sum(_is_low(damage(image, random.Random(name))) for damage in LOW.values() for name, image in images.items())
    return hits, len(LOW) * len(images), sum(map(_is_low, images.values())), len(images)


async def _text(images: dict[str, Image.Image]) -> None:
    for image in images.values():
        image.thumbnail((900, 900))
    with tempfile.TemporaryDirectory() as place, Store(place) as store:
        async with Calls(store) as calls:

            async def read(image: Image.Image) -> list[str]:
                return [line.text for line in (await OcrProbe().measure(png(image), calls)).lines]

            async def marked(image: Image.Image) -> bool:
                return find_watermark(await read(image), await read(light_tones(image))) is not None

            false = sum([await marked(image) for image in images.values()])
            for kind, damage in MARKS.items():
                hits = sum([await marked(damage(image, random.Random(name))) for name, image in images.items()])
                print(told(f"watermark, {kind}", hits, len(images), false, len(images)))

            async def foreign(image: Image.Image) -> bool:
                lines = (await OcrProbe().measure(png(image), calls)).lines
                regions = (await TextRegionProbe().ask(png(image), calls, regions=True))[0]
                return why_not_english(line.text for line in lines) is not None or unread_lines(regions, lines) > 2

            english = sum([await foreign(labelled(image, ENGLISH)) for image in images.values()])
            english += sum([await foreign(image) for image in images.values()])
            for language, words in FOREIGN.items():
                hits = sum([await foreign(labelled(image, words)) for image in images.values()])
                print(told(f"not English, {language}", hits, len(images), english, 2 * len(images)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["near", "filters"])
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--ocr", type=int, default=0, help="so many pictures for the filters that read text")
    given = parser.parse_args()
    if given.what == "near":
        print(told_table(near(given.many)))
    else:
        filters(given.references, given.ocr)
