"""Detail and watermarks by rules."""

from __future__ import annotations

import random

import pytest
from PIL import Image

from limner.build.picture_rules import detail, light_tones, watermark
from tests.build.damage import blown_up, tiled
from tests.build.test_near import drawn


def test_a_blown_up_picture_holds_less() -> None:
    sharp = [detail(drawn(n)) for n in range(4)]
    blown = [detail(blown_up(drawn(n), random.Random(n))) for n in range(4)]
    assert min(sharp) > 0.7 > max(blown)
    assert detail(Image.new("RGB", (300, 200), "white")) == 0.0


@pytest.mark.parametrize(
    ("lines", "faint"),
    [
        (["Cell wall", "shutterstock"], []),
        (["Cell"], ["dleamstime"]),
        (["Cell", "© 2019 Press"], []),
        (["visit www.notes.example"], []),
        (["Fig. 3 biologyhelp.org"], []),
        ([], ["lernwelt", "!ernwelt", "lernv", "ernwelt"]),
        (["exarnple"], ["EXAMBANK", "EXAMBAIN", "AMBANK", "EXAMBAN"]),
    ],
)
def test_marks_are_found_through_misread_letters(lines: list[str], faint: list[str]) -> None:
    assert watermark(lines, faint)


@pytest.mark.parametrize(
    ("lines", "faint"),
    [
        (["Cell wall", "Nucleus", "Cell membrane"], ["Nucleus"]),
        (["Electron", "Electron", "Electron"], ["Electron", "Electron", "Electron"]),
        (["stock", "flow", "photos of cells"], []),
        (["x", "y", "0.5", "1.com"], []),
        ([], []),
    ],
)
def test_labels_are_no_marks(lines: list[str], faint: list[str]) -> None:
    assert watermark(lines, faint) is None


def test_light_tones_keep_faint_print_and_drop_ink() -> None:
    image = tiled(drawn(1), random.Random(1))
    shown = light_tones(image)
    assert shown.size == image.size
    inked = sum(value < 60 for value in drawn(1).convert("L").tobytes())
    assert sum(value < 60 for value in shown.convert("L").tobytes()) < inked
