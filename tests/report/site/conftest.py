"""Sites built once, and a browser to look at them with."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limner.report.site import build, pictures
from limner.store import Store
from limner.store.records import evidence_row, load_drawings
from limner.store.schema import drawings, evidence
from tests.report.site import hostile, uneven
from tests.report.site.visiting import Browser
from tests.report.tables import synthetic

LINES = [
    {"text": "Petal", "box": [[4, 4], [30, 4], [30, 12], [4, 12]], "confidence": 0.97},
    {"text": "Sepal", "box": [[4, 20], [30, 20], [30, 28], [4, 28]], "confidence": 0.61},
]
MANY = 1000
"""Up to so many pictures are made in the process of the test: they are small, and others take seconds to start."""


@dataclass(frozen=True)
class Site:
    """A built site: its folder, and those of its exams."""

    folder: Path
    store: Path

    def exam(self, name: str = "genexam") -> Path:
        return self.folder / "exams" / name

    def data(self, name: str = "genexam") -> Path:
        return self.exam(name) / "data"


@pytest.fixture(autouse=True)
def _pictures_are_made_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except where the processes that make them are what is tested."""
    if not request.module.__name__.endswith("test_pictures"):
        monkeypatch.setattr(pictures, "FEW", MANY)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Two exams: GenExam by eight rows of painters under two judges, and MMMG; with OCR, regions and steps."""
    folder = tmp_path_factory.mktemp("site")
    with Store(folder / "store") as store:
        synthetic.fill(
            store, "genexam", painters=4, questions=12, judges=("fake/judge", "ocr"), repeats=2,
            strategies=("direct", "edit"),
        )  # fmt: skip
        synthetic.fill(store, "mmmg", painters=3)
        _measure(store)
    return built(folder)


def built(folder: Path) -> Site:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "FEW", MANY)
        build(folder / "out", store=folder / "store")
    return Site(folder / "out", folder / "store")


def _measure(store: Store) -> None:
    """Lines, regions and steps, which the made-up results lack."""
    first = next(one for one in load_drawings(store, "genexam") if one.status == "done")
    assert first.image is not None
    hostile.probe(store, first.image, "ocr/engine 1", {"lines": LINES})
    boxes = {"count": 1, "masks": 1, "lines": 0, "boxes": [[1, 1, 20, 30]]}
    row = evidence_row(first.image, "regions", "classical", boxes)
    steps = [
        {"step": "draft", "kind": "image", "image": first.image},
        {"step": "critique", "text": "The stem is bent."},
    ]
    store.write(lambda connection: store.upsert(connection, evidence, row))
    changed = drawings.update().where(drawings.c.id == first.id).values(notes={"steps": steps})
    store.write(lambda connection: connection.execute(changed))


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site of painters that do not have the same questions; see `uneven`."""
    folder = tmp_path_factory.mktemp("odd")
    with Store(folder / "store") as store:
        uneven.fill(store)
    return built(folder)


@pytest.fixture(scope="session")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site of nothing but hostile words; see `hostile`."""
    folder = tmp_path_factory.mktemp("evil")
    with Store(folder / "store") as store:
        hostile.fill(store)
    return built(folder)


@pytest.fixture
def browser(chromium: Any) -> Iterator[Browser]:
    """Opens pages; when the test ends, none of them may have complained."""
    with Browser(chromium) as opened:
        yield opened


@pytest.fixture
def png() -> Callable[[str], bytes]:
    """A picture of one colour."""

    def make(colour: str) -> bytes:
        from PIL import Image

        buffer = io.BytesIO()
        Image.new("RGB", (64, 48), colour).save(buffer, "PNG")
        return buffer.getvalue()

    return make
