"""Every plot at the sizes it is used in: nothing too small, cut off or over something else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.core.plot_data import WAYS
from limner.exams import SHIPPED
from limner.plots import PlotChoice, known, plot
from limner.plots.catalogue import DRAW_FUNCTIONS
from limner.plots.style import WIDTHS, compose, look
from limner.store import Store
from tests.tables import synthetic

pytestmark = pytest.mark.usefixtures("matplotlib")
EXAMS = {
    "categories": "genexam", "heatmap": "genexam", "profile": "fepbench", "levels": "mmmg", "distribution": "fepbench",
    "failures": "mmmg", "cost": "genexam", "judges": "genexam", "atoms": "fepbench", "if-re": "fepbench",
    "panels": "fepbench", "regimes": "fepbench", "logic-aesthetics": "aibench", "regions": "mmmg",
    "dispersion": "fepbench", "correlations": "fepbench", "by-judge": "genexam",
}  # fmt: skip
APART = {"data", "drawings", "people"}
"""Plots of questions, pictures and people, which have test files of their own."""
JUDGED = ("judges", "by-judge")
QUESTIONS = {"genexam": 40, "mmmg": 36, "fepbench": 32, "aibench": 6}
TALL = {("categories", "single"), ("profile", "single"), ("distribution", "single")}
"""With 25 painters these fill more than a page in one column."""


class Many(dict[str, Store]):
    """Stores with 25 painters, by exam kind."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._folders = folders

    def __missing__(self, kind: str) -> Store:
        store = self[kind] = Store(self._folders.mktemp(f"many-{kind}"))
        synthetic.fill(store, kind, painters=25, questions=QUESTIONS[kind], images=kind == "genexam")
        return store


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    stores = Many(tmp_path_factory)
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Images, costs and three judges: what the made-up imports lack."""
    with Store(tmp_path_factory.mktemp("judged")) as store:
        judges = ("openai/gpt-5", "gemini/gemini-2.5-pro", "ocr")
        synthetic.fill(store, "genexam", questions=12, painters=5, judges=judges)
        yield store


def faults(name: str, frame: Any, width: str) -> list[str]:
    from tests.plots.seen import faults

    with look():
        sketch = known()[name].draw(frame, width)
    figure = compose([sketch], width)
    assert figure.get_size_inches()[0] == WIDTHS[width]
    return faults(figure)


def test_every_plot_is_drawn_here() -> None:
    assert {*EXAMS, *APART} == {name for name, each in known().items() if each.usual or each.own.keys() & set(SHIPPED)}
    assert set(DRAW_FUNCTIONS) == set(WAYS)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("if-re", "regions") else pytest.mark.slow)
        for name in EXAMS
        if name not in ("cost", *JUDGED)
    ],
)
def test_nine_painters(name: str, filled: dict[str, Store]) -> None:
    frame = known()[name].frame(EXAMS[name], PlotChoice(store=filled[EXAMS[name]]))
    for width in WIDTHS:
        assert faults(name, frame, width) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cost", *JUDGED])
def test_costs_and_judges(name: str, judged: Store) -> None:
    judges = () if name in JUDGED else ("openai/gpt-5",)
    frame = known()[name].frame("genexam", PlotChoice(store=judged, judges=judges))
    for width in WIDTHS:
        assert faults(name, frame, width) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EXAMS if name not in JUDGED])
def test_twenty_five_painters(name: str, many: dict[str, Store]) -> None:
    frame = known()[name].frame(EXAMS[name], PlotChoice(store=many[EXAMS[name]]))
    for width in WIDTHS:
        if (name, width) in TALL:
            with pytest.raises(UsageError, match="more than a page"):
                faults(name, frame, width)
        else:
            assert faults(name, frame, width) == []


@pytest.mark.slow
def test_several_exams_stand_below_each_other(filled: dict[str, Store], tmp_path: Path) -> None:
    store = filled["worldgenbench"]
    path = tmp_path / "new" / "both.svg"
    plot("heatmap", ["worldgenbench", "worldgenbench"], path, PlotChoice(store=store), "single")
    alone = tmp_path / "one.svg"
    plot("heatmap", ["worldgenbench"], alone, PlotChoice(store=store), "single")
    assert _height(path) == pytest.approx(2 * _height(alone), rel=0.01)


def _height(path: Path) -> float:
    import re

    found = re.search(r'height="([\d.]+)pt"', path.read_text("utf-8"))
    assert found
    return float(found[1])


@pytest.mark.parametrize(
    ("name", "file", "width", "said"),
    [
        ("nonsense", "a.svg", "double", "no plot 'nonsense'; there is: categories, heatmap"),
        ("heatmap", "a.jpg", "double", "written as svg, pdf, png"),
        ("heatmap", "a.svg", "triple", "no width 'triple'; there is: single, double"),
    ],
)
def test_what_cannot_be_is_refused(
    name: str, file: str, width: str, said: str, filled: dict[str, Store], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        plot(name, ["genexam"], tmp_path / file, PlotChoice(store=filled["genexam"]), width)
    assert not (tmp_path / file).exists()
