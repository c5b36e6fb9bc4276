"""The painter with a worker that needs no torch: what identifies a drawing, what is drawn, and what is not again."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest
from PIL import Image

from limner import api
from limner.calls import Calls
from limner.core.errors import UsageError
from limner.core.exam import Exam
from limner.core.settings import PainterFacts, Settings
from limner.evidence.probe import OcrProbe
from limner.painters import Painting, PaintRequest, add_devices, batched, open_painter
from limner.painters.diffusers import DiffusersPainter
from limner.store import Store
from limner.store.records import load_drawings
from limner.workers import JobResult
from tests.cli.invoke import limner
from tests.fakes import brush
from tests.painters.inputs import inputs
from tests.support import SmallExam, environment, picture

Make = Callable[..., DiffusersPainter]
SIZE = {"size": "8x8"}


class Inline:
    """A pool that draws at once, in this process."""

    drawn: ClassVar[list[Any]] = []

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def submit(self, given: Any, bodies: Any, *, item: Any, seconds: float) -> Future[JobResult]:
        self.drawn.append(item)
        future: Future[JobResult] = Future()
        size = [given["how"]["width"], given["how"]["height"]]
        pixels = bytes(brush.colour(item["prompt"], item["seed"], bodies)) * (size[0] * size[1])
        future.set_result(JobResult({"size": size, "about": {"device": "inline"}}, (pixels,)))
        return future

    def close(self) -> None: ...


@pytest.fixture
def make(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr("limner.painters.diffusers.FACTORY", brush.FACTORY)

    def painter(facts: PainterFacts | None = None, **options: Any) -> DiffusersPainter:
        return DiffusersPainter(inputs("mine", f"diffusers/{folder}", store.blobs, SIZE | options, facts))

    return painter


@pytest.fixture
def quick(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Painters without a worker."""
    Inline.drawn.clear()
    monkeypatch.setattr(batched, "Pool", Inline)

    def painter(**options: Any) -> DiffusersPainter:
        return DiffusersPainter(inputs("mine", f"diffusers/{folder}", store.blobs, SIZE | options))

    return painter


def ask(prompt: str = "A cell.", seed: int = 0, **more: Any) -> PaintRequest:
    return PaintRequest("q1", prompt, seed, **more)


def paint(painter: DiffusersPainter, store: Store, *requests: PaintRequest, tries: int = 3) -> list[Painting]:
    async def run() -> list[Painting]:
        async with Calls(store, tries=tries) as calls:
            calls._wait = lambda _tries: 0.0
            return await asyncio.gather(*(painter.paint(request, calls) for request in requests))

    return asyncio.run(run())


def fill(data: bytes) -> tuple[Any, tuple[int, int]]:
    with Image.open(io.BytesIO(data)) as image:
        assert image.format == "PNG"
        return image.getpixel((0, 0)), image.size


def batches(tmp_path: Path) -> list[list[str]]:
    return [record["prompts"] for record in brush.told(tmp_path)]


@pytest.mark.slow
def test_drawing_records_its_request(make: Make, store: Store) -> None:
    (painting,) = paint(make(steps=4), store, ask("A leaf.", 7))
    assert fill(painting.image) == (brush.colour("A leaf.", 7), (8, 8))
    body = painting.notes["body"]
    assert set(body["weights"]) == {"files"}
    expected = {"prompt": "A leaf.", "seed": 7, "dtype": "bfloat16", "width": 8, "height": 8, "steps": 4}
    assert {name: value for name, value in body.items() if name != "weights"} == expected
    assert painting.notes["about"] == {"device": "brush"}
    assert (painting.prompt_sent, painting.cost, len(painting.calls)) == ("A leaf.", 0.0, 1)


def test_stored_drawing_is_not_drawn_again_with_other_execution_options(quick: Make, store: Store) -> None:
    first = paint(quick(), store, ask())
    ways: list[dict[str, Any]] = [{}, {"batch_size": 8}, {"devices": "0,1"}, {"offload": "model"}, {"dtype": "bf16"}]
    for way in ways:
        painter = quick(**way)
        assert paint(painter, store, ask())[0].calls == first[0].calls
    assert len(Inline.drawn) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "float32"},
        {"steps": 30},
        {"negative_prompt": "blur"},
        {"size": "16x8"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_that_change_pixels_are_in_key_and_row(quick: Make, store: Store, options: dict[str, Any]) -> None:
    (plain,), (other,) = paint(quick(), store, ask()), paint(quick(**options), store, ask())
    assert plain.calls != other.calls
    assert len(Inline.drawn) == 2
    assert set(quick(**options).options) == {"size", *options}


def test_execution_options_are_not_part_of_row(quick: Make) -> None:
    assert quick(batch_size=4, devices="0,1", offload="sequential").options == SIZE


def test_strength_is_used_only_with_picture(quick: Make, store: Store) -> None:
    sha256, _ = store.blobs.put(picture(1))
    keys = [
        paint(quick(strength=strength), store, ask(images=images))[0].calls
        for strength in (0.5, 0.8)
        for images in ((), (sha256,))
    ]
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3


def test_changed_weights_draw_again(quick: Make, store: Store, folder: Path) -> None:
    painter = quick()
    assert painter.changeable
    paint(painter, store, ask())
    (folder / "unet" / "weights.safetensors").write_bytes(b"trained on")
    paint(quick(), store, ask())
    assert len(Inline.drawn) == 2


@pytest.mark.slow
def test_key_has_picture_hash_and_worker_gets_bytes(make: Make, store: Store, tmp_path: Path) -> None:
    data = picture(5)
    sha256, _ = store.blobs.put(data)
    (painting,) = paint(make(), store, ask("Mend it.", inputs=(sha256,)))
    assert painting.notes["body"]["images"] == [sha256]
    assert fill(painting.image)[0] == brush.colour("Mend it.", 0, (data,))
    assert [record["editing"] for record in brush.told(tmp_path)] == [True]
    assert make().most_pictures


@pytest.mark.slow
def test_only_calls_about_to_be_drawn_are_claimed(make: Make, store: Store, tmp_path: Path) -> None:
    gate = brush.Gate(tmp_path, "0")
    seen: list[int] = []

    async def run() -> list[Any]:
        async with Calls(store) as calls:
            requests = [ask("wait 0"), *(ask(f"Part {n}.") for n in range(20))]
            tasks = [asyncio.create_task(painter.paint(request, calls)) for request in requests]
            await asyncio.to_thread(gate.reached)
            await store.awrite(lambda _: None)
            seen.append(len(calls._held))
            await asyncio.to_thread(gate.open)
            return await asyncio.gather(*tasks)

    painter = make()
    assert len(asyncio.run(run())) == 21
    assert seen[0] <= batched.BATCHES_AHEAD


@pytest.mark.slow
def test_dead_worker_is_retried_then_reported(make: Make, store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"diffusers/.*/model: 3 times in a row the worker died \(signal SIGABRT\)"):
        paint(make(), store, ask("die"))
    assert len(batches(tmp_path)) == 3
    # Nothing of this is held against the question: the next run tries again.
    assert len(paint(make(), store, ask("A cell."))) == 1


def test_missing_packages_are_reported_early(quick: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "find_spec", lambda name: None if name in ("torch", "diffusers") else object())
    with pytest.raises(UsageError, match=r"needs torch and diffusers: install them with pip install 'limner\[gpu\]'"):
        quick().check()
    monkeypatch.setattr(batched, "find_spec", lambda name: object())
    quick().check()


def test_painter_is_opened_by_its_spec(folder: Path, store: Store) -> None:
    facts = PainterFacts(prompt_group="closed", sizes={"square": "640x640"})
    settings = Settings(providers={}, painters={"diffusers/lab/model": facts})

    def opened(word: str, **options: Any) -> Any:
        return open_painter(word, Exam("none", "genexam", ()), store.blobs, OcrProbe(), settings, options)

    painter = opened(f"mine=diffusers/{folder}", steps=3)
    assert isinstance(painter, DiffusersPainter)
    assert (painter.name, painter.spec, painter.options) == ("mine", f"diffusers/{folder}", {"steps": 3})
    assert (painter.group, painter.unpriced()) == ("open", None)
    hub = opened("diffusers/lab/model")
    assert (hub.group, hub.changeable, hub._draw_settings(ask()).width) == ("closed", False, 640)
    with pytest.raises(UsageError, match="diffusers/REPO_OR_PATH"):
        opened("diffuser/lab")


@pytest.mark.slow
def test_run_with_diffusers_painter(
    small_exam: SmallExam, folder: Path, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.painters.diffusers.FACTORY", brush.FACTORY)
    monkeypatch.setattr(batched, "find_spec", lambda name: object())

    def run(**options: Any) -> Any:
        word = f"mine=diffusers/{folder}"
        return api.run("genexam", data=small_exam.data, painters=[word], store=store, painter_options=SIZE | options)

    first, again = run(batch_size=2), run()
    assert (first.done, first.failed) == (4, 0)
    assert (again.done, again.stored, again.failed) == (0, 4, 0)
    assert sum(map(len, batches(tmp_path))) == 4
    drawings = list(load_drawings(store, "genexam"))
    assert {drawing.label for drawing in drawings} == {"mine?size=8x8"}
    assert all(drawing.width == 8 for drawing in drawings)


SCRIPT = """
from limner.painters import batched, diffusers
from tests.fakes import brush

diffusers.FACTORY = brush.FACTORY
batched.find_spec = lambda name: True
from limner.cli import main
main()
"""


def waiting_exam(exam: SmallExam) -> None:
    """Let every question's prompt be one that holds the worker."""
    file = exam.data / "annotations" / "All_Subjects.jsonl"
    rows = [row | {"prompt": f"wait {n}"} for n, row in enumerate(exam.rows)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.mark.slow
def test_interrupted_run_leaves_no_worker(small_exam: SmallExam, folder: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal: drawings in progress are finished."""
    waiting_exam(small_exam)
    gate = brush.Gate(tmp_path, "0")
    words = ["draw", "genexam", "--data", str(small_exam.data), "--painter", f"mine=diffusers/{folder}"]
    words += ["--painter-arg", "size=8x8", "--concurrency", "1", "--store", str(tmp_path / "store")]
    command = [sys.executable, "-c", SCRIPT, *words]
    run = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        gate.reached()
        worker = psutil.Process(brush.told(tmp_path)[0]["pid"])
        os.killpg(run.pid, signal.SIGINT)
        gate.open()
        run.wait(60)
        worker.wait(30)
    finally:
        run.kill()
        run.wait()
    with Store(tmp_path / "store", create=False) as opened:
        done = [drawing for drawing in load_drawings(opened, "genexam") if drawing.status == "done"]
    assert len(done) == 1
    assert len(brush.told(tmp_path)) == 1
    assert run.returncode == 130


def test_devices_option_is_passed_to_pipelines_only() -> None:
    given = {"steps": 3}
    for word in ("diffusers/lab/model", "mine=diffusers/./model"):
        assert add_devices(word, given, "0,1") == {"steps": 3, "devices": "0,1"}
        assert add_devices(word, given, None) == given
    for word in ("openai/gpt-image-1", "mine=python/my:draw", "folder/diffusers/x", "mine=folder/./diffusers/x"):
        assert add_devices(word, given, "0,1") == given


def test_encoder_tokens_follow_facts_and_option(make: Make) -> None:
    assert make().encoder_tokens is None
    assert make(PainterFacts(encoder_tokens=300)).encoder_tokens == 300
    assert make(PainterFacts(encoder_tokens=300), max_sequence_length=2048).encoder_tokens == 2048


@pytest.mark.slow
def test_command_reports_cut_prompts(
    small_exam: SmallExam, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.painters.diffusers.FACTORY", brush.FACTORY)
    monkeypatch.setattr(batched, "find_spec", lambda name: object())
    words: list[str | Path] = ["draw", "genexam", "--data", small_exam.data, "--painter", f"mine=diffusers/{folder}"]
    words += ["--painter-arg", "size=8x8", "--store", tmp_path / "own", "--painter-arg", "max_sequence_length=1"]
    result = limner(*words)
    assert f"note: {len(small_exam.ids)} prompts were too long for the painter" in result.err
    shown = limner("show", "genexam", small_exam.ids[0], "--store", tmp_path / "own").out
    assert "the painter read 1 of" in shown
    # Nothing was drawn this time, so there is nothing to say.
    assert "too long for" not in limner(*words).err
