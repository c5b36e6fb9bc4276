"""Commands that read a store: scores, export, show. They need the store alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars
import pytest

from limner.store import Store
from tests.cli.conftest import Marked
from tests.cli.invoke import limner
from tests.conformance.verdicts import Verdict, means, verdicts, write_replay
from tests.scoring.compare.desk import Desk
from tests.support import SmallExam, picture, write_exam

KEYS = {"exam", "reading", "painter", "judge", "n", "coverage", "failures", "scores", "by"}


def verdict(marked: Marked, painter: str, id: str) -> Verdict:
    return next(one for one in marked.sets[painter] if one.row["id"] == id)


def test_scores_as_json(marked: Marked) -> None:
    output = limner("scores", "genexam", "--store", marked.store, "--by", "subject", "--format", "json").json()
    assert [standing["painter"] for standing in output] == ["one", "two"]
    for standing in output:
        assert set(standing) >= KEYS
        assert (standing["exam"], standing["reading"], standing["judge"]) == ("genexam", "careful", marked.judge)
        assert set(standing["by"]) == {"subject"}
        for interval in standing["scores"].values():
            assert set(interval) == {"value", "low", "high", "n"}
    one, two = output
    assert (one["n"], one["coverage"], one["failures"]) == (4, 1.0, {})
    assert (two["n"], two["coverage"], two["failures"]) == (3, 0.75, {"missing": 1})
    assert means(marked.sets["two"][:3])["relaxed"].agrees(two["scores"]["relaxed"]["value"])
    assert one["common"]["n"] == two["common"]["n"] == 3
    assert means(marked.sets["one"][:3])["relaxed"].agrees(one["common"]["scores"]["relaxed"]["value"])


def test_scores_as_table(marked: Marked) -> None:
    out = limner("scores", "genexam", "--store", marked.store, "--by", "difficulty").out
    assert f"genexam · judge {marked.judge} (not examined) · reading careful" in out
    assert "compared on the 3 questions that all painters have" in out
    assert "1 missing" in out
    assert "variant release" not in out
    assert "strict by difficulty" in out
    words = ("--by", "difficulty", "--detail", "--notes")
    out = limner("scores", "genexam", "--store", marked.store, *words).out
    assert "variant release, options reference=image" in out
    assert "one by difficulty · on the 3 common questions" in out
    assert "two by difficulty" in out


def test_scores_of_selected_painters_judges_and_questions(marked: Marked) -> None:
    words = ("--store", marked.store, "--format", "json")
    (standing,) = limner("scores", "genexam", *words, "--painter", "two", "--judge", marked.judge).json()
    assert (standing["painter"], standing["common"]) == ("two", None)
    (alias,) = limner("scores", "genexam", *words, "--painter", "two=folder/elsewhere").json()
    assert alias == standing
    one, _ = limner("scores", "genexam", *words, "--where", "subject=Biology").json()
    assert one["n"] == 2


@pytest.mark.parametrize("command", [["scores", "genexam"], ["export", "genexam"], ["show", "genexam", "Biology_0"]])
def test_missing_store_or_exam_is_reported(marked: Marked, command: list[str]) -> None:
    assert "no store at nowhere" in limner(*command, "--store", "nowhere", code=1).err
    assert not Path("nowhere").exists()
    command[1] = "genexom"
    assert "has no exam 'genexom'; it has: genexam" in limner(*command, "--store", marked.store, code=1).err


def test_scores_and_export_of_unmarked_store(marked: Marked) -> None:
    drawn = ("--painter", f"mine=folder/{marked.small.drawings}", "--data", marked.small.data)
    limner("draw", "genexam", *drawn, "--limit", "1", "--store", "new")
    assert "nothing is marked yet" in limner("scores", "genexam", "--store", "new").out
    assert limner("scores", "genexam", "--store", "new", "--format", "json").json() == []
    assert limner("export", "genexam", "--store", "new").out == ""


def check_rows(marked: Marked, rows: list[dict[str, Any]]) -> None:
    assert {(row["painter"], row["id"]) for row in rows} == {
        (painter, id) for painter in ("one", "two") for id in marked.small.ids
    }
    for row in rows:
        if row["status"] == "done":
            expected = verdict(marked, row["painter"], row["id"])
            assert row["scores.relaxed"] == round(expected.relaxed * 100, 1)
            assert list(json.loads(row["marks"]).values()) == [*expected.answers, *expected.ratings.values()]
            assert row["tags.subject"] == expected.row["subject"]
        else:
            assert (row["painter"], row["id"], row["status"]) == ("two", marked.small.ids[3], "missing")
            assert row["scores.relaxed"] in (None, "")


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """A JSON row with the columns of a table."""
    found = {key: value for key, value in row.items() if not isinstance(value, dict)}
    for key in ("scores", "tags"):
        found |= {f"{key}.{name}": value for name, value in row[key].items()}
    return {"scores.relaxed": None, **found, "marks": json.dumps(row["marks"])}


@pytest.mark.parametrize("to_file", [False, True], ids=["stdout", "file"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_export(marked: Marked, form: str, to_file: bool) -> None:
    words = ["--output", "deep/er/rows"] if to_file else []
    output = limner("export", "genexam", "--store", marked.store, "--format", form, *words)
    data = Path("deep/er/rows").read_bytes() if to_file else output.raw
    assert not (to_file and output.raw)
    if form == "jsonl":
        rows = [flat(json.loads(line)) for line in data.decode().splitlines()]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(data.decode())))
        for row in rows:
            row["scores.relaxed"] = float(row["scores.relaxed"]) if row["scores.relaxed"] else None
    else:
        rows = polars.read_parquet(io.BytesIO(data)).to_dicts()
    check_rows(marked, rows)


def test_without_polars_parquet_is_refused_at_once(tmp_path: Path, no_polars: None) -> None:
    result = limner("export", "genexam", "--store", "nowhere", "--format", "parquet", code=2)
    assert "--format parquet needs polars; install it with: pip install 'limner[parquet]'" in " ".join(
        result.err.split()
    )
    data = tmp_path / "test.parquet"
    data.write_bytes(b"")
    words = ("run", "mmmg", "--data", data, "--painter", "control/blank", "--judge", "ocr", "--store", "fresh")
    result = limner(*words, code=2)
    assert "needs polars; install it with: pip install 'limner[parquet]'" in " ".join(result.err.split())
    assert not Path("fresh").exists()


def test_drawings_are_exported_without_any_judge(small_exam: SmallExam, tmp_path: Path) -> None:
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', {'mine': verdicts(small_exam.rows, 5)})}"
    drawn = ("--data", small_exam.data, "--painter", f"mine=folder/{small_exam.drawings}", "--painter", "control/blank")
    limner("draw", "genexam", *drawn, "--store", "fresh")
    result = limner("export", "genexam", "--store", "fresh", "--images", "out")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert f"{len(rows)} images in out" in result.err
    assert {(row["painter"], row["judge"], row["evaluator"], row["status"], row["common"]) for row in rows} == {
        (painter, None, None, "unmarked", False) for painter in ("mine", "control/blank")
    }
    assert all(row["scores"] == {} and row["image"] for row in rows)
    assert len(list(Path("out/mine").rglob("*.png"))) == len(small_exam.ids)
    # One painter is marked: the other is exported all the same, but not where a judge is asked for.
    limner("mark", "genexam", "--judge", judge, "--painter", "mine", "--store", "fresh")
    judges = {row["painter"]: row["judge"] for row in exported("fresh", "--images", "out")}
    assert judges == {"mine": judge, "control/blank": None}
    assert {row["painter"] for row in exported("fresh", "--images", "out", "--judge", judge)} == {"mine"}
    assert {row["painter"] for row in exported("fresh")} == {"mine"}
    assert "control/blank" not in limner("scores", "genexam", "--store", "fresh").out


def exported(store: str, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in limner("export", "genexam", "--store", store, *words).out.splitlines()]


def test_images_are_exported(marked: Marked) -> None:
    result = limner("export", "genexam", "--store", marked.store, "--images", "images", "--output", "rows.jsonl")
    assert "7 images in images" in result.err
    found = {path.relative_to("images").as_posix(): path.read_bytes() for path in Path("images").rglob("*.png")}
    expected = {f"one/{id}.png": picture(n) for n, id in enumerate(marked.small.ids)}
    expected |= {f"two/{id}.png": picture(n) for n, id in enumerate(marked.small.ids[:3])}
    assert found == expected


def test_export_to_unwritable_path_is_reported(marked: Marked, tmp_path: Path) -> None:
    result = limner("export", "genexam", "--store", marked.store, "--output", tmp_path, code=1)
    assert result.err.startswith("limner: ")
    assert "Is a directory" in result.err


def test_show(marked: Marked) -> None:
    id = marked.small.ids[3]
    out = " ".join(limner("show", "genexam", id, "--store", marked.store).out.split())
    assert f"{id} · genexam" in out
    assert marked.small.rows[3]["prompt"] in out
    assert "drawing by one: 8 x 8" in out
    assert "drawing by two: missing: " in out
    assert f"one marked by {marked.judge}: strict" in out
    assert "Does part 1 of figure 3 stand where it belongs? (0.5)" in out
    assert f"two marked by {marked.judge}: missing" in out
    only = limner("show", "genexam", id, "--store", marked.store, "--painter", "one").out
    assert "two" not in only


def test_show_as_json(marked: Marked) -> None:
    id = marked.small.ids[0]
    body = limner("show", "genexam", id, "--store", marked.store, "--format=json").json()
    expected = verdict(marked, "one", id)
    assert (body["exam"], body["id"], body["prompt"]) == ("genexam", id, expected.row["prompt"])
    assert [drawing["painter"] for drawing in body["drawings"]] == ["one", "two"]
    (first,) = [marking for marking in body["markings"] if marking["painter"] == "one"]
    assert first["scores"]["relaxed"] == round(expected.relaxed * 100, 1)
    assert [one["value"] for one in first["marks"]] == [*expected.answers, *expected.ratings.values()]
    assert first["marks"][0]["reason"] == "point 1"
    assert [criterion["weight"] for criterion in body["criteria"][:3]] == [0.5, 0.3, 0.2]


def reading() -> list[tuple[str, ...]]:
    return [
        ("scores", "genexam", "--by", "subject"),
        ("scores", "genexam", "--format", "json"),
        ("export", "genexam"),
        ("show", "genexam", "Biology_0"),
        ("show", "genexam", "Biology_0", "--format=json"),
    ]


LINE = "This judge passes wrong drawings: another question's drawing scores 92.3, the reference 100.0."
FAIR, BLIND = "fair", "blind"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two painters and two controls under a judge that sees and one that does not; shared, so only to be read."""
    folder = tmp_path_factory.mktemp("blind") / "store"
    with Store(folder) as store:
        desk = Desk(store, "sample/genexam")
        for n, question in enumerate(desk.exam.questions):
            nothing, everything = (desk.marks(question, lambda top, of=of: top * of) for of in (0, 1))  # type: ignore[misc]
            for painter, right in (("alpha", n < 9), ("beta", n < 3), ("control/reference", True)):
                for judge in (FAIR, BLIND):
                    desk.put(painter, question, everything if right else nothing, judge=judge)
            desk.put("control/shuffled", question, nothing, judge=FAIR)
            desk.put("control/shuffled", question, everything if n else nothing, judge=BLIND)
        other = Desk(store, "sample/fepbench")
        for question in other.exam.questions:
            for painter in ("alpha", "beta"):
                other.put(painter, question, other.random(question, 0.5, painter), judge=BLIND)
    return folder


def said(stored: Path, *words: str) -> str:
    """What a command prints about the sample, without its line breaks."""
    return " ".join(limner(*words, "--store", stored).out.split())


@pytest.mark.parametrize("more", [(), ("--painter", "alpha")])
def test_scores_warns_of_lenient_judge(stored: Path, more: tuple[str, ...]) -> None:
    assert said(stored, "scores", "sample/genexam", "--judge", BLIND, *more).count(LINE) == 1
    assert "passes wrong" not in said(stored, "scores", "sample/genexam", "--judge", FAIR, *more)


@pytest.mark.parametrize("more", [(), ("--score", "relaxed")])
def test_compare_warns_of_lenient_judge(stored: Path, more: tuple[str, ...]) -> None:
    assert said(stored, "compare", "sample/genexam", "--judge", BLIND, *more).count(LINE) == 1
    assert "passes wrong" not in said(stored, "compare", "sample/genexam", "--judge", FAIR, *more)


@pytest.mark.parametrize("form", ["table", "html"])
def test_table_warns_of_lenient_judge(stored: Path, form: str) -> None:
    words = ("table", "genexam:table2", "--exam", "sample/genexam", "--no-published", "--format", form)
    warning = "passes wrong drawings: another question"
    assert said(stored, *words).count(warning) == 1
    assert said(stored, *words, "--judge", BLIND, "--painter", "alpha").count(warning) == 1
    assert warning not in said(stored, *words, "--judge", FAIR)


def test_lenient_judge_warning_for_several_exams(stored: Path) -> None:
    words = ("compare", "--exams", "sample/genexam,sample/fepbench", "--judge", BLIND)
    assert said(stored, *words).count(f"sample/genexam: {LINE}") == 1
    first, second = json.loads(said(stored, *words, "--format", "json"))["exams"]
    assert first["passes_wrong_drawings"]["words"] == LINE
    assert second["passes_wrong_drawings"] is None


def test_run_ends_with_lenient_judge_warning(tmp_path: Path) -> None:
    """Warn after a run of one painter too, if the controls were drawn in an earlier run."""
    small = write_exam(tmp_path, 10)
    rows = verdicts(small.rows, 5)
    names = ("control/reference", "control/shuffled", "mine")
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', dict.fromkeys(names, rows))}"
    asked = ("--data", small.data, "--judge", judge, "--store", tmp_path / "store")
    both = limner("run", "genexam", "--painter", names[0], "--painter", names[1], *asked).out
    alone = limner("run", "genexam", "--painter", f"mine=folder/{small.drawings}", *asked).out
    strict = 10 * sum(row.strict for row in rows)
    line = f"another question's drawing scores {strict:.1f}, the reference {strict:.1f}."
    assert strict > 0
    assert line in " ".join(both.split())
    assert line in " ".join(alone.split())
