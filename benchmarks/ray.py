"""OCR on a Ray cluster of two nodes of this machine with one core each: by one actor, by two, and by processes.

    python -m benchmarks.ray [IMAGES]

Every way reads the same drawings after its workers have read one each. Needs `pip install 'limner[ray]'`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from PIL import Image, ImageDraw

from benchmarks.table import CannotRun, Clock, Table, told
from limner.core.images import encode_png, font
from limner.evidence.probe import OcrProbe
from limner.workers import Pool
from limner.workers.process import Hosts
from limner.workers.ray import cluster

IMAGES = 60
SECONDS = 300.0
WORDS = ("nucleus", "membrane", "chloroplast", "vacuole", "cell wall", "ribosome", "cytoplasm", "starch")


def drawing(number: int) -> bytes:
    """A figure with eight labels, each time at other places."""
    image = Image.new("RGB", (640, 640), "white")
    pen = ImageDraw.Draw(image)
    for place, word in enumerate(WORDS):
        x, y = 20 + (number * 37 + place * 151) % 380, 20 + place * 76
        pen.ellipse((x - 15, y - 10, x + 200, y + 50), outline="gray", width=2)
        pen.text((x, y), f"{word} {number}", font=font(24), fill="black")
    return encode_png(image)


@contextmanager
def two_nodes() -> Iterator[str]:
    """A cluster on this machine, and its address; nothing of it is left."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    folder, how = tempfile.mkdtemp(prefix="lr"), {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    first: dict[str, Any] = {**how, "include_dashboard": False, "temp_dir": folder}
    made = Cluster(initialize_head=True, head_node_args=first)
    try:
        made.add_node(**how)
        yield made.address
    finally:
        made.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def seconds_of(images: list[bytes], workers: int, where: Hosts) -> tuple[float, list[Any]]:
    """How long so many workers take for the images, once they have started; and what they read."""
    pool = Pool(OcrProbe()._recipe, [{}] * workers, hosts=where)
    while pool.started < workers:
        for job in [pool.submit({}, (images[0],), seconds=SECONDS) for _ in range(2 * workers)]:
            job.result()
    with Clock() as clock:
        jobs = [pool.submit({}, (image,), seconds=SECONDS) for image in images]
        found = [job.result().value for job in jobs]
    pool.close()
    return clock.seconds, found


def rows(quick: bool = False, count: int = IMAGES) -> Table:
    if find_spec("ray") is None:
        raise CannotRun("pip install 'limner[ray]'")
    images = [drawing(number) for number in range(4 if quick else count)]
    here = Hosts()
    took = {("processes", n): seconds_of(images, n, here) for n in (1, 2)}
    with two_nodes() as address:
        for n in (1, 2):
            # Joined anew for each: no actor of the one is left when the other is measured.
            with cluster(address) as there:
                took["actors", n] = seconds_of(images, n, there)
    if any(found != took["processes", 1][1] for _, found in took.values()):
        raise AssertionError("the ways have not read the same")
    lines = tuple(
        (f"{n} {way if n > 1 else way.removesuffix('es' if way == 'processes' else 's')}", len(images) / seconds,
         1000 * seconds / len(images), took[way, 1][0] / seconds)
        for (way, n), (seconds, _) in took.items()
    )  # fmt: skip
    figures = {
        "two of one": took["actors", 1][0] / took["actors", 2][0],
        "two processes of one": took["processes", 1][0] / took["processes", 2][0],
        "actors of processes": took["processes", 2][0] / took["actors", 2][0],
    }
    note = f"{len(images)} drawings of 640 x 640 pixels with eight labels, read once by each way; workers warm."
    return Table(("workers", "drawings a second", "ms a drawing", "times one"), lines, figures, note)


if __name__ == "__main__":
    print(told(rows(count=int(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)))
