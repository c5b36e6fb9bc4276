"""`limner scores --study` and `limner advise`, in all their forms."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from limner.store import Store
from tests.cli.invoke import limner
from tests.rehearsal import EXAM, STUDY, rehearse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two painters, three repeats of a good judge, three people on half of the drawings."""
    tmp_path = tmp_path_factory.mktemp("study")
    with Store(tmp_path / "store") as store:
        made = rehearse(tmp_path, store, 80)
        ids = [*made.draw("good", 0.95), *made.draw("poor", 0.6)]
        made.judge("lab/judge", ids, 0.99, 0.97, repeats=3)
        made.study(dict.fromkeys(ids[::2], 0.5))
        for name in ("anna", "ben", "cleo"):
            made.person(name, ids[::2], 0.97)
    return tmp_path / "store"


def test_scores_as_table_json_and_csv(place: Path) -> None:
    words = ("scores", EXAM, "--study", STUDY, "--store", place)
    text = limner(*words).out
    assert "corrected by the study pilot · judge lab/judge" in text
    assert "PPI++" in text
    assert "40 of 80" in text
    assert "every two painters by strict, corrected (PPI++)" in text
    rows = limner(*words, "--format", "json").json()
    found = rows[0]["corrected"]
    assert {"ppi", "rogan_gladen"} <= found.keys()
    assert found["ppi"]["relaxed"].keys() >= {"value", "low", "high", "n", "human"}
    assert found["rogan_gladen"]["relaxed"]["human"] == 80
    lines = list(csv.DictReader(io.StringIO(limner(*words, "--format", "csv").out)))
    assert {line["method"] for line in lines} == {"raw", "ppi", "rogan_gladen"}
    assert any(line["against"] == "poor" for line in lines)


def test_a_study_that_is_not_there(place: Path) -> None:
    said = limner("scores", EXAM, "--study", "none", "--store", place, code=None)
    assert said.code != 0
    assert "no study 'none'; there is: pilot" in said.err


def test_advice_says_it_in_sentences(place: Path) -> None:
    words = ("advise", EXAM, "--study", STUDY, "--score", "relaxed", "--store", place)
    text = " ".join(limner(*words).out.split())
    assert "lab/judge may replace a person here: omega 1.00, at least 0.5" in text
    assert "(eps 0.15, n = 80 drawings)" in text
    assert "lab/judge decides alone where its confidence (agreement of repeats) is" in text
    assert "at least 90% of the time, 95% certain" in text
    assert "buy next: twice the" in text
    (found,) = limner(*words, "--format", "json").json()
    assert found["alternative"]["omega"] == 1.0
    assert found["judge"]["variances"].keys() >= {"painter", "question", "painter and question", "judge repeat"}
    assert found["people"]["variances"].keys() >= {"rater", "rater and painter", "rater and drawing"}
    assert found["threshold"]["at_least"] >= 0.9
    assert found["decides"] > 100
    lines = list(csv.DictReader(io.StringIO(limner(*words, "--format", "csv").out)))
    assert {"alternative", "threshold", "variance judge", "variance people"} <= {line["about"] for line in lines}


def test_advice_on_a_score_that_is_not_there(place: Path) -> None:
    said = limner("advise", EXAM, "--study", STUDY, "--score", "beauty", "--store", place, code=2)
    assert "--score beauty: there is: strict" in said.err
