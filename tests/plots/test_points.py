"""Costs and fronts, computed once more by other means; names beside points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.core.plot_data import front
from limner.plots.points import choose, cost
from limner.plots.source import PlotChoice, StoreSource, load
from limner.store import Store
from tests.tables import synthetic

Sources = Callable[..., StoreSource]


def test_cost_counts_failed_tries_and_leaves_out_unknown_prices(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=5, questions=40)
        found = load("genexam", PlotChoice(store=store, score="relaxed"))
        frame = cost(found)
    points = {point.name: point for point in frame.points}
    unknown = {"dashscope/qwen-image", "FLUX.2 dev"}
    assert set(points) == {*found.names} - unknown, (
        "the one has no price, and a folder's images were paid for elsewhere"
    )
    group = next(group for group in found.field.groups if group.painter == "openai/gpt-image-1")
    done = sum(entry.drawing.status == "done" for entry in group.entries)
    assert done < 40, "this painter refuses some"
    assert points["openai/gpt-image-1"].x.value == pytest.approx(0.17 * 40 / done)
    assert "gemini/gemini-3-pro-image-preview" in frame.front
    assert "openai/gpt-image-1.5" not in frame.front, "another one is cheaper and better"


def test_imported_drawings_have_no_cost(source: Sources) -> None:
    with pytest.raises(UsageError, match="no painter with a score has a known cost above zero"):
        cost(source("genexam"))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12), st.booleans())
def test_nobody_on_the_front_is_beaten_and_all_others_are(points: list[tuple[int, int]], less: bool) -> None:
    on = set(front(points, less))
    assert on

    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        better = one[0] <= other[0] if less else one[0] >= other[0]
        return better and one[1] >= other[1] and one != other

    for n, point in enumerate(points):
        assert (n in on) == (not any(beats(other, point) for other in points))


points = st.tuples(st.floats(20, 280), st.floats(20, 180))


@given(st.lists(points, min_size=1, max_size=25, unique=True))
def test_numbers_beside_points_stay_inside_and_near(where: list[tuple[float, float]]) -> None:
    widths = [8.0] * len(where)
    for (x, y), (a, b) in zip(where, choose(where, widths, (0, 0, 300, 200)), strict=True):
        assert 4 <= a <= 296
        assert 3 <= b <= 197
        assert abs(a - x) < 50
        assert abs(b - y) < 50
