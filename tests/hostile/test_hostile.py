"""Malformed and unusual images: each is read correctly or becomes a stored fault, and a run survives them."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from limner.calls import Calls, Fault
from limner.core.images import BadImage, decode, inspect, prepare
from limner.evidence.backends import RegionsProbe
from limner.evidence.probe import Finding, OcrProbe, Probe
from limner.store import Store
from tests.cli.invoke import limner
from tests.hostile.make import LABEL, Case, corpus, page

CASES = corpus()
SOUND = {name: case for name, case in CASES.items() if case.fate == "sound"}
UNSOUND = {name: case for name, case in CASES.items() if case.fate != "sound"}
each_sound = pytest.mark.parametrize("case", SOUND.values(), ids=SOUND)
each_unsound = pytest.mark.parametrize("case", UNSOUND.values(), ids=UNSOUND)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def far_off(one: Image.Image, other: Image.Image) -> float:
    """The share of pixels that differ plainly."""
    size = (120, 80)
    a, b = (np.asarray(image.convert("L").resize(size), dtype=int) for image in (one, other))
    return float((abs(a - b) > 60).mean())


def seen_elsewhere(url: str) -> Image.Image:
    """A picture that was sent, as a service sees it that heeds neither EXIF nor transparency."""
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")


@each_sound
def test_valid_images_decode_to_same_upright_picture(case: Case) -> None:
    info, image = inspect(case.data), decode(case.data)
    assert image.mode == "RGB"
    assert image.size == case.size == (info.width, info.height)
    assert len(info.notes) == case.notes
    if case.size == page().size:
        assert far_off(image, page()) < 0.02
    corner, ground = image.getpixel((6, 6)), image.getpixel((case.size[0] - 6, case.size[1] - 6))
    assert isinstance(corner, tuple)
    assert isinstance(ground, tuple)
    assert sum(corner) < 420
    assert min(ground) > 240


@each_sound
@pytest.mark.parametrize("form", ["jpeg", "native"])
def test_services_and_probes_see_same_image(case: Case, form: Any) -> None:
    sent = prepare(case.data, None, form)
    assert (sent.width, sent.height) == case.size
    assert far_off(seen_elsewhere(sent.url), decode(case.data)) < 0.01


def test_plain_images_are_sent_unchanged() -> None:
    for name in ("plain", "long-text", "tail"):
        data = CASES[name].data
        assert base64.b64decode(prepare(data, None, "native").url.partition(",")[2]) == data


@each_unsound
def test_invalid_files_are_refused_before_or_during_decoding(case: Case) -> None:
    if case.fate == "refused":
        with pytest.raises(BadImage) as caught:
            inspect(case.data)
        assert case.said in str(caught.value)
    else:
        inspect(case.data)
    for look in (decode, lambda data: prepare(data, 768), lambda data: prepare(data, None, "native")):
        with pytest.raises(BadImage) as caught:
            look(case.data)
        assert case.said in str(caught.value)
        assert len(str(caught.value)) < 300


def measure(probe: Probe, data: bytes, store: Store) -> Finding:
    async def run() -> Finding:
        async with Calls(store) as calls:
            return await probe.measure(data, calls)

    return asyncio.run(run())


@pytest.mark.slow
@each_sound
def test_ocr_reads_same_text_in_all_valid_images(case: Case, store: Store) -> None:
    (line,) = [line for line in measure(OcrProbe(), case.data, store).lines if len(line.text) > 2]
    assert line.text == LABEL
    left, top, right, bottom = line.bounds
    assert 0 <= left < right <= case.size[0]
    assert 0 <= top < bottom <= case.size[1]
    assert right - left > 2 * (bottom - top), "it lies level"
    assert measure(RegionsProbe("classical", {}, OcrProbe()), case.data, store).value in (2, 3)


@each_unsound
def test_probes_raise_fault_and_survive_invalid_images(case: Case, store: Store) -> None:
    for probe in (OcrProbe(), RegionsProbe("classical", {}, OcrProbe())):
        with pytest.raises(Fault) as caught:
            measure(probe, case.data, store)
        assert (caught.value.kind, case.said in caught.value.detail) == ("image", True)


def write_exam(folder: Path, names: list[str]) -> Path:
    """An exam with one question for each file; its drawings must show one label."""
    graph = json.dumps({"elements": [LABEL], "dependencies": []})
    rows = [
        {"key": f"PhD_Biology_{name}", "Education": "PhD", "prompt": "Draw.", "Knowledge_Graph": graph}
        for name in names
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "data.jsonl"


@pytest.mark.slow
def test_run_over_all_images_completes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drawings = tmp_path / "drawings"
    drawings.mkdir()
    for name, case in CASES.items():
        (drawings / f"PhD_Biology_{name}.png").write_bytes(case.data)
    outside = tmp_path / "outside.png"
    outside.write_bytes(CASES["plain"].data)
    paths = {
        "link-out": "leads out of the folder through a link",
        "dangling": "PhD_Biology_dangling.png",
        "pipe": "is not a readable file",
        "heavy": "bytes; the limit is",
    }
    (drawings / "PhD_Biology_link-out.png").symlink_to(outside)
    (drawings / "PhD_Biology_dangling.png").symlink_to(drawings / "nowhere.png")
    (drawings / "PhD_Biology_folder.png").mkdir()
    os.mkfifo(drawings / "PhD_Biology_pipe.png")
    with (drawings / "PhD_Biology_heavy.png").open("wb") as file:
        file.write(CASES["plain"].data)
        file.truncate(65 * 2**20)
    # Questions without a file are left out.
    data = write_exam(tmp_path, [*CASES, *paths, "folder", "absent"])
    how = ("--painter", f"mine=folder/{drawings}", "--judge", "ocr", "--format=json")
    counts = limner("run", "mmmg", "--data", data, *how, code=3).json()
    rows = {row["id"].removeprefix("PhD_Biology_"): row for row in limner("export", "mmmg").lines()}
    assert set(rows) == {*CASES, *paths}
    for name in SOUND:
        row = rows[name]
        assert (name, row["status"], row["marks"]) == (name, "done", {"entity/1": 1})
        assert row["scores"]["mmmg_exact"] == 1.0
    for name, case in UNSOUND.items():
        assert (name, rows[name]["status"]) == (name, "image")
        assert case.said in rows[name]["detail"], name
    for name, message in paths.items():
        assert rows[name]["status"] == ("image" if name == "heavy" else "missing"), name
        assert message in rows[name]["detail"], name
    (standing,) = limner("scores", "mmmg", "--format", "json").json()
    assert standing["n"] == len(SOUND)
    # A PNG with missing rows is refused when it is drawn.
    rows_missing = {"cut-png", "lie"}
    broken = sum(case.fate == "broken" and name not in rows_missing for name, case in UNSOUND.items())
    refused = len(UNSOUND) - broken + 1
    # A drawing that breaks when it is decoded fails twice: where regions are counted, and where it is marked.
    assert counts["failures"] == {"image": refused + 2 * broken, "missing": len(paths) - 1}
    shown = limner("show", "mmmg", "PhD_Biology_turned-6", "--format=json").json()
    assert shown["drawings"][0]["notes"]["image"] == ["turned upright by its EXIF orientation, 6"]
