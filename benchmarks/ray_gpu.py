"""One GPU through Ray: regions and looks by one actor that has the whole of it, by two halves, and by processes.

    python -m benchmarks.ray_gpu

Models have random weights of the real size (SAM 2.1 large; CLIP ViT-L/14 with a head). Every way measures the same
drawings after its workers have measured one each. Then an actor is killed half-way through, and what the journal has is
counted. Needs torch, transformers and `pip install 'limner[ray]'`. Quick: tiny models, and a GPU that only Ray believes
in.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from benchmarks.material import diagram
from benchmarks.table import CannotRun, Cell, Clock, Table, told
from limner.calls import Calls
from limner.core.images import encode_png
from limner.evidence.backends import RegionsProbe
from limner.evidence.metrics import open_metric
from limner.evidence.probe import Finding, LocalProbe
from limner.store import Store
from limner.store.schema import attempts, calls
from limner.workers import Pool, Recipe
from limner.workers.process import Hosts
from limner.workers.ray import cluster

SECONDS = 600.0
WORKERS = (1, 2)
"""How many share the GPU."""
KINDS = 32
"""So many drawings differ in more than a pixel."""
VISION = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
          "image_size": 224, "patch_size": 14}  # fmt: skip
TINY_VISION = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
               "image_size": 32, "patch_size": 8}  # fmt: skip


class NoText(LocalProbe):
    """Finds no line on any drawing: OCR is measured elsewhere."""

    def __init__(self) -> None:
        super().__init__("ocr", "no text", Recipe("no text", ""), SECONDS)

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        return Finding([], self.name, "")


@dataclass(frozen=True)
class Work:
    """One sort of measuring.

    Attributes:
        given: What a worker is given beside an image.
        ask: One image through the journal, as a run asks.
    """

    name: str
    recipe: Recipe
    given: dict[str, Any]
    images: list[bytes]
    ask: Callable[[bytes, Calls], Awaitable[Any]]


def regions(folder: Path, images: list[bytes], quick: bool) -> Work:
    """SAM 2.1 with random weights, saved as released ones are."""
    from benchmarks.regions_model import make

    make(quick).save_pretrained(folder)
    word = f"sam2.1:{folder}"
    probe = RegionsProbe(word, {"points": 4} if quick else {}, NoText())
    given = {"lines": [], "named": probe._counter.name}
    return Work("tiny SAM 2.1" if quick else "SAM 2.1 large", probe._recipe, given, images, probe.measure)


def looks(folder: Path, images: list[bytes], quick: bool, device: str) -> Work:
    """CLIP and a head over it, both with random weights."""
    import torch

    transformers: Any = import_module("transformers")
    pictures: Any = import_module("transformers.models.clip.image_processing_pil_clip")
    torch.manual_seed(0)
    vision, dims = (TINY_VISION, 24) if quick else (VISION, 768)
    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=dims)
    transformers.CLIPModel(config).save_pretrained(folder)
    side = int(vision["image_size"])
    size = {"size": {"shortest_edge": side}, "crop_size": {"height": side, "width": side}}
    pictures.CLIPImageProcessorPil(**size).save_pretrained(folder)
    head = folder / "head.pt"
    torch.save({"layers.0.weight": torch.randn(1, dims), "layers.0.bias": torch.randn(1)}, head)
    metric = open_metric(f"aesthetic-clip:{folder}?head={head}&device={device}")

    async def ask(image: bytes, calls: Calls) -> Any:
        return await metric.measure(image, "", calls)

    return Work("tiny CLIP" if quick else "CLIP ViT-L/14", metric._recipe, {}, images, ask)


@contextmanager
def one_gpu() -> Iterator[tuple[str, int]]:
    """A cluster of one node with one GPU, its address and its raylet's id; nothing of it is left."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="lr")
    how: dict[str, Any] = {"num_cpus": os.cpu_count() or 1, "num_gpus": 1, "object_store_memory": 512 * 2**20}
    # Ray notes the address of its last cluster there, wherever its other files are.
    (Path(tempfile.gettempdir()) / "ray").mkdir(exist_ok=True)
    made = Cluster(initialize_head=True, head_node_args={**how, "include_dashboard": False, "temp_dir": folder})
    try:
        yield made.address, made.head_node.all_processes["raylet"][0].process.pid
    finally:
        made.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def seconds_of(work: Work, workers: int, where: Hosts) -> tuple[float, list[Any]]:
    """How long so many workers take for the images, once they have started; and what they found."""
    pool = Pool(work.recipe, [{}] * workers, hosts=where)
    while pool.started < workers:
        for job in [pool.submit(work.given, (work.images[0],), seconds=SECONDS) for _ in range(2 * workers)]:
            job.result()
    with Clock() as clock:
        jobs = [pool.submit(work.given, (image,), seconds=SECONDS) for image in work.images]
        found = [job.result().value for job in jobs]
    pool.close()
    return clock.seconds, found


def hosts_of_workers(raylet: int) -> list[psutil.Process]:
    """The processes of actors that stand on a node."""
    found = []
    for each in psutil.Process(raylet).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("ActorHost" in word for word in each.cmdline()):
                found.append(each)
    return found


async def _measure_all(work: Work, store: Store, raylet: int) -> None:
    """Measure all through the journal, as a run does; half-way through the process of an actor is killed."""
    done = 0

    async def one(image: bytes, journal: Calls) -> None:
        nonlocal done
        await work.ask(image, journal)
        done += 1
        if done == len(work.images) // 2:
            hosts_of_workers(raylet)[0].kill()

    async with Calls(store) as journal:
        await asyncio.gather(*(one(image, journal) for image in work.images))


def with_a_loss(work: Work, address: str, raylet: int, folder: Path) -> tuple[float, list[Any], int]:
    """The seconds with two actors of which one is killed, what the journal has in the end, and its attempts."""
    with cluster(address, ["0.5"]), Store(folder) as store:
        with Clock() as clock:
            asyncio.run(_measure_all(work, store, raylet))
        query = sa.select(calls.c.request, attempts.c.result).join(attempts, attempts.c.call == calls.c.key)
        with store.reading() as connection:
            tried = connection.execute(query.where(calls.c.status == "done", attempts.c.fault.is_(None))).all()
            made = connection.execute(sa.select(sa.func.count()).select_from(attempts)).scalar_one()
    by_image = {row.request["body"]["image"]: row.result["value"] for row in tried}
    hashes = [hashlib.sha256(image).hexdigest() for image in work.images]
    return clock.seconds, [by_image.get(name) for name in hashes], int(made)


def measured(work: Work, address: str, raylet: int, folder: Path) -> Iterator[tuple[str, float, int, int]]:
    """Every way: its name, its seconds, how many results differ from those of one process, and attempts."""
    count, first = len(work.images), None
    for n in WORKERS:
        seconds, found = seconds_of(work, n, Hosts())
        first = first or found
        yield f"{n} process{'es' if n > 1 else ''}", seconds, different(first, found), count
    for n in WORKERS:
        # Joined anew for each: no actor of the one is left when the other is measured.
        with cluster(address, [str(1 / n)]) as there:
            seconds, found = seconds_of(work, n, there)
        yield f"{n} actor{f's with 1/{n} each' if n > 1 else ' with the GPU'}", seconds, different(first, found), count
    seconds, found, made = with_a_loss(work, address, raylet, folder)
    yield "2 actors, one killed half-way", seconds, different(first, found), made


def different(expected: list[Any] | None, found: list[Any]) -> int:
    """How many are not the same to the last byte."""
    pairs = zip(expected or [], found, strict=True)
    return sum(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True) for one, other in pairs)


def rows(quick: bool = False) -> Table:
    if lacking := [name for name in ("ray", "torch", "transformers") if find_spec(name) is None]:
        raise CannotRun(f"no {lacking[0]} here: pip install 'limner[gpu,ray]'")
    import torch

    there = torch.cuda.is_available()
    if not (quick or there):
        raise CannotRun("no GPU here")
    count, many, side = (4, 8, 128) if quick else (24, 192, 1024)
    lines: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {"different": 0, "attempts beyond one each": 0}
    folder = Path(tempfile.mkdtemp(prefix="lg"))
    try:
        images = drawings(many, side)
        works = [
            regions(folder / "sam", images[:count], quick),
            looks(folder / "clip", images, quick, "cuda" if there else "cpu"),
        ]
        with one_gpu() as (address, raylet):
            for work in works:
                size, took = len(work.images), dict[str, float]()
                for way, seconds, other, made in measured(work, address, raylet, folder / work.name):
                    took[way] = seconds
                    one = took["1 process"]
                    lines.append((work.name, way, size / seconds, 1000 * seconds / size, one / seconds, other))
                    figures["different"] += other
                    figures["attempts beyond one each"] += made - size
                    print(*lines[-1], sep="; ", flush=True)
                figures[f"{work.name}: actor of process"] = one / took["1 actor with the GPU"]
                figures[f"{work.name}: halves of whole"] = took["1 actor with the GPU"] / took["2 actors with 1/2 each"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    device = torch.cuda.get_device_name() if there else "no GPU"
    note = (
        f"{count} and {many} drawings of {side} x {side} pixels, random weights, no OCR; workers warm, but for the "
        "lines with a killed actor, which go through the journal and include the loading of three workers. Beyond one "
        f"for each drawing, the journal had {int(figures['attempts beyond one each'])} attempts. {device}, torch "
        f"{torch.__version__}."
    )
    heads = ("model", "workers", "drawings a second", "ms a drawing", "times one process", "other results")
    return Table(heads, tuple(lines), figures, note)


def drawings(count: int, side: int) -> list[bytes]:
    """So many, no two alike."""
    drawn = [diagram(f"ray{n}").resize((side, side)) for n in range(min(count, KINDS))]
    found = []
    for n in range(count):
        image = drawn[n % KINDS].copy()
        image.putpixel((n // KINDS, 0), (n % 256, 0, 0))
        found.append(encode_png(image))
    return found


if __name__ == "__main__":
    print(told(rows()))
