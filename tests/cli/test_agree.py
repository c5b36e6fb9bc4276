"""`limner agree`: judges on the same drawings; needs the store alone."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from limner.store.open import open_store
from tests.cli.conftest import Marked
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.fakes import ChatServer
from tests.scoring.compare.studied import STUDY, Studied
from tests.support import JUDGE, write_exam, write_settings


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
def test_as_json(judged: tuple[Path, list[str]]) -> None:
    store, judges = judged
    found = limner("agree", "genexam", "--store", store, "--format", "json").json()
    assert [judge["name"] for judge in found["judges"]] == judges
    pairs = {(pair["first"], pair["second"]): pair for pair in found["pairs"] if "marks" in pair}
    same, other = pairs[judges[0], judges[1]], pairs[judges[0], judges[2]]
    assert same["marks"]["all"]["same"]["value"] == 1
    assert same["icc"]["ICC(2,1)"]["value"] == pytest.approx(1)
    assert same["order"]["kendall"]["value"] == 1
    assert same["order"]["shift"] == 0
    assert other["marks"]["all"]["same"]["value"] < 1
    assert other["marks"]["all"]["n"] == same["marks"]["all"]["n"]
    assert set(other["marks"]) >= {"all", "point", "spelling"}
    assert found["alpha"]["all"]["nominal"]["value"] < 1


@pytest.mark.slow
def test_only_these_judges(judged: tuple[Path, list[str]]) -> None:
    store, judges = judged
    for words in (("--judges", f"{judges[0]},{judges[2]}"), ("--judge", judges[0], "--judge", judges[2])):
        found = limner("agree", "genexam", "--store", store, "--format", "json", *words).json()
        assert [judge["name"] for judge in found["judges"]] == [judges[0], judges[2]]
    said = limner("agree", "genexam", "--store", store, "--judges", "x,y", code=2).err
    assert "no judge 'x' in this store" in said


@pytest.mark.slow
def test_as_tables_and_csv(judged: tuple[Path, list[str]]) -> None:
    store, judges = judged
    out = limner("agree", "genexam", "--store", store, "--score", "relaxed").out
    for words in ("genexam · judges · reading careful", "mark by mark", "Cohen's kappa", "ICC(2,1)",
                  "all 3 judges together", "score: relaxed", "no flip rate"):  # fmt: skip
        assert words in out
    rows = list(csv.DictReader(io.StringIO(limner("agree", "genexam", "--store", store, "--format", "csv").out)))
    kappa = [row for row in rows if (row["first"], row["second"], row["sort"], row["measure"]) ==
             (judges[0], judges[1], "all", "kappa")]  # fmt: skip
    assert [float(row["value"]) for row in kappa] == [pytest.approx(1)]
    assert "### the same drawings, mark by mark" in limner("agree", "genexam", "--store", store, "--format", "md").out


@pytest.mark.slow
def test_one_judge_is_told_alone(marked: Marked) -> None:
    out = limner("agree", "genexam", "--store", marked.store).out
    assert "one judge, asked in one way: nobody to compare it with" in out
    assert "mark by mark" not in out


@pytest.mark.slow
def test_variants_repeats_cost_and_time(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One judge asked in two ways, twice each: two raters, with a flip rate, dollars and seconds."""
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    small = write_exam(tmp_path, 2)
    words = ("--painter", f"mine=folder/{small.drawings}", "--judge", JUDGE, "--repeats", "2", "--store", "s")
    for variant in ("release", "paper"):
        limner("run", "genexam", "--data", small.data, *words, "--variant", variant)
    found = limner("agree", "genexam", "--store", "s", "--format", "json").json()
    assert [judge["name"] for judge in found["judges"]] == ["judge · paper", "judge · release"]
    for judge in found["judges"]:
        assert (judge["drawings"], judge["markings"]) == (2, 4)
        assert judge["flips"]["n"] > 0
        assert judge["cost_per_image"]["value"] > 0
        assert 0 < judge["seconds_per_image"]["value"] < 60
    assert found["pairs"][0]["marks"]["all"]["n"] > 0
    out = limner("agree", "genexam", "--store", "s").out
    assert "flips: percent of marks on which two repeats of the same marking differ" in out


@pytest.mark.slow
def test_people_and_metrics(tmp_path: Path) -> None:
    """A judge beside people, with the ceiling, in text, Markdown, CSV and JSON."""
    with open_store(tmp_path / "store", create=True) as store:
        Studied(store)
    asked = ("agree", "sample/genexam", "--store", tmp_path / "store", "--study", STUDY)
    out = limner(*asked, "--judge", "gpt", "--by", "painter").out
    for words in ("drawing by drawing", "painter by painter", "marks compared with people's", "AC1",
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
    said = limner("agree", "sample/genexam", "--store", tmp_path / "store", "--study", "x", code=2).err
    assert "sample/genexam has no such study; there is: pilot" in said
    scores = limner("scores", "sample/genexam", "--store", tmp_path / "store", "--format", "json").json()
    assert {row["judge"] for row in scores} == {"gpt", "other"}
    table = limner(
        "table", "genexam:table3b", "--store", tmp_path / "store", "--exam", "sample/genexam", "--study", STUDY
    )
    assert "relaxed by gpt" in table.out
