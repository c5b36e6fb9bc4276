"""Whether a judge may replace a person of a study, as `limner agree` and Python say it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.scoring.compare.people import Replacement
from limner.store import Store
from tests.cli.invoke import limner
from tests.rehearsal import EXAM, STUDY, rehearse

pytestmark = pytest.mark.slow
REASON = "2 of 2 people have marked 30 drawings that another marked too; the test needs 3"


def _studied(folder: Path, people: Sequence[str]) -> Path:
    """Make a good and a poor judge of 80 drawings, half of which people marked too."""
    with Store(folder / "store") as store:
        made = rehearse(folder, store, 40)
        ids = [*made.draw("strong", 0.9), *made.draw("weak", 0.6)]
        made.judge("lab/good", ids, 0.99, 0.97)
        made.judge("lab/poor", ids, 0.8, 0.5)
        made.study(dict.fromkeys(ids[::2], 0.5))
        for name in people:
            made.person(name, ids[::2], 0.97)
    return folder / "store"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _studied(tmp_path_factory.mktemp("three"), ("anna", "ben", "cleo"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _studied(tmp_path_factory.mktemp("two"), ("anna", "ben"))


def _tests(place: Path, **how: Any) -> dict[str, Replacement]:
    return {each.judge: each for each in api.agree(EXAM, store=place, **how).replacements}


def test_good_judge_may_replace_person_and_poor_one_may_not(place: Path) -> None:
    tests = _tests(place)
    assert tests.keys() == {"lab/good", "lab/poor"}
    good, poor = tests["lab/good"].test, tests["lab/poor"].test
    assert (good.win_rate, good.passes, good.n, good.reason) == (1.0, True, 40, None)
    assert (poor.win_rate, poor.passes) == (0.0, False)
    assert [each.person for each in good.people] == ["person/anna", "person/ben", "person/cleo"]
    assert tests == _tests(place, study=STUDY)


def test_replacement_sentence_is_shown_in_text_json_and_csv(place: Path) -> None:
    words = ("agree", EXAM, "--store", place)
    good = "lab/good is shown to be about as good as one person of pilot in 3 of 3 comparisons: correct its scores by "
    good += "limner scores --study pilot."
    poor = "lab/poor is shown to be about as good as one person of pilot in 0 of 3 comparisons: do not use it alone; "
    poor += "correct its scores by limner scores --study pilot, or try another judge."
    text = " ".join(limner(*words).out.split())
    assert good in text
    assert poor in text
    rows = limner(*words, "--format", "json").json()["replacements"]
    assert [(row["judge"], row["study"], row["sentence"]) for row in rows] == [
        ("lab/good", STUDY, good),
        ("lab/poor", STUDY, poor),
    ]
    assert rows[0]["test"].keys() == {"win_rate", "advantage", "eps", "n", "passes", "people"}
    assert rows[0]["test"]["win_rate"] == 1.0
    lines = list(csv.DictReader(io.StringIO(limner(*words, "--format", "csv").out)))
    rates = {(line["first"], line["second"]): line["value"] for line in lines if line["measure"] == "win_rate"}
    assert rates == {("lab/good", "people/pilot"): "1.0", ("lab/poor", "people/pilot"): "0.0"}


def test_two_people_are_too_few_for_replacement_test(pair: Path) -> None:
    assert "alternative-annotator" not in limner("agree", EXAM, "--store", pair).out
    rows = limner("agree", EXAM, "--store", pair, "--format", "json").json()["replacements"]
    blank = {"study": STUDY, "sentence": None, "test": None, "reason": REASON}
    assert rows == [{"judge": "lab/good", **blank}, {"judge": "lab/poor", **blank}]
