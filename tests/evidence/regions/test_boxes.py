"""Crops, points, suppression and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.evidence.regions import boxes
from limner.evidence.regions.boxes import (
    RELEASE,
    Crop,
    Masks,
    MaskSettings,
    crops,
    cut_by_crop,
    grid,
    measure_masks,
    remaining_boxes,
    stable_masks,
    suppress_overlaps,
)
from tests.evidence.regions import slow_way

sides = st.integers(1, 3000)
corner = st.integers(0, 12)


@given(sides, sides, st.integers(0, 3))
def test_crops_cover_image_and_lie_inside(width: int, height: int, layers: int) -> None:
    found = crops(width, height, layers)
    if min(width, height) >= 8:
        assert [crop.layer for crop in found] == [layer for layer in range(layers + 1) for _ in range(4**layer)]
    for layer in range(layers + 1):
        parts = [crop.box for crop in found if crop.layer == layer]
        assert all(0 <= left < right <= width and 0 <= top < bottom <= height for left, top, right, bottom in parts)
        columns = {(left, right) for left, _, right, _ in parts}
        rows = {(top, bottom) for _, top, _, bottom in parts}
        for spans, side in ((columns, width), (rows, height)):
            reached = 0
            for start, end in sorted(spans):
                assert start <= reached
                reached = max(reached, end)
            assert reached == side


def test_four_crops_overlap_by_third_of_shorter_side() -> None:
    assert [crop.box for crop in crops(1024, 512, 1)[1:]] == [
        (0, 0, 599, 343), (0, 169, 599, 512), (425, 0, 1024, 343), (425, 169, 1024, 512),
    ]  # fmt: skip


def test_grid_points_are_cell_centres_in_row_order() -> None:
    assert grid(2).tolist() == [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]
    assert len(grid(32)) == 1024
    assert [RELEASE.side(layer) for layer in (0, 1, 2)] == [32, 16, 8]


@given(
    st.lists(st.tuples(st.tuples(corner, corner, corner, corner), st.sampled_from([0.1, 0.5, 0.9])), max_size=12),
    st.sampled_from([0.0, 0.5, 0.6, 0.7, 1.0]),
)
def test_suppression_matches_slow_reference(
    candidates: list[tuple[tuple[int, int, int, int], float]], threshold: float
) -> None:
    upright = [(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b, c, d), _ in candidates]
    worth = [value for _, value in candidates]
    kept = suppress_overlaps(np.array(upright, dtype=float).reshape(-1, 4), np.array(worth, dtype=float), threshold)
    assert kept.tolist() == slow_way.survivors(upright, worth, threshold)


@given(st.lists(st.tuples(corner, corner, corner, corner), min_size=1, max_size=12))
def test_suppression_keeps_at_least_one_and_at_most_all(candidates: list[tuple[int, int, int, int]]) -> None:
    array = np.array([(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in candidates], dtype=float)
    assert 1 <= len(suppress_overlaps(array, np.ones(len(array)), 0.5)) <= len(array)
    assert len(suppress_overlaps(array, np.ones(len(array)), 1.0)) == len(array)


def test_masks_cut_by_crop_are_dropped_except_at_image_edge() -> None:
    size, crop = (400, 400), (0, 0, 250, 250)
    near = np.array([[0.0, 0, 100, 100], [100, 100, 230, 200], [100, 100, 229, 200], [21, 21, 200, 200]])
    assert cut_by_crop(near, crop, size).tolist() == [False, True, False, False]
    assert not cut_by_crop(near, (0, 0, 400, 400), size).any()


def test_duplicates_across_crops_count_once_preferring_smaller_crop() -> None:
    whole, part = Crop((0, 0, 400, 400), 0), Crop((100, 100, 350, 350), 1)
    seen = Masks(np.array([[150.0, 150, 250, 250], [10, 10, 60, 60]]), np.array([0.99, 0.9]))
    again = Masks(np.array([[50.0, 50, 152, 152]]), np.array([0.71]))
    assert remaining_boxes([(whole, seen), (part, again)], (400, 400), RELEASE) == [
        (150, 150, 252, 252),
        (10, 10, 60, 60),
    ]
    assert remaining_boxes([(whole, Masks.none()), (part, Masks.none())], (400, 400), RELEASE) == []


def _alone(masks: Any, offset: float, stability: float) -> list[tuple[tuple[int, int, int, int], int]]:
    """Boxes and places of stable masks, one pixel after the other."""
    found = []
    for place, mask in enumerate(masks):
        raised = sum(value > offset for row in mask for value in row)
        lowered = sum(value > -offset for row in mask for value in row)
        inside = [(x, y) for y, row in enumerate(mask) for x, value in enumerate(row) if value > 0]
        if lowered and raised / lowered >= stability and inside:
            xs, ys = zip(*inside, strict=True)
            found.append(((min(xs), min(ys), max(xs), max(ys)), place))
    return found


logits = st.sampled_from([-2.0, -0.7, -0.5, 0.0, 0.5, 0.7, 2.0])


@given(st.lists(st.lists(st.lists(logits, min_size=4, max_size=4), min_size=3, max_size=3), min_size=1, max_size=5))
def test_stability_and_boxes_match_slow_reference(masks: list[list[list[float]]]) -> None:
    array = np.array(masks)
    raised, lowered, columns, rows = measure_masks(array, 0.7)
    found = stable_masks((raised, lowered), (columns, rows), np.arange(len(masks), dtype=float), 0.5)
    assert list(zip(map(tuple, found.boxes.tolist()), found.quality.tolist(), strict=True)) == _alone(masks, 0.7, 0.5)


def test_release_settings_have_their_own_name() -> None:
    assert str(RELEASE) == "release"
    assert "points=16" in str(MaskSettings(points=16))
    assert (RELEASE.iou, RELEASE.stability, RELEASE.offset, RELEASE.nms, boxes.NEAR_EDGE) == (0.7, 0.95, 0.7, 0.6, 20)


@pytest.mark.parametrize(
    "wrong", [{"points": 0}, {"points": 8.5}, {"layers": 9}, {"iou": "much"}, {"nms": -1}, {"refine": 1}]
)
def test_invalid_settings_are_usage_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        MaskSettings(**wrong)
