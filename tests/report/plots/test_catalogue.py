"""Every plot with three painters, one with twenty-five: nothing too small, cut off, unnamed or over something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.core.plot_data import DRAW_NAMES
from limner.exams import SHIPPED
from limner.report.plots import PlotChoice, load_plots, plot
from limner.report.plots.catalogue import DRAW_FUNCTIONS
from limner.report.plots.style import WIDTHS
from limner.store import Store
from tests.report.plots.every import EXAMS, Stores, drawn

pytestmark = pytest.mark.usefixtures("matplotlib")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    made = Stores(tmp_path_factory.mktemp("every"))
    yield made
    made.close()


def test_every_plot_is_covered_by_tests() -> None:
    # The plot of data has no painters; tests/report/plots/test_data_set.py draws it.
    assert {*EXAMS, "data"} == {
        name for name, each in load_plots().items() if each.usual or each.own.keys() & set(SHIPPED)
    }
    assert set(DRAW_FUNCTIONS) == set(DRAW_NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [*((name, "3") for name in EXAMS), ("heatmap", "25")])
def test_figure_has_no_visual_faults(name: str, count: str, stores: Stores) -> None:
    from tests.report.plots.seen import faults

    frame = stores.frame(name, EXAMS[name], count)
    for width, inches in WIDTHS.items():
        figure = drawn(name, EXAMS[name], frame, width)
        assert figure.get_size_inches()[0] == inches
        assert faults(figure) == []


@pytest.mark.slow
def test_dispersion_of_single_painter_is_refused(stores: Stores) -> None:
    with pytest.raises(UsageError, match="only 1 painter"):
        stores.frame("dispersion", EXAMS["dispersion"], "1")


@pytest.mark.slow
def test_several_exams_are_stacked_vertically(stores: Stores, tmp_path: Path) -> None:
    choice = PlotChoice(store=stores.store("worldgenbench", "3"))
    path = tmp_path / "new" / "both.svg"
    plot("heatmap", ["worldgenbench", "worldgenbench"], path, choice, "single")
    alone = tmp_path / "one.svg"
    plot("heatmap", ["worldgenbench"], alone, choice, "single")
    assert _height(path) == pytest.approx(2 * _height(alone), rel=0.01)


def _height(path: Path) -> float:
    found = re.search(r'height="([\d.]+)pt"', path.read_text("utf-8"))
    assert found
    return float(found[1])


@pytest.mark.parametrize(
    ("name", "file", "width", "message"),
    [
        ("nonsense", "a.svg", "double", "no plot 'nonsense'; available: overall, difference"),
        ("heatmap", "a.jpg", "double", "must end in one of svg, pdf, png"),
        ("heatmap", "a.svg", "triple", "no width 'triple'; available: single, double"),
    ],
)
def test_invalid_plot_arguments_are_refused(
    name: str, file: str, width: str, message: str, filled: dict[str, Store], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        plot(name, ["genexam"], tmp_path / file, PlotChoice(store=filled["genexam"]), width)
    assert not (tmp_path / file).exists()
