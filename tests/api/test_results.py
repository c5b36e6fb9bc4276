"""Results from Python: the terminal's numbers, as lists, frames, HTML and pictures."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import pandas
import polars
import pytest
from sqlalchemy import text

import limner
from limner.core.errors import NoStore, UsageError
from limner.report.plots import PlotFigure
from limner.report.tables.model import Framed
from tests.cli.conftest import Marked
from tests.cli.invoke import limner as command

HOSTILE = '<script>alert(1)</script> "&\x1b[31m'
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "scores": (("scores", "genexam", "--by", "subject"), {"by": ["subject"]}),
    "compare": (("compare", "genexam", "--on", "all"), {"on": "all"}),
    "agree": (("agree", "genexam", "--by", "painter"), {"by": ["painter"]}),
}
"""Functions with the words that ask for the same on the command line."""


def asked(name: str, marked: Marked) -> Any:
    return getattr(limner, name)("genexam", store=marked.store, **CALLS[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "compare", pytest.param("agree", marks=pytest.mark.slow)])
def test_results_match_command_output(judged: Marked, name: str) -> None:
    words = [*CALLS[name][0], "--store", str(judged.store), "--format"]
    found = asked(name, judged)
    assert json.loads(json.dumps(found.to_json())) == command(*words, "json").json()
    assert found.to_csv() == command(*words, "csv").out
    shown = command(*words, "table").out
    assert " ".join(str(found).split()) == " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "compare"])
def test_frames_have_rows_of_csv(judged: Marked, name: str) -> None:
    words = [*CALLS[name][0], "--store", str(judged.store), "--format", "csv"]
    expected = list(csv.DictReader(io.StringIO(command(*words).out)))
    found = asked(name, judged)
    pole, panda = found.to_polars(), found.to_pandas()
    assert isinstance(pole, polars.DataFrame)
    assert isinstance(panda, pandas.DataFrame)
    assert pole.columns == list(panda.columns) == list(expected[0])
    assert pole.height == len(panda) == len(expected) > 0
    assert pole.schema["value"] == polars.Float64
    for row, other, line in zip(pole.to_dicts(), panda.to_dict("records"), expected, strict=True):
        for key, written in line.items():
            for value in (row[key], other[key]):
                missing = value is None or (isinstance(value, float) and math.isnan(value))
                told = "" if missing else value if isinstance(value, str) else float(value)
                assert told == (float(written) if isinstance(told, float) else written), (key, value, written)


def test_pandas_frames_need_no_polars(judged: Marked, no_polars: None) -> None:
    found = limner.scores("genexam", store=judged.store)
    assert len(found.to_pandas()) == len(list(csv.DictReader(io.StringIO(found.to_csv())))) > 0
    with pytest.raises(UsageError, match=r"to_polars\(\) needs polars; .* pip install 'limner\[parquet\]'"):
        found.to_polars()


def test_scores_are_a_list(judged: Marked) -> None:
    found = limner.scores("genexam", store=judged.store)
    assert isinstance(found, list)
    assert [row.painter for row in found] == [row.painter for row in list(found)]
    assert len(found) == 4
    assert repr(found) == "<Standings: 2 painters, 2 evaluators>"
    assert found[0].scores["relaxed"].value == found.to_json()[0]["common"]["scores"]["relaxed"]["value"]


@pytest.mark.slow
def test_results_of_several_exams(judged: Marked, tmp_path: Path) -> None:
    shutil.copytree(judged.store, place := tmp_path / "copy")
    toml = tmp_path / "exam.toml"
    toml.write_text(f'name = "mine"\nkind = "genexam"\ndata = "{judged.small.data}"\n', "utf-8")
    for name in ("one", "two"):
        painter = f"{name}=folder/{judged.small.drawings}"
        command("run", toml, "--painter", painter, "--judge", judged.judge, "--store", place, code=None)
    found = limner.compare(["genexam", "mine"], store=place, judges=[judged.judge])
    words = ("compare", "--exams", "genexam,mine", "--judge", judged.judge, "--store", place, "--format")
    assert found.to_json() == command(*words, "json").json()
    assert found.to_csv() == command(*words, "csv").out
    assert "painters in several exams" in str(found)
    assert repr(found) == "<ExamComparison: 2 painters, 2 exams>"
    assert found.to_polars().height == 6


def test_show_embeds_question_and_pictures(judged: Marked) -> None:
    id = judged.small.ids[0]
    found = limner.show("genexam", id, store=judged.store)
    assert (
        json.loads(json.dumps(found)) == command("show", "genexam", id, "--store", judged.store, "--format=json").json()
    )
    page = found._repr_html_()
    assert page.count("<img src=") == 3, "the reference and two drawings"
    assert page.count('src="data:image/') == 3
    assert found["prompt"][:20] in page
    frame = found.to_polars()
    assert frame.height == sum(len(marking["marks"]) for marking in found["markings"])
    assert set(frame["painter"]) == {"one", "two"}
    assert repr(found) == f"<QuestionView: genexam {id}, 2 drawings, 4 markings>"


def test_missing_drawing_is_shown_as_missing(judged: Marked) -> None:
    page = limner.show("genexam", judged.small.ids[3], store=judged.store)._repr_html_()
    assert page.count("<img src=") == 2
    assert '<div class="absent">missing: ' in page


@pytest.mark.slow
def test_table_of_paper(judged: Marked, tmp_path: Path) -> None:
    found = limner.table("genexam:table2", store=judged.store, judges=[judged.judge])
    words = ("table", "genexam:table2", "--store", judged.store, "--judge", judged.judge, "--format")
    assert found.to_csv().splitlines()[0] == command(*words, "csv").out.splitlines()[0]
    assert found._repr_html_() == command(*words, "html").out
    frame, rows = found.to_polars(), list(csv.DictReader(io.StringIO(command(*words, "csv").out)))
    assert frame["row"].to_list() == [row["row"] for row in rows]
    numbers = [name for name, kind in frame.schema.items() if kind == polars.Float64]
    assert len(numbers) > 3
    for name in numbers:
        assert frame[name].to_list() == [float(row[name]) if row[name] else None for row in rows]
    alone = limner.table("genexam:table2")
    assert set(alone.to_polars()["source"]) == {"published"}
    with pytest.raises(NoStore):
        limner.table("genexam:table2", store=tmp_path / "none")
    with pytest.raises(UsageError, match=r"genexam:table2"):
        limner.table("genexam:table999")


@pytest.mark.slow
def test_plot_is_identical_to_file_of_command(judged: Marked, tmp_path: Path) -> None:
    found = limner.plot("categories", "genexam", store=judged.store, judges=[judged.judge])
    assert isinstance(found, PlotFigure)
    file = tmp_path / "categories.svg"
    command("plot", "categories", "genexam", "--store", judged.store, "--judge", judged.judge, "-o", file)
    assert found._repr_svg_() == file.read_text("utf-8")
    found.save(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == file.read_bytes()
    assert found.to_bytes("png").startswith(b"\x89PNG")
    assert found.figure.get_axes()
    with pytest.raises(UsageError, match="must end in one of svg, pdf, png"):
        found.to_bytes("gif")
    with pytest.raises(UsageError, match="name the exam"):
        limner.plot("categories")


@pytest.mark.slow
def test_every_function_accepts_open_store(judged: Marked, tmp_path: Path) -> None:
    with limner.open_store(judged.store) as store:
        assert limner.scores("genexam", store=store).to_json() == limner.scores("genexam", store=judged.store).to_json()
        assert len(limner.compare("genexam", store=store)) == 2
        assert limner.agree("genexam", store=store).raters
    with pytest.raises(NoStore, match="no store at"):
        limner.open_store(tmp_path / "none")
    limner.open_store(tmp_path / "new", create=True).close()
    assert (tmp_path / "new").is_dir()


def test_missing_pandas_is_reported(judged: Marked) -> None:
    found = limner.scores("genexam", store=judged.store)
    with mock.patch.dict(sys.modules, {"pandas": None}), pytest.raises(UsageError, match=r"pip install 'limner\[noteb"):
        found.to_pandas()


class Tags(HTMLParser):
    """The tags of a page and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
def test_hostile_names_stay_text(judged: Marked, tmp_path: Path) -> None:
    """A painter, a prompt and a reason may contain any text; a notebook shows it as text."""
    place = tmp_path / "copy"
    shutil.copytree(judged.store, place)
    with limner.open_store(place) as store:
        store.write(
            lambda connection: connection.execute(
                text("update drawings set painter = :name where painter = 'two'"), {"name": HOSTILE}
            )
        )
    found: list[Framed] = [limner.scores("genexam", store=place), limner.compare("genexam", store=place)]
    found += [limner.agree("genexam", store=place, by=["painter"])]
    found += [limner.table("genexam:table2", store=place, judges=[judged.judge])]
    found += [limner.show("genexam", judged.small.ids[0], store=place)]
    for one in found:
        page: str = one._repr_html_()
        assert "&lt;script&gt;" in page, one
        assert "\x1b" not in page
        seen = Tags(page)
        assert "script" not in seen.tags
        assert not {name for name in seen.attributes if name.startswith("on")}


def test_run_works_inside_running_event_loop(judged: Marked, tmp_path: Path) -> None:
    """As in a notebook, whose cells are called from a running loop."""

    async def cell() -> tuple[int, int]:
        painter = f"mine=folder/{judged.small.drawings}"
        progress = limner.run("genexam", painters=[painter], data=judged.small.data, store=tmp_path / "store")
        return progress.done, progress.failed

    assert asyncio.run(cell()) == (3, 0)


def test_dir_lists_names_without_importing_them() -> None:
    code = "import limner, sys; print(*dir(limner)); print('limner.api' in sys.modules, 'polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    offered, loaded = done.stdout.splitlines()
    assert loaded == "False False"
    assert set(limner.__all__) <= set(offered.split())
    assert {"run", "scores", "compare", "agree", "table", "plot", "open_store", "show"} <= set(offered.split())
    assert (Path(str(limner.__file__)).parent / "py.typed").exists()
