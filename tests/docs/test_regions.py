"""The page on regions says what the program does."""

from __future__ import annotations

import pytest

from limner.evidence.regions import WORDS, base, classical
from limner.evidence.regions.boxes import NEAR_EDGE, RELEASE
from limner.evidence.regions.tiny import FAST, FILES, PACKAGE
from tests.docs.blocks import ROOT

PAGE = " ".join((ROOT / "docs" / "regions.md").read_text("utf-8").split())


@pytest.mark.parametrize(
    "words",
    [
        f"confidence of at least | {base.MIN_CONFIDENCE} |",
        f"shorter side of at least | {base.MIN_SHORT_SIDE} pixels |",
        f"centres differ by at most | {base.MERGE_DISTANCE} pixels,",
        f"both its sides have at least | {base.MIN_LINE_SIDE} pixels |",
        f"shares more than | {base.MAX_OVERLAP} of the smaller box |",
        f"| `points` | {RELEASE.points} | {FAST.points} |",
        f"| `iou` | {RELEASE.iou} | {FAST.iou} |",
        f"| `stability`, `offset` | {RELEASE.stability}, {RELEASE.offset} | {FAST.stability}, {FAST.offset} |",
        f"| `layers`, `downscale` | {RELEASE.layers}, {RELEASE.downscale} | {FAST.layers} |",
        f"| `nms`, `crop_nms` | {RELEASE.nms}, {RELEASE.crop_nms} | {FAST.nms} |",
        f"within {NEAR_EDGE} pixels of a crop's edge",
        f"more than {classical.EDGE} of 255",
        f"a square of {classical.GAP} pixels",
        f"specks below {classical.SMALLEST}",
        f"reduced to {classical.SIDE} pixels",
        f"npm pack {PACKAGE}",
        *(f"package/dist/{name}" for name in FILES),
        *(f"`{word.partition(':')[0]}" for word in WORDS),
    ],
)
def test_numbers_and_names_are_those_of_the_program(words: str) -> None:
    assert words in PAGE
