"""Filters of pictures: labels of good figures are no watermarks or foreign words, and rules alone only warn."""

from __future__ import annotations

from typing import Any

import pytest

from limner.build.base import BuildItem, Dropped, judge
from limner.build.picture_rules import find_watermark
from limner.build.recipe import open_recipe
from limner.build.wording import why_not_english


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
    item = BuildItem("i", {"watermark": "", "foreign": "", "unread": 2, "ratings": fine})
    assert judge(rules("language"), item).body["warnings"] == ["text in another script?: 2 of at most 1"]
    assert "warnings" not in judge(rules("language"), item.having(unread=1)).body
    assert judge(rules("thresholds"), item).id == "i"
    with pytest.raises(Dropped):
        judge(rules("thresholds"), item.having(ratings={**fine, "foreign_text": True}))
