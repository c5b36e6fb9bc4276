"""The layered layout that pictures of graphs share."""

from __future__ import annotations

from limner.exams.views import Box, layer_nodes, order_layers, place_row, wrap_name


def test_layering_breaks_cycles_and_ignores_unknown_nodes() -> None:
    assert layer_nodes([0, 1, 2], [(0, 1), (1, 2), (2, 0), (1, 9)]) == [[0], [1], [2]]
    assert layer_nodes([2, 1, 0], []) == [[2, 1, 0]]


def test_layer_order_reduces_edge_crossings() -> None:
    pairs = [("a", "z"), ("b", "y"), ("c", "x")]
    upper, lower = order_layers([["a", "b", "c"], ["x", "y", "z"]], pairs)
    places = [(upper.index(source), lower.index(target)) for source, target in pairs]
    assert all(one == other for one, other in places)


def test_boxes_of_row_are_placed_side_by_side() -> None:
    row = [Box([], 20, 10), Box([], 40, 30)]
    assert place_row(row, left=5, top=100, gap=7) == (72, 130)
    assert [(box.x, box.y) for box in row] == [(15, 115), (52, 115)]
    assert row[0].turned().turned() == row[0]


def test_long_name_is_truncated_with_ellipsis() -> None:
    assert wrap_name("one two three four", 7, 2) == ["one two", "three …"]
    assert wrap_name("", 7, 2) == ["?"]
