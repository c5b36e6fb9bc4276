"""Names that fit and differ, text that is broken into lines, files that are the same each time."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.core.plot_data import Grid, Quantity
from limner.report.plots.style import SMALL, Sketch, broken, compose, look, save_figure, whole, wide
from tests.report.tables.synthetic import cast

pytestmark = pytest.mark.usefixtures("matplotlib")


def test_painter_names_are_complete_fit_and_distinct() -> None:
    names = [painter.name for painter in cast(25)]
    for inches in (0.8, 1.1, 1.75):
        lines = whole(names, inches)
        assert len(set(lines)) == 25
        assert all(wide(line, SMALL) <= inches for name in lines for line in name.split("\n"))
        assert not any("…" in name for name in lines)
        for name, label in zip(names, lines, strict=True):
            assert name.replace(" ", "").endswith(label.replace("\n", "").replace(" ", ""))
    assert whole(names, 2.5)[0] == "gpt-image-1.5", "nobody needs the provider"


@given(st.text("abcdefg $_-/+[]=", min_size=1, max_size=80), st.floats(0.4, 2))
def test_wrapped_name_keeps_all_characters_and_fits(name: str, inches: float) -> None:
    lines = broken(name, inches).split("\n")
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(wide(line, SMALL) <= inches for line in lines)


def test_provider_is_kept_where_names_would_collide() -> None:
    assert whole(["a/same", "b/same"], 2) == ["a/same", "b/same"]
    assert whole(["control/blank"], 2) == ["control/blank"]


PARTS = st.sampled_from(["a", "lab/a", "b/a", "lab/b", "a?x=1", "control/a"])
WAYS = st.sampled_from(["", " + rewrite", " + best-of-3[chooser=lab/a]", " + best-of-3[chooser=b/a]"])


@given(st.lists(st.tuples(PARTS, WAYS).map("".join), min_size=1, max_size=12, unique=True), st.floats(0.5, 3))
def test_row_names_are_distinct(names: list[str], inches: float) -> None:
    assert len(set(whole(names, inches))) == len(names)


def test_dollar_signs_in_names_are_not_parsed_as_math() -> None:
    figure = compose([sketch(("$x^2$ and $", "b"))], "single")
    figure.draw_without_rendering()
    labels = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    assert "$x^2$ and $" in labels
    assert not any(label.get_parse_math() for axes in figure.axes for label in axes.get_yticklabels())


def sketch(rows: tuple[str, ...] = ("a", "b")) -> Sketch:
    from limner.report.plots.rows import dots

    cells = tuple((Quantity(50.0, 40.0, 60.0, 9), Quantity(None, n=9, least=10.0, most=30.0)) for _ in rows)
    with look():
        return dots(Grid(rows, ("one", "two"), cells, "score", 100, "made up"), "single")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_equal_data_gives_identical_files(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    prints = set()
    for turn in range(2):
        path = tmp_path / f"{turn}.{form}"
        # Neither the day nor what a user has set elsewhere makes a difference.
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(turn * 10**8))
        monkeypatch.setitem(matplotlib.rcParams, "font.size", 9 + turn)
        save_figure(compose([sketch()], "single"), path)
        prints.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(prints) == 1
    assert b"2026" not in (tmp_path / f"0.{form}").read_bytes() or form != "svg"


def test_plotting_leaves_user_settings_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "font.size", 17)
    compose([sketch()], "single")
    assert matplotlib.rcParams["font.size"] == 17


def test_figure_taller_than_page_is_refused() -> None:
    with pytest.raises(UsageError, match="more than a page"):
        compose([sketch(tuple(map(str, range(80))))], "single")


def test_missing_matplotlib_is_reported_with_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'limner\[plots\]'"), look():
        pass
