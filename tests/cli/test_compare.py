"""`limner compare`: painters of a store, and exams of a store; needs the store alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from limner.store.store import open_store
from tests.cli.conftest import Marked
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.scoring.compare.studied import STUDY, Studied
from tests.support import write_exam


def test_compare_as_json(marked: Marked) -> None:
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


def test_compare_as_table(marked: Marked) -> None:
    out = limner("compare", "genexam", "--store", marked.store, "--score", "relaxed").out
    head = f"genexam · judge {marked.judge} (not examined) · reading careful · relaxed"
    assert "".join(f"{head} · 3 questions that all painters have".split()) in "".join(out.split())
    assert out.startswith("one and two cannot be told apart on relaxed with 3 questions; about 26 questions would be ")
    for words in ("1st to 2nd", "75%", "the better one first · p corrected over 1 test", "tie"):
        assert words in out
    wide = limner("compare", "genexam", "--store", marked.store, "--score", "relaxed", "--gap", "10").out
    assert "questions would be needed to show a gap of 10.0" in wide


def test_compare_as_csv(marked: Marked) -> None:
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one EXAM, or several with --exams"),
        (["genexam", "--exams", "genexam,mmmg"], "name one EXAM, or several with --exams"),
        (["--exams", "genexam"], "--exams takes two exams or more"),
        (["--exams", "genexam,mmmg", "--by", "subject"], "--by applies to one EXAM"),
        (["--exams", "genexam,mmmg", "-O", "reference=none"], "-O applies to one EXAM"),
        (["genexam", "--score", "colour"], "--score colour: choose from strict"),
        (["genexam", "--by", "colour"], "--by colour: choose from difficulty"),
        (["genexam", "--gap", "-1"], "a gap must be above 0"),
        (["genexam", "--judge", "nobody"], "no judge 'nobody' in this store"),
    ],
)
def test_invalid_arguments_are_usage_errors(marked: Marked, words: list[str], message: str) -> None:
    assert message in limner("compare", *words, "--store", marked.store, code=2).err


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
def test_compare_several_exams(two_exams: Path) -> None:
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


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Path, list[str]]:
    """Three painters of six questions under three judges; two of the judges say the same."""
    small = write_exam(tmp_path, 6)
    seeds = {"one": 5, "two": 6, "three": 7}
    judges = []
    for judge, shift in (("a", 0), ("b", 0), ("c", 10)):
        sets = {painter: verdicts(small.rows, seed + shift) for painter, seed in seeds.items()}
        judges.append(f"replay/{write_replay(tmp_path / f'{judge}.jsonl', sets)}")
    painters = [word for painter in seeds for word in ("--painter", f"{painter}=folder/{small.drawings}")]
    asked = [word for judge in judges for word in ("--judge", judge)]
    limner("run", "genexam", *painters, *asked, "--data", small.data, "--store", tmp_path / "store")
    return tmp_path / "store", judges


@pytest.mark.slow
def test_agreement_as_json(judged: tuple[Path, list[str]]) -> None:
    store, judges = judged
    found = limner("agree", "genexam", "--store", store, "--format", "json").json()
    assert [judge["name"] for judge in found["judges"]] == judges
    numbers = {
        (one["second"], one["unit"], one["score"], one["measure"]): one
        for one in found["pairs"]
        if one["first"] == judges[0] and one["tag"] is None
    }
    same, other = judges[1:]
    assert numbers[same, "drawing", "all", "accuracy"]["value"] == 1
    assert numbers[same, "drawing", "relaxed", "ICC(2,1)"]["value"] == pytest.approx(1)
    assert numbers[same, "painter", "relaxed", "kendall"]["value"] == 1
    assert numbers[same, "painter", "relaxed", "shift"]["value"] == 0
    marks = numbers[other, "drawing", "all", "accuracy"]
    assert marks["value"] < 1
    assert marks["n"] == numbers[same, "drawing", "all", "accuracy"]["n"]
    assert {key[2] for key in numbers if key[3] == "accuracy"} >= {"all", "point", "spelling"}
    together = {(one["score"], one["measure"]): one["value"] for one in found["together"]}
    assert together["all", "alpha_nominal"] < 1


@pytest.mark.slow
def test_agreement_as_tables_and_csv(judged: tuple[Path, list[str]]) -> None:
    store, judges = judged
    assert len(limner("agree", "genexam", "--store", store).out.splitlines()) <= 25
    out = limner("agree", "genexam", "--store", store, "--score", "relaxed", "--detail").out
    for words in ("genexam · judges · reading careful", "mark by mark", "kappa is Cohen's", "ICC(2,1)",
                  "all 3 judges together", "relaxed over 18 drawings", "no flip rate"):  # fmt: skip
        assert words in out
    rows = list(csv.DictReader(io.StringIO(limner("agree", "genexam", "--store", store, "--format", "csv").out)))
    kappa = [row for row in rows if (row["first"], row["second"], row["score"], row["measure"]) ==
             (judges[0], judges[1], "all", "kappa")]  # fmt: skip
    assert [float(row["value"]) for row in kappa] == [pytest.approx(1)]
    assert "### mark by mark" in limner("agree", "genexam", "--store", store, "--format", "md").out


@pytest.mark.slow
def test_agreement_with_people_and_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge beside people, with the ceiling, in text, Markdown, CSV and JSON."""
    with open_store(tmp_path / "store", create=True) as store:
        Studied(store)
    asked = ("agree", "sample/genexam", "--store", tmp_path / "store", "--study", STUDY)
    for columns in ("80", "140"):
        monkeypatch.setenv("COLUMNS", columns)
        short = limner(*asked).out
        assert len(short.splitlines()) <= 25
        assert "how people deviate" not in short
        assert f"among people/{STUDY} on strict: ICC(2,1) " in short
        assert ", std " in short
    # A judge and the ceiling are compared by one score.
    lines = [line.split("│") for line in short.splitlines() if f"people/{STUDY}" in line and "│" in line]
    assert {line[1].strip(): line[3].strip() for line in lines} == {
        "gpt": "strict", "other": "strict", "metric/clip": "clip / strict", "one person (ceiling)": "strict",
    }  # fmt: skip
    out = limner(*asked, "--judge", "gpt", "--by", "painter").out
    for words in ("drawing by drawing", "painter by painter", "mark by mark", "AC1",
                  "one person (ceiling)", "how people deviate from each other", "p (Spearman)"):  # fmt: skip
        assert words in out, words
    # Names may be folded in a narrow table, not in Markdown.
    out = limner(*asked, "--judge", "gpt", "--by", "painter", "--format", "md").out
    for words in ("### drawing by drawing", "relaxed / overall", "painter fair"):
        assert words in out, words
    rows = list(csv.DictReader(io.StringIO(limner(*asked, "--judge", "gpt", "--format", "csv").out)))
    found = limner(*asked, "--judge", "gpt", "--format", "json").json()
    assert len([row for row in rows if row["unit"]]) == len(found["pairs"])
    (tau,) = [
        row
        for row in found["pairs"]
        if (row["first"], row["second"], row["unit"], row["tag"]) == ("gpt", f"people/{STUDY}", "drawing", None)
        and (row["score"], row["measure"]) == ("relaxed / overall", "kendall")
    ]
    assert tau["n"] == 39
    assert tau["low"] < tau["value"] < tau["high"]
    assert 0 < tau["p"] <= 1
    named = limner("agree", "sample/genexam", "--store", tmp_path / "store", "--judges", f"person/anna,people/{STUDY}")
    assert "person/anna" in named.out
    output = limner("agree", "sample/genexam", "--store", tmp_path / "store", "--study", "x", code=2).err
    assert "sample/genexam has no such study; it has: pilot" in output
    scores = limner("scores", "sample/genexam", "--store", tmp_path / "store", "--format", "json").json()
    assert {row["judge"] for row in scores} == {"gpt", "other"}
    table = limner(
        "table", "genexam:table3b", "--store", tmp_path / "store", "--exam", "sample/genexam", "--study", STUDY
    )
    assert "relaxed by gpt" in table.out
