"""Numbers of any metric from a table: of drawings and painters, each found, each wrong line named with its fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limner.core.errors import DataError
from limner.evidence.imported import read_metrics
from limner.store import Store
from limner.store.markings import load_painter_metrics, load_ratings
from limner.store.records import Drawing, evaluator_kinds, load_drawings, load_setups
from tests.cli.invoke import limner

HEAD = "id,painter,strategy,seed,metric,value\n"


def drawing(id: str, painter: str, strategy: str = "direct", seed: int = 0, image: str = "") -> Drawing:
    name = f"{id}{painter}{strategy}{seed}"
    return Drawing(name, "exam", id, "h", painter, f"folder/{painter}", strategy, seed, "done", image=image or name)


THERE = [
    drawing("q1", "one"), drawing("q1", "two"), drawing("q1", "two", "rewrite"), drawing("q2", "one"),
    drawing("q2", "one", seed=1),
]  # fmt: skip


def table(folder: Path, rows: str, head: str = HEAD) -> Path:
    file = folder / "numbers.csv"
    file.write_text(head + rows, "utf-8")
    return file


def test_metrics_of_drawings_and_painters_are_read(tmp_path: Path) -> None:
    rows = (
        "q1,one,,,aesr1,62.39\nq1,two,rewrite,,aesr1,-1.5\nq2,one,,1,clip,0\n,one,,,fid,101.5\n,two,rewrite,0,fid,3\n"
    )
    found = read_metrics(table(tmp_path, rows), "exam", THERE)
    assert {(row.drawing, row.scale, row.value) for row in found.ratings} == {
        ("q1onedirect0", "aesr1", 62.39), ("q1tworewrite0", "aesr1", -1.5), ("q2onedirect1", "clip", 0.0),
    }  # fmt: skip
    assert {(row.painter, row.strategy, row.seed, row.value) for row in found.painters} == {
        ("one", None, None, 101.5), ("two", "rewrite", 0, 3.0),
    }  # fmt: skip
    assert found.names == ["aesr1", "clip", "fid"]
    assert all(setup["source"].startswith("csv:numbers.csv#") for setup in found.setups.values())


def test_image_shared_by_two_painters_is_two_drawings(tmp_path: Path) -> None:
    there = [drawing("q", "one", image="same"), drawing("q", "two", image="same")]
    found = read_metrics(table(tmp_path, "q,,,,m,1\n"), "exam", there)
    assert len(found.ratings) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q1,two,,,m,1\n", "numbers.csv:2: id q1: 'q1': 2 drawings fit; add the column strategy"),
        ("q1,three,,,m,1\n", "no drawing in the store with painter 'three'; choose from: one, two"),
        ("q1,one,,,m,high\n", "value: 'high' is not a number; leave out rows without one"),
        (
            "q1,one,,,,1\n",
            "id q1: the columns are id,painter,strategy,seed,metric,value; this row has id, painter, value",
        ),
        ("q1,one,,,a b,1\n", "metric: 'a b' is not a name"),
        (",,,,m,1\n", "a row without an id needs a painter; choose from: one, two"),
        (",one,svg,,m,1\n", "one has no drawing by the strategy 'svg'; leave it empty for all of them"),
        (",one,,7,m,1\n", "one has no drawing with seed '7'"),
        ("q1,one,,,m,1\nq1,one,direct,0,m,2\n", "line 2 says 1 of the same; remove one of them"),
        ("", "this file has no row"),
    ],
)
def test_invalid_row_is_reported_with_file_and_fix(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_metrics(table(tmp_path, rows), "exam", THERE)
    assert message in str(caught.value)
    assert "numbers.csv" in str(caught.value)


def test_invalid_header_is_rejected(tmp_path: Path) -> None:
    for head, row, message in (
        ("id,painter,value\n", "q1,one,1\n", "the columns are id,painter,strategy,seed,metric,value"),
        ("id,painter,metric,value,value\n", "q1,one,m,1,1\n", "has two columns 'value'"),
        ("id,painter,metric,value,score\n", "q1,one,m,1,1\n", "this row has id, painter, metric, value, score"),
    ):
        with pytest.raises(DataError, match=message):
            read_metrics(table(tmp_path, row, head), "exam", THERE)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200))
def test_any_text_is_read_or_rejected_with_file_name(tmp_path: Path, rows: str) -> None:
    file = tmp_path / "numbers.csv"
    file.write_bytes((HEAD + rows).encode("utf-8", "replace"))
    try:
        read_metrics(file, "exam", THERE)
    except DataError as error:
        assert "numbers.csv" in str(error)  # noqa: PT017


@pytest.mark.slow
def test_command_stores_metrics_as_evaluators(tmp_path: Path) -> None:
    store = tmp_path / "store"
    limner("draw", "sample/genexam", "--painter", "control/blank", "--store", store)
    with Store(store) as opened:
        id = next(each.question_id for each in load_drawings(opened, "sample/genexam"))
    file = table(tmp_path, f"{id},control/blank,,,aesr1,12.5\n,control/blank,,,fid,88\n")
    words = ("evidence", "sample/genexam", "--store", store, "--metric")
    output = limner(*words, file, "--dry-run").err
    assert "aesr1, fid: 1 values of drawings and 1 of painters" in output
    with Store(store) as opened:
        assert not list(load_ratings(opened, "sample/genexam"))
    for _ in range(2):
        assert limner(*words, f"lab={file}", "--format=json").json() == {
            "metrics": ["aesr1", "fid"],
            "drawings": 1,
            "painters": 1,
        }
    with Store(store) as opened:
        (rating,), (number,) = load_ratings(opened, "sample/genexam"), load_painter_metrics(opened, "sample/genexam")
        assert (rating.value, rating.scale, number.value) == (12.5, "aesr1", 88)
        assert evaluator_kinds(opened)[rating.setup] == "metric"
        assert load_setups(opened)[number.setup] == {"judge": "metric/fid", "source": "csv:lab"}
    bad = table(tmp_path, f"{id},control/blank,,,m,x\n")
    assert "numbers.csv:2: id" in limner(*words, bad, code=None).err
