"""Costs and fronts, computed once more by other means; numbers beside points."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.plot_data import Point, Points, Quantity, front
from limner.report.plots.points import choose, cost, points
from limner.report.plots.source import PlotChoice, load_source
from limner.report.plots.style import compose, look
from limner.store import Store
from tests.report.tables import synthetic


@pytest.mark.slow
def test_cost_includes_failed_attempts_and_omits_unknown_prices(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        synthetic.fill(store, "genexam", painters=5, questions=40)
        found = load_source("genexam", PlotChoice(store=store, score="relaxed"))
        frame = cost(found)
    priced = {point.name: point for point in frame.points}
    unknown = {"dashscope/qwen-image", "FLUX.2 dev"}
    assert set(priced) == {*found.names} - unknown, (
        "the one has no price, and a folder's images were paid for elsewhere"
    )
    group = next(group for group in found.field.groups if group.painter == "openai/gpt-image-1")
    done = sum(entry.drawing.status == "done" for entry in group.entries)
    assert done < 40, "this painter refuses some"
    assert priced["openai/gpt-image-1"].x.value == pytest.approx(0.17 * 40 / done)
    assert "gemini/gemini-3-pro-image-preview" in frame.front
    assert "openai/gpt-image-1.5" not in frame.front, "another one is cheaper and better"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12), st.booleans())
def test_front_contains_exactly_undominated_points(found: list[tuple[int, int]], less: bool) -> None:
    on = set(front(found, less))
    assert on

    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        better = one[0] <= other[0] if less else one[0] >= other[0]
        return better and one[1] >= other[1] and one != other

    for n, point in enumerate(found):
        assert (n in on) == (not any(beats(other, point) for other in found))


places = st.tuples(st.floats(20, 280), st.floats(20, 180))


@given(st.lists(places, min_size=1, max_size=25, unique=True))
def test_point_labels_stay_inside_axes_and_near_points(where: list[tuple[float, float]]) -> None:
    widths = [8.0] * len(where)
    for (x, y), (a, b) in zip(where, choose(where, widths, (0, 0, 300, 200)), strict=True):
        assert 4 <= a <= 296
        assert 3 <= b <= 197
        assert abs(a - x) < 50
        assert abs(b - y) < 50


@pytest.mark.slow
@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize("count", [12, 2])
def test_points_are_numbered_and_names_stay_whole(count: int) -> None:
    from tests.report.plots.seen import faults

    some = [f"a-painter-with-a-name-of-several-lines-{n} + best-of-4[chooser=a-long-chooser]" for n in range(count)]
    # All but the first stand in one corner.
    where = [0.0, *(100 + 0.1 * n for n in range(1, count))]
    found = tuple(Point(name, Quantity(at), Quantity(at)) for name, at in zip(some, where, strict=True))
    frame = Points(found, "one", "other", "made up, n = 3")
    with look():
        sketch = points(frame, "double")
    figure = compose([sketch], "double")
    written = {text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))}
    assert written >= {str(n + 1) for n in range(count)}
    whole = {"".join(text.split()) for text in written}
    assert all(any("".join(name.split()) in text for text in whole) for name in some), "names stay whole"
    assert faults(figure) == []
