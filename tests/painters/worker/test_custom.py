"""A model of one's own behind a factory: what it is given, what identifies a drawing, and what goes wrong."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from limner.calls import Calls, Fault
from limner.core.errors import UsageError
from limner.painters import Painting, PaintRequest
from limner.painters.diffusers.weights import find_weights, local_path
from limner.painters.worker import WorkerPainter, open_worker
from limner.store import Store
from limner.workers import WorkerUnfit
from tests.painters.inputs import inputs

MODEL = """
import json, os, pathlib
import numpy as np
from PIL import Image
from limner.calls import Fault

LOG = pathlib.Path(__file__).with_name("log.jsonl")

def told(**words):
    with LOG.open("a") as file:
        file.write(json.dumps(words) + "\\n")

def open_model(device, weights=None, shade=0, room=100):
    told(opened=device, weights=weights, environ=dict(os.environ))
    def draw(batch):
        told(batch=[item.prompt for item in batch])
        if len(batch) > room:
            raise RuntimeError("CUDA out of memory")
        return [one(item) for item in batch]
    def one(item):
        if item.prompt == "refuse":
            return Fault("refusal", "not this one")
        if item.prompt == "fail":
            raise ValueError("no such thing")
        if item.prompt == "odd":
            return "a picture"
        if item.images:
            return item.images[0]
        return np.full((item.height, item.width, 3), (item.seed + shade) % 256, np.uint8)
    return draw

def short(device):
    return lambda batch: []

def nothing(device):
    return None
"""
Make = Callable[..., WorkerPainter]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store) -> Make:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_model.py").write_text(MODEL, "utf-8")

    def painter(factory: str = "open_model", **options: Any) -> WorkerPainter:
        given = {"size": "8x4", "devices": "cpu"} | options
        return WorkerPainter(inputs("mine", f"worker/own_model:{factory}", store.blobs, given))

    return painter


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str], list[Any]]:
    def read(key: str) -> list[Any]:
        lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
        return [line[key] for line in lines if key in line]

    return read


def paint(painter: WorkerPainter, store: Store, *requests: PaintRequest) -> list[Painting | BaseException]:
    async def run() -> list[Painting | BaseException]:
        async with Calls(store, tries=1) as calls:
            return await asyncio.gather(
                *(painter.paint(request, calls) for request in requests), return_exceptions=True
            )

    return asyncio.run(run())


def drawn(found: Painting | BaseException) -> Any:
    assert isinstance(found, Painting), found
    with Image.open(io.BytesIO(found.image)) as image:
        return np.asarray(image)


def ask(prompt: str = "A cell.", seed: int = 0, **more: Any) -> PaintRequest:
    return PaintRequest("q1", prompt, seed, **more)


@pytest.mark.slow
def test_batch_is_drawn_in_one_call_and_stored(
    make: Make, store: Store, log: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.workers.pool.LINGER_S", 30.0)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    requests = [ask(prompt, seed) for seed, prompt in enumerate(("a", "b", "c"))]
    found = paint(make(batch_size=3, shade=10), store, *requests)
    assert [drawn(each).tolist() for each in found] == [np.full((4, 8, 3), shade).tolist() for shade in (10, 11, 12)]
    assert [sorted(batch) for batch in log("batch")] == [["a", "b", "c"]]
    assert log("opened") == ["cpu"]
    assert "sk-canary" not in json.dumps(log("environ"))
    paint(make(batch_size=1, shade=10, timeout_s=60), store, *requests)
    assert len(log("batch")) == 1, "what is stored is not drawn again, however it would be"


@pytest.mark.slow
def test_batches_are_halved_and_faults_stay_separate(
    make: Make, store: Store, log: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.workers.pool.LINGER_S", 30.0)
    words = ("a", "refuse", "fail", "odd")
    one, *rest = paint(make(batch_size=4, room=2), store, *(ask(word) for word in words))
    assert drawn(one).shape == (4, 8, 3)
    kinds = [(fault.kind, fault.detail) for fault in rest if isinstance(fault, Fault)]
    assert [kind for kind, _ in kinds] == ["refusal", "local", "local"]
    assert kinds[1][1] == "ValueError: no such thing"
    assert "returned str; expected PIL images" in kinds[2][1]
    assert [len(batch) for batch in log("batch")][:2] == [4, 2]


@pytest.mark.slow
def test_single_item_that_does_not_fit_is_reported(make: Make, store: Store) -> None:
    (found,) = paint(make(room=0), store, ask())
    assert isinstance(found, Fault)
    assert (found.kind, found.detail[:21]) == ("local", "out of memory on cpu ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "options", "message"),
    [
        ("nothing", {}, "cannot be loaded: own_model:nothing returned NoneType"),
        ("open_model", {"colour": "red"}, "cannot be loaded: TypeError.*colour"),
        ("short", {}, "the model returned 0 images for 1 items"),
    ],
)
def test_unfit_worker_ends_the_run(
    make: Make, store: Store, factory: str, options: dict[str, Any], message: str
) -> None:
    (found,) = paint(make(factory, **options), store, ask())
    assert isinstance(found, UsageError)
    with pytest.raises(UsageError, match=message):
        raise found


@pytest.mark.slow
def test_worker_gets_input_pictures(make: Make, store: Store) -> None:
    file = io.BytesIO()
    Image.new("RGB", (5, 6), (9, 9, 9)).save(file, "PNG")
    request = ask(inputs=(store.blobs.put(file.getvalue())[0],))
    (refused,) = paint(make(), store, request)
    assert isinstance(refused, Fault)
    assert "draws from text alone" in refused.detail
    (found,) = paint(make(edits=True), store, request)
    assert drawn(found).shape == (6, 5, 3)


def keys(painter: WorkerPainter, request: PaintRequest) -> dict[str, Any]:
    return painter._body(request, painter._draw_settings(request), painter._find())


def test_source_weights_and_options_identify_a_drawing(make: Make, tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "a.safetensors").write_bytes(b"one")
    (tmp_path / "vae.bin").write_bytes(b"vae")
    given = {"weights": "./weights,vae.bin", "shade": 3}
    plain = keys(make(**given), ask())
    assert plain["options"] == {"shade": 3}
    assert [set(each) for each in plain["weights"]] == [{"files"}, {"file"}]
    assert keys(make(**given, batch_size=4, timeout_s=5, env="A,B"), ask()) == plain
    assert keys(make(**{**given, "shade": 4}), ask()) != plain
    assert keys(make(**given, size="16x16"), ask()) != plain
    (tmp_path / "weights" / "a.safetensors").write_bytes(b"two, trained further")
    trained = keys(make(**given), ask())
    assert trained != plain
    (tmp_path / "own_model.py").write_text(MODEL + "\n# Changed.\n", "utf-8")
    assert keys(make(**given), ask())["source"] != trained["source"]


def test_module_is_not_imported_in_main_process(make: Make, tmp_path: Path) -> None:
    (tmp_path / "own_model.py").write_text("raise SystemExit('imported')", "utf-8")
    assert make().options == {"size": "8x4"}


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("worker/own_model", {}, "write worker/module:function"),
        ("worker/no_such:thing", {}, "no module 'no_such', neither in the working folder nor installed"),
        ("worker/own_model:open_model", {"edits": "yes"}, "true or false"),
        ("worker/own_model:open_model", {"weights": "a,,b"}, "folders, files or OWNER/NAME"),
        ("worker/own_model:open_model", {"env": "OPENAI_API_KEY"}, "keys are not passed on"),
    ],
)
def test_invalid_options_are_reported(
    make: Make, store: Store, spec: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        WorkerPainter(inputs("mine", spec, store.blobs, options))


def test_hub_commit_is_taken_from_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed; pip install 'limner[gpu]'")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="lab/model at main: "):
        find_weights("lab/model")
    commit = "ab" * 20
    home = tmp_path / "hub" / "models--lab--model"
    (home / "snapshots" / commit).mkdir(parents=True)
    (home / "snapshots" / commit / "config.json").write_text("{}", "utf-8")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit, "utf-8")
    found = find_weights("lab/model")
    assert found.identity == {"repository": "lab/model", "commit": commit}
    assert Path(local_path(found)) == home / "snapshots" / commit
    assert find_weights(f"lab/model@{'cd' * 20}").revision == "cd" * 20


def test_unfit_error_of_factory_is_passed_on(make: Make, tmp_path: Path) -> None:
    (tmp_path / "own_model.py").write_text(
        "from limner.workers import WorkerUnfit\ndef open_model(device):\n    raise WorkerUnfit('no GPU here')", "utf-8"
    )
    with pytest.raises(WorkerUnfit, match=r"^no GPU here$"):
        open_worker(factory="own_model:open_model", folder=str(tmp_path), device="cpu")


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    import sys

    before = list(sys.path)
    yield
    sys.path[:] = before
    sys.modules.pop("own_model", None)
