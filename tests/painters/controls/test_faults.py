from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.evidence import TextLine
from limner.core.images import encode_png
from limner.painters.controls import faults
from limner.painters.controls.faults import FAULTS
from limner.painters.controls.images import rect

from .pictures import LABELS, labelled

IMAGE, LINES = labelled()
MADE = [(kind.name, dose) for kind in FAULTS.values() if kind.make for dose in range(1, len(kind.doses) + 1)]
MOVED = {"cut", "blur", "shrink"}
"""Kinds after which what is left has other pixels, or is at another place of the picture."""


def make(kind: str, dose: int, seed: int = 3):  # type: ignore[no-untyped-def]
    """The first that can be made from this seed on."""
    tried = (FAULTS[kind].make(IMAGE, LINES, dose, n) for n in range(seed, seed + 8))  # type: ignore[misc]
    return next(found for found in tried if found is not None)


@pytest.mark.parametrize(("kind", "dose"), MADE)
def test_equal_seeds_make_equal_pixels(kind: str, dose: int) -> None:
    one, other = make(kind, dose), make(kind, dose)
    assert encode_png(one.image) == encode_png(other.image)
    assert (one.left, one.unsure, one.said) == (other.left, other.unsure, other.said)


@given(st.sampled_from([key for key in MADE if key[0] not in MOVED]), st.integers(0, 10_000))
def test_untouched_lines_are_unchanged_and_touched_lines_differ(key: tuple[str, int], seed: int) -> None:
    kind, dose = key
    faulted = FAULTS[kind].make(IMAGE, LINES, dose, seed)  # type: ignore[misc]
    if faulted is None:
        return
    before, after = np.asarray(IMAGE), np.asarray(faulted.image)
    for line in LINES:
        left, top, right, bottom = rect(line)
        same = (before[top:bottom, left:right] == after[top:bottom, left:right]).all()
        if line in faulted.left:
            assert same, (kind, dose, line.text)
        elif line not in faulted.unsure:
            assert not same, (kind, dose, line.text)


@pytest.mark.parametrize("kind", ["erase", "swap", "region"])
def test_higher_doses_touch_more_lines(kind: str) -> None:
    counts = [len(LINES) - len(make(kind, dose).left) for dose in (1, 2, 3)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_misspelling_changes_as_many_letters_as_dose() -> None:
    for dose, least in ((1, 1), (2, 2), (3, 3)):
        said = make("misspell", dose).said
        old, new = said.removeprefix("misspelt: ").split(" to ")
        assert old.strip("'") in LABELS
        assert sum(a != b for a, b in zip(old, new, strict=True)) >= least
        assert old[1] == new[1]


def test_number_is_changed_in_place() -> None:
    assert [make("number", dose).said for dose in (1, 2)] != ["", ""]
    touched = [line.text for line in LINES if line not in make("number", 3).left]
    assert touched == ["Length 42 cm"]


def test_lines_are_found_and_frames_are_not() -> None:
    assert len(faults.find_strokes(IMAGE, LINES)) == 4
    gap, gone = make("arrow", 1), make("arrow", 2)
    ink = [int((np.asarray(one).max(axis=2) < 60).sum()) for one in (IMAGE, gap.image, gone.image)]
    assert ink[0] > ink[1] > ink[2]


def test_last_arrow_dose_removes_everything_but_labels() -> None:
    bare = np.asarray(make("arrow", 3).image)
    assert (bare[60:300, 200:350] == 255).all()


def test_plea_is_written_below_picture_without_labels() -> None:
    for dose in (1, 2, 3):
        found = make("plea", dose)
        assert found.image.height > IMAGE.height
        assert (np.asarray(found.image)[IMAGE.height :] < 100).any()
        assert not found.left


def test_impossible_faults_are_not_made() -> None:
    for kind in FAULTS.values():
        if kind.make is not None and kind.name != "unsupported":
            # A part can be taken away where no word stands; what it takes from whom is then not known.
            made = kind.make(IMAGE, (), 1, 0)
            assert made is None or (kind.name in ("arrow", "cut", "region") and made.left == ())


def test_weak_blur_leaves_usual_labels_and_strong_blur_may_leave_large_ones() -> None:
    title = TextLine("Title", tuple((3 * x, 3 * y) for x, y in LINES[0].box), 0.99)  # type: ignore[arg-type]
    small = TextLine("tiny", tuple((x / 3, y / 3) for x, y in LINES[0].box), 0.99)  # type: ignore[arg-type]
    lines = (*LINES, title, small)
    weak, middle, strong = (faults.blur(IMAGE, lines, dose, 0) for dose in (1, 2, 3))
    assert weak is not None
    assert middle is not None
    assert strong is not None
    assert (small in weak.left, title in weak.left, small in weak.unsure) == (False, True, True)
    assert middle.unsure == lines
    assert strong.unsure == (title,)
    assert strong.left == ()


def test_copies_differ_from_picture_and_keep_its_size() -> None:
    copies = [faults.copy_of(IMAGE, number) for number in range(len(faults.COPIES))]
    assert {copy.size for copy in copies} == {IMAGE.size}
    assert len({encode_png(copy) for copy in (IMAGE, *copies)}) == len(copies) + 1
