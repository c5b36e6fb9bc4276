"""`limner plot`."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.report.plots import load_plots
from limner.store import Store
from tests.cli.invoke import limner
from tests.needs import need
from tests.report.tables import synthetic


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a store of a small exam in it, under the usual name."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        need("plots", False, "matplotlib is not installed: pip install 'limner[plots]'")
    monkeypatch.chdir(tmp_path)
    with Store("limner-store") as store:
        synthetic.fill(store, "genexam", painters=3, judges=("one", "two"), images=False)
    return tmp_path


def test_plots_are_listed() -> None:
    lines = limner("plot").out.splitlines()
    assert [line.split()[0] for line in lines] == list(load_plots())
    assert all(len(line.split("  ", 1)[1].strip()) > 10 for line in lines)
    assert any("(mmmg only)" in line for line in lines)


@pytest.mark.slow
def test_options_reach_the_plot(here: Path) -> None:
    words = ["plot", "heatmap", "genexam", "--judge", "one", "-o"]
    limner(*words, "usual.svg")
    for name, more in {
        "score": ["--score", "relaxed"],
        "painter": ["--painter", "openai/gpt-image-1"],
        "by": ["--by", "difficulty"],
        "reading": ["--reading", "paper"],
        "width": ["--width", "single"],
    }.items():
        limner(*words, f"{name}.svg", *more)
        assert (here / f"{name}.svg").read_bytes() != (here / "usual.svg").read_bytes(), name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense", "genexam", "-o", "a.svg"], "no plot 'nonsense'"),
        (["heatmap", "-o", "a.svg"], "name the exam: limner plot heatmap EXAM"),
        (["heatmap", "genexam"], "name the file to write: -o FILE.svg"),
        (["heatmap", "genexam", "-o", "a.svg"], "name one with --judge: 'one', 'two'"),
        (["levels", "genexam", "-o", "a.svg", "--by", "subject"], "--by applies only to categories and heatmap"),
        (["levels", "genexam", "-o", "a.svg", "--study", "pilot"], "--study applies only to people"),
        (["regions", "genexam", "-o", "a.svg", "--judge", "one"], "regions is only for exams of the kind mmmg"),
    ],
)
def test_invalid_arguments_are_reported(words: list[str], message: str, here: Path) -> None:
    assert message in limner("plot", *words, code=2).err
    assert not (here / "a.svg").exists()
