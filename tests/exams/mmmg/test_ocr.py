"""The OCR examiner on MMMG's sample: how much it decides, and that its yes is right, held against labels by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tools.samples.genexam.canvas import Canvas
from tools.samples.mmmg.draw import DRAWINGS, draw_all

from tests.cli.invoke import limner

pytestmark = pytest.mark.slow

HAND: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "labels.json").read_text("utf-8"))
"""Painter -> question -> for each entity whether the drawing shows it rightly, by eye."""
WRONG = {
    "Leaf": "Petal", "Butterfly": "Dragonfly", "Sunlight": "Moonlight", "Night side": "Right side",
    "Melting": "Meeting", "Freezing": "Breezing", "Climax": "Climate", "Resolution": "Revolution", "Wages": "Pages",
    "Spending": "Bending", "Actuator": "Activator", "Error": "Terror", "Integers": "Integrals",
    "Natural numbers": "Neutral numbers", "Guide RNA": "Guide DNA", "Donor template": "Donor temple",
}  # fmt: skip
"""Labels, and the near but wrong words that stand for them in the drawings of ``mislabelled``."""


def mislabel(folder: Path) -> Path:
    """The sample's references with two labels of each replaced."""
    write = Canvas.label

    def other(self: Canvas, at: Any, text: str, *rest: Any, **named: Any) -> None:
        write(self, at, WRONG.get(text, text), *rest, **named)

    with mock.patch.object(Canvas, "label", other):
        draw_all(folder)
    return folder


Marks = dict[str, dict[str, dict[str, Any]]]
"""Painter -> question -> entity -> mark."""


def examine(folder: Path, *painters: str) -> Marks:
    words = [word for painter in painters for word in ("--painter", painter)]
    words += ["--ids", ",".join(HAND["reference"]), "--judge", "ocr", "--store", str(folder / "store")]
    limner("run", "sample/mmmg", *words, "--format=json")
    found: Marks = {}
    for row in limner("export", "sample/mmmg", "--store", folder / "store").lines():
        entities = {name: value for name, value in row["marks"].items() if name.startswith("entity/")}
        assert all(value is None for name, value in row["marks"].items() if name.startswith("dependency/"))
        found.setdefault(row["painter"], {})[row["id"]] = entities
    return found


@pytest.fixture(scope="module")
def right_and_wrong(tmp_path_factory: pytest.TempPathFactory) -> Marks:
    folder = tmp_path_factory.mktemp("ocr")
    return examine(folder, "reference=control/reference", f"mislabelled=folder/{mislabel(folder / 'drawn')}")


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> Marks:
    return examine(tmp_path_factory.mktemp("ocr"), "erased=control/erased", "swapped=control/swapped")


def judged(marks: Marks, *painters: str) -> list[tuple[int | None, bool]]:
    """The examiner's mark and the hand's for every entity."""
    pairs = []
    for painter in painters:
        for id, given in marks[painter].items():
            by_hand = HAND[painter][id]
            pairs += [(given[f"entity/{n}"], yes == "1") for n, yes in enumerate(by_hand, 1)]
            assert len(given) == len(by_hand)
    return pairs


def decided(marks: Marks, painter: str) -> float:
    pairs = judged(marks, painter)
    return sum(mark is not None for mark, _ in pairs) / len(pairs)


def precision(pairs: list[tuple[int | None, bool]]) -> float:
    said = [right for mark, right in pairs if mark == 1]
    return sum(said) / len(said)


def test_labels_cover_the_same_drawings() -> None:
    assert all(set(drawings) == set(HAND["reference"]) <= set(DRAWINGS) for drawings in HAND.values())


def test_examiner_decides_every_entity_of_references(right_and_wrong: Marks) -> None:
    assert all(mark == 1 for mark, _ in judged(right_and_wrong, "reference"))
    assert decided(right_and_wrong, "reference") == 1


def test_examiner_yes_is_reliable_next_to_similar_words(right_and_wrong: Marks) -> None:
    pairs = judged(right_and_wrong, "reference", "mislabelled")
    assert sum(mark == 1 for mark, _ in pairs) >= 80
    assert precision(pairs) >= 0.95
    # A near word makes it abstain rather than say no.
    assert decided(right_and_wrong, "mislabelled") >= 0.7


@pytest.mark.slow
def test_examiner_decides_most_entities_without_labels(controls: Marks) -> None:
    assert decided(controls, "erased") >= 0.8
    assert all(mark != 1 for mark, _ in judged(controls, "erased"))


@pytest.mark.slow
def test_examiner_misses_swapped_labels(controls: Marks) -> None:
    """The words are all there: this is what it cannot know, and what the control is for."""
    assert decided(controls, "swapped") >= 0.95
    assert precision(judged(controls, "swapped")) < 0.75
