"""Which lines of text are regions, and which masks they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.evidence import Position, TextLine
from limner.evidence.regions.base import Box, Regions, box_overlap, merge_regions, text_lines
from tests.evidence.regions import slow_way

SIDE = 300


def line(left: float, top: float, width: float, height: float, confidence: float = 0.9, turn: float = 0.0) -> TextLine:
    cos, sin = math.cos(turn), math.sin(turn)
    corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    a, b, c, d = ((left + x * cos - y * sin, top + x * sin + y * cos) for x, y in corners)
    return TextLine("word", (a, b, c, d), confidence)


places = st.floats(0, SIDE - 120)
text = st.builds(
    line,
    places,
    places,
    st.floats(5, 100),
    st.floats(15, 40),
    st.sampled_from([0.5, 0.84, 0.85, 0.99]),
    st.sampled_from([0.0, 0.0, 0.1]),
)


@st.composite
def mask(draw: st.DrawFn) -> slow_way.Mask:
    """Up to two rectangles, or nothing."""
    found = np.zeros((SIDE, SIDE), dtype=bool)
    for _ in range(draw(st.integers(0, 2))):
        left, top = draw(st.integers(0, SIDE - 2)), draw(st.integers(0, SIDE - 2))
        right, bottom = draw(st.integers(left + 1, SIDE)), draw(st.integers(top + 1, SIDE))
        found[top:bottom, left:right] = True
    return found


@given(st.lists(mask(), max_size=6), st.lists(text, max_size=8))
def test_region_count_matches_slow_reference(masks: list[slow_way.Mask], lines: list[TextLine]) -> None:
    boxes: list[Box] = []
    for one in masks:
        if one.any():
            left, top, right, bottom = slow_way.edges(one)
            boxes.append((float(left), float(top), float(right), float(bottom)))
    assert merge_regions(boxes, lines).count == slow_way.region_count(masks, lines)


@given(st.lists(text, max_size=12))
def test_line_merging_matches_slow_reference(lines: list[TextLine]) -> None:
    assert text_lines(lines) == [tuple(map(float, row)) for row in slow_way.text_rows(lines)]


whole = st.integers(0, 60)


@given(st.tuples(whole, whole, whole, whole), st.tuples(whole, whole, whole, whole))
def test_overlap_matches_counted_squares(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    first, second = ((a, b, a + c, b + d) for a, b, c, d in (one, other))
    assert box_overlap(first, second) == pytest.approx(slow_way.share_of_smaller(first, second))
    assert box_overlap(first, second) == box_overlap(second, first)


@pytest.mark.parametrize(
    ("confidence", "height", "count"), [(0.85, 20, 1), (0.8499, 20, 0), (0.85, 19.99, 0), (1.0, 300, 1)]
)
def test_uncertain_and_small_lines_are_omitted(confidence: float, height: float, count: int) -> None:
    assert len(text_lines([line(0, 0, 400, height, confidence)])) == count


def test_shorter_side_of_line_is_checked() -> None:
    assert text_lines([line(0, 0, 19, 200)]) == []


def test_parts_at_same_height_form_one_line() -> None:
    assert text_lines([line(500, 118, 60, 24), line(10, 100, 60, 20)]) == [(10, 100, 560, 142)]
    assert len(text_lines([line(10, 100, 60, 20), line(500, 120.5, 60, 20)])) == 2


def test_line_height_drifts_with_its_parts() -> None:
    # 110, then 128 pulls it to 119, 138 to 128.5; 149 is too far, though 11 from its neighbour.
    heights = [100, 118, 128, 139]
    assert len(text_lines([line(100 * n, top, 60, 20) for n, top in enumerate(heights)])) == 2


def test_mask_covered_by_text_is_not_a_region() -> None:
    words = [line(100, 100, 100, 30)]
    assert merge_regions([(105, 102, 195, 128)], words) == Regions.of([], [(100, 100, 200, 130)])
    # A box of which the line covers four fifths exactly stays.
    assert merge_regions([(100, 100, 125, 130 + 7.5)], words).masks == 1
    assert merge_regions([(100, 100, 125, 130 + 7.4)], words).masks == 0


def test_narrow_line_still_covers_masks() -> None:
    slim = TextLine("I", ((10.0, 10.0), (12.0, 40.0), (19.0, 40.0), (17.0, 10.0)), 0.99)
    turned: tuple[Position, Position, Position, Position] = ((10.0, 10.0), (18.9, 30.0), (18.9, 60.0), (10.0, 40.0))
    assert text_lines([slim]) == []
    assert merge_regions([(11, 20, 17, 50)], [TextLine("I", turned, 0.99)]) == Regions.of([], [])


def test_region_counts_must_be_consistent() -> None:
    found = Regions.of([(0, 1, 2, 3)], [(4, 5, 6.5, 7)])
    assert (found.count, found.masks, found.lines) == (2, 1, 1)
    assert found.to_json() == {"count": 2, "masks": 1, "lines": 1, "boxes": [[0, 1, 2, 3], [4, 5, 6.5, 7]]}
    with pytest.raises(ValueError, match="not 3 regions"):
        Regions(3, 1, 1, found.boxes)
