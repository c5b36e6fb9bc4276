"""`limner compare`: painters of a store, and exams of a store; needs the store alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.cli.conftest import Marked
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.support import write_exam


def test_as_json(marked: Marked) -> None:
    (found,) = limner("compare", "genexam", "--store", marked.store, "--format", "json").json()
    assert (found["exam"], found["judge"], found["score"]["name"]) == ("genexam", marked.judge, "strict")
    assert found["questions"] == 3
    standings = limner("scores", "genexam", "--store", marked.store, "--format", "json").json()
    values = {place["painter"]: place["score"] for place in found["places"]}
    assert values == {standing["painter"]: standing["common"]["scores"]["strict"] for standing in standings}
    (pair,) = found["pairs"]
    gap = values[pair["first"]]["value"] - values[pair["second"]]["value"]
    assert pair["difference"]["value"] == gap
    two = next(place for place in found["places"] if place["painter"] == "two")
    assert (two["coverage"], two["failures"]) == (0.75, {"missing": 1})


def test_as_a_table(marked: Marked) -> None:
    out = limner("compare", "genexam", "--store", marked.store, "--score", "relaxed").out
    head = f"genexam · judge {marked.judge} (not examined) · reading careful · relaxed"
    assert "".join(f"{head} · 3 questions that all painters have".split()) in "".join(out.split())
    for words in ("1st to 2nd", "75%", "every two painters, the better one first · 1 test", "not distinguishable"):
        assert words in out
    assert "too few to tell" in out or "you would need about" in out
    wide = limner("compare", "genexam", "--store", marked.store, "--score", "relaxed", "--gap", "10").out
    assert "at a gap of 10.0 you would need about" in wide
    assert "questions (power 0.8, alpha 0.05); there are 3" in wide


def test_as_csv(marked: Marked) -> None:
    words = ("--by", "subject", "--score", "relaxed", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(limner("compare", "genexam", "--store", marked.store, *words).out)))
    assert {row["category"] for row in rows} == {"Biology", "Mathematics", "Physics"}
    assert {row["row"] for row in rows} == {"painter", "pair"}
    pairs = [row for row in rows if row["row"] == "pair"]
    for pair in pairs:
        sides = {row["painter"]: float(row["value"]) for row in rows if row["category"] == pair["category"]
                 and row["row"] == "painter"}  # fmt: skip
        assert float(pair["value"]) == sides[pair["painter"]] - sides[pair["other"]]
        assert float(pair["p"]) <= float(pair["p_holm"]) <= 1


def test_one_painter_alone(marked: Marked) -> None:
    out = limner("compare", "genexam", "--store", marked.store, "--painter", "one").out
    assert "one painter: there is nobody to compare it with" in out
    assert "every two painters" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name one EXAM, or several with --exams"),
        (["genexam", "--exams", "genexam,mmmg"], "name one EXAM, or several with --exams"),
        (["--exams", "genexam"], "--exams takes two exams or more"),
        (["--exams", "genexam,mmmg", "--by", "subject"], "--by goes with one EXAM"),
        (["--exams", "genexam,mmmg", "-O", "reference=none"], "-O goes with one EXAM"),
        (["genexam", "--score", "colour"], "--score colour: there is: strict"),
        (["genexam", "--by", "colour"], "--by colour: there is: difficulty"),
        (["genexam", "--gap", "-1"], "a gap must be above 0"),
        (["genexam", "--judge", "nobody"], "no judge 'nobody' in this store"),
    ],
)
def test_wrong_words(marked: Marked, words: list[str], said: str) -> None:
    assert said in limner("compare", *words, "--store", marked.store, code=2).err


@pytest.fixture
def two_exams(tmp_path: Path) -> Path:
    """The same three painters in two exams, in two orders."""
    store = tmp_path / "both"
    for name, seeds in (("first", (5, 6, 7)), ("second", (6, 5, 8))):
        small = write_exam(tmp_path / name, 4)
        (tmp_path / name / "exam.toml").write_text(f'name = "{name}"\nkind = "genexam"\ndata = "data"\n', "utf-8")
        sets = {f"p{place}": verdicts(small.rows, seed) for place, seed in enumerate(seeds)}
        judge = f"replay/{write_replay(tmp_path / name / 'replies.jsonl', sets)}"
        painters = [word for painter in sets for word in ("--painter", f"{painter}=folder/{small.drawings}")]
        limner("run", tmp_path / name / "exam.toml", *painters, "--judge", judge, "--store", store)
    return store


@pytest.mark.slow
def test_several_exams(two_exams: Path) -> None:
    words = ("--exams", "first,second", "--score", "relaxed", "--store", two_exams)
    found = limner("compare", *words, "--format", "json").json()
    assert [column["exam"] for column in found["exams"]] == ["first", "second"]
    assert [row["painter"] for row in found["painters"]] == ["p0", "p1", "p2"]
    (pair,) = found["pairs"]
    assert pair["painters"] == 3
    assert -1 <= pair["spearman"]["low"] <= pair["spearman"]["value"] <= pair["spearman"]["high"] <= 1
    out = limner("compare", *words).out
    assert "how alike exams order painters" in out
    assert "first: relaxed, judge replay/" in out
    rows = list(csv.DictReader(io.StringIO(limner("compare", *words, "--format", "csv").out)))
    assert [row["row"] for row in rows] == ["painter"] * 6 + ["spearman", "kendall"]
    assert "### painters in several exams" in limner("compare", *words, "--format", "md").out
