"""`limner scores --study`, in all its forms."""

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
    """Two painters, three repeats of a good judge, a person on half of the drawings."""
    tmp_path = tmp_path_factory.mktemp("study")
    with Store(tmp_path / "store") as store:
        made = rehearse(tmp_path, store, 80)
        ids = [*made.draw("good", 0.95), *made.draw("poor", 0.6)]
        made.judge("lab/judge", ids, 0.99, 0.97, repeats=3)
        made.study(dict.fromkeys(ids[::2], 0.5))
        made.person("anna", ids[::2], 0.97)
    return tmp_path / "store"


def test_corrected_scores_as_table_json_and_csv(place: Path) -> None:
    words = ("scores", EXAM, "--study", STUDY, "--store", place)
    text = limner(*words).out
    assert "corrected by the study pilot · judge lab/judge" in text
    assert "PPI++" in text
    assert "40 of 80" in text
    assert "every two painters by strict, corrected (PPI++)" in text
    rows = limner(*words, "--format", "json").json()
    found = rows[0]["corrected"]
    assert found.keys() == {"study", "ppi", "differences"}
    assert found["ppi"]["relaxed"].keys() >= {"value", "low", "high", "n", "human"}
    lines = list(csv.DictReader(io.StringIO(limner(*words, "--format", "csv").out)))
    assert {line["method"] for line in lines} == {"raw", "ppi"}
    assert any(line["against"] == "poor" for line in lines)
