"""Filters of pictures: labels of good figures are no watermarks or foreign words, and rules alone only warn."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.build.base import BuildItem, Dropped, judge
from limner.build.picture_rules import find_watermark, light_tones
from limner.build.recipe import open_recipe
from limner.build.steps import picture_sizes
from limner.build.wording import why_not_english
from limner.calls import Calls
from limner.core.images import decode
from limner.evidence.probe import OcrProbe
from limner.store import Store
from tests.build.damage import FOREIGN, MARKS, labelled, png
from tests.needs import shared


@pytest.mark.parametrize("line", ["persimmon tree", "Water molecule", "a lamy nib", "stock market"])
def test_labels_are_no_watermarks(line: str) -> None:
    assert find_watermark([line], []) is None


@pytest.mark.parametrize("line", ["shutterstock", "shutter stock", "Shutterstcck 123", "alamy", "www.stock.example"])
def test_names_of_owners_are_watermarks(line: str) -> None:
    assert find_watermark([line], [])


def test_formulas_and_axes_are_no_foreign_words() -> None:
    assert why_not_english(["Na3PO4", "Na2SO4 + NaCl", "z", "y", "x", "z w", "i"]) is None
    assert why_not_english(["V", "R", "一", "一", "工", "工", "SC", "Time Domain"]) is None, "signs read as letters"
    assert why_not_english(["CH₃CH₂CHₓBrCHₐCHₑ", "CH₂=CH₂"]) is None, "small letters of formulas"
    assert why_not_english(["Na", "Po", "Co", "La", "Se", "Es"]) is None, "chemical elements"
    assert why_not_english(["细胞壁", "细胞核"]) is not None
    assert why_not_english(["die Zelle und der Kern", "mit dem Rand"]) is not None


def rules(step: str) -> Any:
    (place,) = (place for place in open_recipe("exam").places if place.name == step)
    return place.settings.rules  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("measure", "field", "step"), [("watermark", "watermark", "watermark"), ("foreign", "foreign_text", "language")]
)
def test_rule_warns_and_drops_only_if_the_model_agrees(measure: str, field: str, step: str) -> None:
    fine = {name: {"score": 9, "confidence": 5, "reason": "r"} for name in
            ("text_richness", "domain", "simplicity", "subject_knowledge")}  # fmt: skip
    item = BuildItem("i", {"watermark": "", "foreign": "", measure: "seen", "ratings": fine})
    assert judge(rules(step), item).body["warnings"]
    assert judge(rules("thresholds"), item).id == "i", "the model says nothing"
    assert judge(rules("thresholds"), item.having(ratings={**fine, field: False})).id == "i"
    with pytest.raises(Dropped):
        judge(rules("thresholds"), item.having(ratings={**fine, field: True}))


def test_lines_in_another_script_warn_and_are_dropped_if_the_model_agrees() -> None:
    fine = {name: {"score": 9, "confidence": 5, "reason": "r"} for name in
            ("text_richness", "domain", "simplicity", "subject_knowledge")}  # fmt: skip
    item = BuildItem("i", {"watermark": "", "foreign": "", "unread": 3, "ratings": fine})
    assert judge(rules("language"), item).body["warnings"] == ["text in another script?: 3 of at most 2"]
    assert "warnings" not in judge(rules("language"), item.having(unread=2)).body
    assert judge(rules("thresholds"), item).id == "i"
    with pytest.raises(Dropped):
        judge(rules("thresholds"), item.having(ratings={**fine, "foreign_text": True}))


@pytest.fixture(scope="module")
def references() -> list[Path]:
    """Released references, which passed their authors' filters; no threshold was set on every second one."""
    files = sorted(shared("data", "genexam", "images").rglob("*.png"))
    random.Random(5).shuffle(files)
    return files


@pytest.mark.slow
def test_released_references_are_not_dropped_for_their_size(references: list[Path]) -> None:
    dropped = 0
    for file in references:
        try:
            judge(rules("resolution"), BuildItem(file.stem, picture_sizes(decode(file.read_bytes()))))
        except Dropped:
            dropped += 1
    assert dropped <= 0.02 * len(references)


@pytest.mark.slow
def test_unseen_references_are_clean_and_planted_marks_are_found(references: list[Path], store: Store) -> None:
    unseen = [decode(file.read_bytes()) for file in references[1:16:2]]
    for image in unseen:
        image.thumbnail((900, 900))

    async def look(calls: Calls, image: Image.Image) -> tuple[bool, bool]:
        lines, faint = [
            [line.text for line in (await OcrProbe().measure(png(each), calls)).lines]
            for each in (image, light_tones(image))
        ]
        return find_watermark(lines, faint) is not None, why_not_english(lines) is not None

    async def look_at_all() -> tuple[list[bool], ...]:
        async with Calls(store) as calls:
            clean = [await look(calls, image) for image in unseen]
            damage = MARKS[min(MARKS)]
            marked = [await look(calls, damage(image, random.Random(n))) for n, image in enumerate(unseen)]
            german = [await look(calls, labelled(image, FOREIGN["German"])) for image in unseen]
        return [any(one) for one in clean], [mark for mark, _ in marked], [foreign for _, foreign in german]

    warned, marked, foreign = asyncio.run(look_at_all())
    assert sum(warned) <= 1
    assert sum(marked) >= 0.8 * len(unseen)
    assert sum(foreign) >= 0.8 * len(unseen)
