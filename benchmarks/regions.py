"""Images a second of SAM 2.1's region counter, beside the released procedure: ``python -m benchmarks.regions``.

Weights are random, of the real size, and the same for all ways; so are the thresholds. With ``--tiny`` it is a smoke
test. OCR takes part where rapidocr can be imported: with an engine built anew for every image as in the release, and
with one engine for each of several threads as in Limner.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

if find_spec("limner") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch
from PIL import Image

from benchmarks.material import diagram
from benchmarks.regions_model import make
from benchmarks.regions_port import Port
from benchmarks.table import CannotRun, Table
from limner.core.evidence import TextLine
from limner.evidence.ocr import RapidOcr
from limner.evidence.regions.base import Box, Regions, merge_regions
from limner.evidence.regions.boxes import RELEASE, MaskSettings
from limner.evidence.regions.masks import MaskGenerator
from limner.evidence.regions.sam import BATCH

READERS = 4
"""Threads that read text; each builds an engine of its own, once."""


@dataclass
class Way:
    """One way of counting, and what was measured of it."""

    name: str
    seconds: float = 0.0
    masks_seconds: float = 0.0
    passed: int = 0
    found: list[Regions] = field(default_factory=list)


def released(
    model: Any, images: list[Image.Image], settings: MaskSettings, device: str, ocr: bool
) -> tuple[Way, float]:
    """The released procedure, one image after the other; also the mean number of runs a mask has."""
    way, port = Way("released procedure, float32"), Port(copy.deepcopy(model), settings, device)
    port.boxes(images[0])
    port.passed = port.runs = 0
    start = time.perf_counter()
    for image in images:
        begun = time.perf_counter()
        boxes = port.boxes(image)
        way.masks_seconds += time.perf_counter() - begun
        lines = RapidOcr().read(image) if ocr else []
        way.found.append(merge_regions(boxes, lines))
    way.seconds, way.passed = time.perf_counter() - start, port.passed
    return way, port.runs / max(1, port.passed)


def limner(model: Any, images: list[Image.Image], settings: MaskSettings, how: dict[str, Any], ocr: bool) -> Way:
    """Limner's way: threads read text while the device makes masks."""
    generator = MaskGenerator(copy.deepcopy(model), settings, **how)
    way = Way(f"limner, {how['precision']}{', compiled' if how['compiled'] else ''}")
    for image in images[:2]:  # What is compiled is compiled now.
        generator.boxes(image)
    generator.passed = 0
    with ThreadPoolExecutor(min(READERS, os.cpu_count() or 1)) as pool:
        start = time.perf_counter()
        read: Callable[[Image.Image], list[TextLine]] = RapidOcr().read if ocr else lambda _image: []
        texts = pool.map(read, images)
        masks: list[list[Box]] = []
        for image in images:
            masks.append(generator.boxes(image))
        way.masks_seconds = time.perf_counter() - start
        way.found = [merge_regions(boxes, lines) for boxes, lines in zip(masks, texts, strict=True)]
        way.seconds = time.perf_counter() - start
    way.passed = generator.passed
    return way


def table(ways: list[Way], count: int) -> Iterator[str]:
    """The measured figures, one way a line."""
    heads = ("images/s", "ratio", "s/image", "masks s", "passed", "regions", "off by")
    yield f"{'way':30}" + "".join(f"{head:>10}" for head in heads)
    first = ways[0]
    for way in ways:
        off = sum(abs(one.count - other.count) for one, other in zip(first.found, way.found, strict=True))
        regions = sum(one.count for one in way.found)
        speed = (count / way.seconds, first.seconds / way.seconds, way.seconds / count, way.masks_seconds / count)
        yield f"{way.name:30}" + "".join(
            f"{figure:10.{digits}f}"
            for figure, digits in zip(
                (*speed, way.passed / count, regions / count, off / count), (3, 2, 3, 3, 0, 1, 1), strict=True
            )
        )


def rows(quick: bool = False) -> Table:
    """Masks alone on a GPU, as the page on regions has it; quick: a tiny model on whatever there is."""
    if not quick and not torch.cuda.is_available():
        raise CannotRun("no GPU here")
    device, count = "cuda" if torch.cuda.is_available() else "cpu", 1 if quick else 8
    settings = MaskSettings(points=4) if quick else RELEASE
    images = [diagram(f"regions{n}").resize((256, 256) if quick else (1024, 1024)) for n in range(count)]
    model = make(quick)
    ways = [released(model, images, settings, device, ocr=False)[0]]
    for precision in ("float32",) if quick else ("float32", "bfloat16"):
        for compiled in (False,) if quick else (False, True):
            how = {"device": device, "precision": precision, "batch": BATCH[precision], "compiled": compiled}
            ways.append(limner(model, images, settings, how, ocr=False))
    made = tuple((way.name, count / way.seconds, ways[0].seconds / way.seconds) for way in ways)
    figures = {"seconds an image": min(way.seconds for way in ways[1:]) / count}
    place = torch.cuda.get_device_name() if device == "cuda" else "no GPU"
    note = f"{count} images of {images[0].width} pixels, random weights, no OCR; {place}, torch {torch.__version__}."
    return Table(("way", "images a second", "ratio"), made, figures, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--images", type=int, default=8)
    parser.add_argument("--side", type=int, default=1024, help="of the square images")
    parser.add_argument("--batch", type=int, help="prompts that Limner decodes together")
    parser.add_argument("--precision", action="append", choices=["bfloat16", "float32"], help="of Limner; repeatable")
    parser.add_argument("--compiled", action="store_true", help="also with the decoder compiled")
    parser.add_argument("--no-ocr", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a tiny model and few points")
    given = parser.parse_args()
    settings = MaskSettings(points=8) if given.tiny else RELEASE
    ocr = not given.no_ocr and find_spec("rapidocr") is not None
    images = [diagram(f"regions{n}").resize((given.side, given.side)) for n in range(given.images)]
    model = make(given.tiny)
    what = "tiny" if given.tiny else "SAM 2.1 large"
    place = torch.cuda.get_device_name() if given.device.startswith("cuda") else f"{os.cpu_count()} cores"
    print(f"{what}, random weights, settings {settings}; {given.images} images of {given.side} px; {place}")
    print(f"torch {torch.__version__}; OCR {'takes part' if ocr else 'left out'}")
    first, runs = released(model, images, settings, given.device, ocr)
    print(f"the released procedure's masks have {runs:.0f} runs each on average", flush=True)
    ways = [first]
    for precision in given.precision or ["float32", "bfloat16"]:
        for compiled in (False, True) if given.compiled else (False,):
            batch = given.batch or BATCH[precision]
            how = {"device": given.device, "precision": precision, "batch": batch, "compiled": compiled}
            ways.append(limner(model, images, settings, how, ocr))
            print(ways[-1].name, f"{ways[-1].masks_seconds / given.images:.3f} s an image for masks", flush=True)
    print(*table(ways, given.images), sep="\n")
    print("ratio and off by: against the first way; masks that passed, regions, and regions off: an image")


if __name__ == "__main__":
    main()
