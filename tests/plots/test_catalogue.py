"""Every plot with one painter, eight and twenty-five: nothing too small, cut off, unnamed or over something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.core.plot_data import WAYS
from limner.exams import SHIPPED
from limner.plots import PlotChoice, known, plot
from limner.plots.catalogue import DRAW_FUNCTIONS
from limner.plots.style import WIDTHS
from limner.store import Store
from tests.docs.blocks import ROOT
from tests.plots.every import EXAMS, Stores, drawn

pytestmark = pytest.mark.usefixtures("matplotlib")
DOCS = ROOT / "docs"
DRAWN = {"1": ("single",), "3": ("single",), "8": ("double",), "25": ("single", "double")}
"""How many painters -> how wide: one column where words have least room, two where names stand beside points."""
TALL = {"categories", "profile", "levels", "distribution", "drawings"}
"""With 25 painters these fill more than a page in one column."""
TWO = {"dispersion"}
"""With one painter there is nothing to show."""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    made = Stores(tmp_path_factory.mktemp("every"))
    yield made
    made.close()


def test_every_plot_is_drawn_here() -> None:
    # The plot of data has no painters; tests/plots/test_data_set.py draws it.
    assert {*EXAMS, "data"} == {name for name, each in known().items() if each.usual or each.own.keys() & set(SHIPPED)}
    assert set(DRAW_FUNCTIONS) == set(WAYS)


def test_the_page_on_plots_names_every_kind_and_pictures_have_words() -> None:
    text = (DOCS / "plots.md").read_text("utf-8")
    assert [name for name in {*EXAMS, "data"} if f"`{name}`" not in text] == []
    pages = "\n".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    shown = {file: words for words, file in re.findall(r"!\[([^\]]*)\]\(\S*images/(plot-[\w-]+\.png)\)", pages)}
    assert shown.keys() == {path.name for path in (DOCS / "images").glob("plot-*.png")}
    assert all(len(words) > 15 for words in shown.values())


@pytest.mark.slow
@pytest.mark.parametrize("count", DRAWN)
@pytest.mark.parametrize("name", EXAMS)
def test_a_reader_stumbles_over_nothing(name: str, count: str, stores: Stores) -> None:
    from tests.plots.seen import faults

    exam = EXAMS[name]
    if count == "1" and name in TWO:
        with pytest.raises(UsageError, match="only 1 painter"):
            stores.frame(name, exam, count)
        return
    frame = stores.frame(name, exam, count)
    for width in DRAWN[count]:
        if (count, width) == ("25", "single") and name in TALL:
            with pytest.raises(UsageError, match=r"more than a page .*: take --width double"):
                drawn(name, exam, frame, width)
            continue
        figure = drawn(name, exam, frame, width)
        assert figure.get_size_inches()[0] == WIDTHS[width]
        assert faults(figure) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda panel: panel.set_xlabel(""), "the x axis of '' with"),
        (lambda panel: panel.set_ylabel(""), "the y axis of '' with"),
        (lambda panel: panel.set_xscale("log"), "a log scale of"),
        (lambda panel: panel.set_title("x" * 90, loc="left"), "is cut off"),
        (lambda panel: panel.text(*panel.get_xlim()[:1], panel.get_ylim()[0], "z", fontsize=4), "'z': 4.0 pt"),
        (lambda panel: panel.figure.legend(panel.collections[:1], ["l"], loc="center"), "a legend lies over"),
        (lambda panel: panel.figure.add_axes((0.4, 0.4, 0.1, 0.1)), "the panel '' is empty"),
    ],
)
def test_what_a_reader_stumbles_over_is_found(spoil: object, said: str, stores: Stores) -> None:
    from tests.plots.seen import faults

    figure = drawn("if-re", "fepbench", stores.frame("if-re", "fepbench", "3"), "double")
    assert callable(spoil)
    spoil(figure.axes[0])
    assert [fault for fault in faults(figure) if said in fault], faults(figure)


@pytest.mark.slow
def test_several_exams_stand_below_each_other(stores: Stores, tmp_path: Path) -> None:
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
