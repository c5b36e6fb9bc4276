"""`limner regions`."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from limner.evidence.ocr.rapid import RapidOcr
from tests.cli.invoke import limner


@pytest.fixture(autouse=True)
def _no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawings hold no words; an engine need not be started to find that out."""
    monkeypatch.setattr(RapidOcr, "read", lambda *_: [])


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    (folder / "deep").mkdir(parents=True)
    for name, count in (("one.png", 1), ("deep/three.jpg", 3)):
        image = Image.new("RGB", (600, 300), "white")
        for left in range(40, 40 + 180 * count, 180):
            ImageDraw.Draw(image).rectangle((left, 80, left + 140, 220), fill="teal", outline="black", width=3)
        image.save(folder / name)
    (folder / "notes.txt").write_text("no image")
    return folder


def test_counts_by_image(images: Path) -> None:
    said = limner("regions", "compare", images, "--backend", "classical")
    assert "one.png" in said.out
    assert "3 (3 + 0)" in said.out
    body = limner("regions", "compare", images, "--backend", "classical", "--json").json()
    counts = {Path(row["image"]).name: row["regions"]["classical"]["count"] for row in body["images"]}
    assert counts == {"one.png": 1, "three.jpg": 3}
    assert body["backends"]["classical"]["name"].startswith("classical/")
    assert body["pairs"] == []


def test_a_broken_image_is_named_and_the_others_are_counted(images: Path) -> None:
    (images / "broken.png").write_bytes(b"no png")
    said = limner("regions", "compare", images, "--backend", "classical", "--json", code=3)
    failed = {Path(row["image"]).name for row in said.json()["images"] if row["failed"]}
    assert failed == {"broken.png"}
    said = limner("regions", "compare", images, "--backend", "classical", code=3)
    assert "broken.png: classical: " in said.err


def test_what_is_counted_can_be_seen(images: Path, tmp_path: Path) -> None:
    said = limner("regions", "show", images / "one.png", "-o", tmp_path / "seen.png")
    assert said.out.startswith("1 regions: 1 masks, 0 lines of text; readability 1.00\ncounted by classical/")
    with Image.open(tmp_path / "seen.png") as seen:
        assert seen.size == (600, 300)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "nowhere"], "nowhere: no such file or folder"),
        (["compare", "images", "--backend", "sam3"], "no region counter 'sam3'"),
        (["compare", "images", "--backend", "sam2-tiny"], "npm pack"),
        (["compare", "images", "--backend", "classical?points=3"], "classical: no option points"),
        (["compare", "images/deep/empty", "--backend", "classical"], "holds no images"),
        (["show", "images/one.png", "-o", "seen.jpg"], "ends in .png"),
    ],
)
def test_mistakes_have_one_message(
    images: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIMNER_CACHE", str(tmp_path / "cache"))
    (images / "deep" / "empty").mkdir()
    assert said in limner("regions", *words, code=2).err


def test_an_image_that_is_none_is_an_error(images: Path, tmp_path: Path) -> None:
    assert (
        "notes.txt: not an image"
        in limner("regions", "show", images / "notes.txt", "-o", tmp_path / "x.png", code=1).err
    )
