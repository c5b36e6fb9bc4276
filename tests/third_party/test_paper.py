"""An exam from another package has its paper's tables, plots, statistics and a view; and breaks no other's."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need
from tests.report.site.reading import keys, parts, question
from tests.third_party.drive import SITE, drive
from tests.third_party.test_flags import folder

__all__ = ["folder"]
DATA = str(SITE / "limner_flags" / "sample")
RUN = ["run", "flags", "--data", DATA, "--painter", "newbrush=folder/drawings", "--judge", "replay/replies.jsonl"]
TORN = """
from dataclasses import replace
from pathlib import Path

from limner.core.plot_data import Plot
from limner_flags import FLAGS

def burst(*given):
    raise RuntimeError("it bursts")

TORN = replace(
    FLAGS, name="torn", paper=Path(__file__).parent / "paper", statistics={"stripes": burst}, view=burst,
    plots={"burst": Plot("breaks", burst, "dots"), "levels": Plot("no grid", lambda source: 7, "dots")},
)
"""
"""An exam whose every part is broken; its files are given by each test."""


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """Where the package of the broken exam is; returns its paper folder."""
    package = tmp_path / "site" / "limner_torn"
    paper = package / "paper"
    paper.mkdir(parents=True)
    (package / "__init__.py").write_text(TORN, "utf-8")
    info = tmp_path / "site" / "limner_torn-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: limner-torn\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[limner.exams]\ntorn = limner_torn:TORN\n", "utf-8")
    for file in ("published.csv", "tables.toml", "rules.toml"):
        (paper / file).write_bytes((SITE / "limner_flags" / "paper" / file).read_bytes())
    return paper


def with_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        need("plots", False, "matplotlib is not installed: pip install 'limner[plots]'")


def graphs(site: Path) -> dict[str, Any]:
    """Every flag with the graph on its page."""
    data = site / "exams" / "flags" / "data"
    return {id: question(data, key)["question"][0]["graph"] for id, key in keys(data).items()}


@pytest.mark.slow
def test_third_party_exam_has_tables(folder: Path) -> None:
    listed, _, shown, as_csv, counted, other = drive(
        folder,
        ["table"],
        RUN,
        ["table", "flags:table1"],
        ["table", "flags:1", "--format", "csv"],
        ["table", "flags:table2", "--format", "csv"],
        ["table", "genexam:table2"],
    )
    lines = listed[1].splitlines()
    assert "genexam:table2" in listed[1]
    assert lines[-2].split("  ", 1)[0] == "flags:table1", "the exams of Limner's own come first"
    assert shown[0] == 0
    assert re.search(r"Brushes that are sold\n.*Old Brush +41\.0 +62\.5 +43\.0\n", shown[1])
    assert re.search(r"Brushes that are given away\n.*New Brush .*\n.*newbrush", shown[1]), "the paper tells its group"
    rows = {row["row"]: row for row in csv.DictReader(io.StringIO(as_csv[1]))}
    assert (rows["New Brush"]["source"], rows["newbrush"]["source"]) == ("published", "store")
    assert (rows["newbrush"]["Whole"], rows["newbrush"]["Colours"]) == ("33.3", "71.4")
    assert [row["Stripes"] for row in csv.DictReader(io.StringIO(counted[1]))] == ["2.4", "2.33"]
    assert other[0] == 0


@pytest.mark.slow
def test_third_party_exam_has_plots(folder: Path) -> None:
    with_matplotlib()
    listed, _, levels, own, elsewhere = drive(
        folder,
        ["plot"],
        RUN,
        ["plot", "levels", "flags", "-o", "levels.svg"],
        ["plot", "halves", "flags", "-o", "halves.svg"],
        ["plot", "atoms", "flags", "-o", "atoms.svg"],
    )
    assert re.search(r"^halves +whole flags against colours \(flags only\)$", listed[1], re.MULTILINE)
    assert [levels[:2], own[:2]] == [
        (0, "levels.svg: levels of flags\n"), (0, "halves.svg: halves of flags\n"),
    ]  # fmt: skip
    assert (folder / "levels.svg").read_bytes().startswith(b"<?xml")
    assert elsewhere[0] == 2
    assert "atoms is only for exams of the kind fepbench; flags is of the kind flags" in elsewhere[2]


@pytest.mark.slow
def test_site_shows_third_party_exam(folder: Path) -> None:
    _, built = drive(folder, RUN, ["report", "-o", "pages"])
    assert (built[0], built[2]) == (0, "")
    assert [node["name"] for node in graphs(folder / "pages")["europe/sweden"]["nodes"]] == ["blue", "yellow"]
    (paper,) = parts(folder / "pages" / "exams" / "flags" / "data", "published")
    assert [(row["model"], row["value"], row["scores"]) for row in paper["rows"]] == [
        ("Old Brush", "", {"whole": 41.0, "colours": 62.5}),
        ("Old Brush", "Europe", {"whole": 43.0}),
        ("New Brush", "", {"whole": 48.0, "colours": 60.0}),
        ("New Brush", "Europe", {"whole": 51.0}),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("tables.toml", "[paper]\ncite = 'Torn'\n[tables.x]\ntitle = 'T'\nwidth = 3\ncolumns = []", "tables.x.width"),
        ("tables.toml", "nonsense", "cannot be read"),
        ("published.csv", "model,value\nBrush,3\n", "lacks the column 'benchmark'"),
        ("rules.toml", "[groups]\nsold = { price = 3 }", None),
    ],
)
def test_invalid_file_is_reported_and_other_exams_keep_working(
    folder: Path, torn: Path, file: str, text: str, message: str | None
) -> None:
    (torn / file).write_text(text, "utf-8")
    listed, own, other, examined = drive(
        folder, ["table"], ["table", "torn:table1"], ["table", "flags:table1"], ["exams"], site=torn.parents[1]
    )
    assert listed[0] == other[0] == examined[0] == 0
    assert "flags:table1" in listed[1]
    assert "Old Brush" in other[1]
    if file == "tables.toml":
        assert "the exam 'torn' is broken: " in listed[2]
    if message is not None:
        assert own[0] == 1
        assert "the exam 'torn' is broken: " in own[2]
        assert f"{file}: {message}" in own[2]


@pytest.mark.slow
def test_broken_extension_is_reported_and_other_exams_keep_working(folder: Path, torn: Path) -> None:
    with_matplotlib()
    _, _, own, shape, statistic, other, built = drive(
        folder,
        RUN,
        ["run", "torn", *RUN[2:]],
        ["plot", "burst", "torn", "-o", "a.svg"],
        ["plot", "levels", "torn", "-o", "a.svg"],
        ["table", "torn:table2"],
        ["plot", "levels", "flags", "-o", "b.svg"],
        ["report", "-o", "pages"],
        site=torn.parents[1],
    )
    assert own[0] == shape[0] == statistic[0] == 2
    assert "the plot 'burst' of the exam 'torn' is broken: RuntimeError: it bursts" in own[2]
    assert "the plot 'levels' of the exam 'torn' is broken: AttributeError" in shape[2]
    assert "the statistic 'mean stripes' of the exam 'torn' is broken: RuntimeError: it bursts" in statistic[2]
    assert not (folder / "a.svg").exists()
    assert other[0] == 0
    assert (built[0], built[2]) == (0, "limner: the view of the exam 'torn' is broken: RuntimeError: it bursts\n")
    assert all(graphs(folder / "pages").values())
