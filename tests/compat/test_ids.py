"""Keys and ids are what they were: else nothing that is stored would be found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.store import Store
from tests.compat import ids, runs

KEPT = runs.V1 / "ids"


@pytest.mark.parametrize("name", ids.COMPUTED)
def test_every_kept_pair_is_computed_alike(name: str) -> None:
    rows = ids.read(KEPT, name)
    assert len({row["id"] for row in rows}) > 0.9 * len(rows) == 0.9 * ids.COUNT
    wrong = [row for row in rows if ids.COMPUTED[name](row["given"]) != row["id"]]
    assert not wrong, f"{len(wrong)} of {len(rows)} have another id, such as that of {wrong[0]}"


@pytest.mark.slow
def test_every_way_of_asking_comes_to_the_same_setup(to_read: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(to_read)
    rows = [row for row in ids.read(KEPT, "setup") if "asked" in row]
    assert len({row["asked"]["exam"] for row in rows}) == 5
    with Store(runs.STORE) as store:
        for row in rows:
            found = ids.asked(row["asked"], store, [runs.WORDING])
            assert found == row["given"], row["asked"]
            assert ids.setup(found) == row["id"]


@pytest.mark.slow
def test_newer_prompts_change_the_wordings_hash_and_nothing_else(
    to_read: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of GenExam and MMMG were worded anew; in the other exams a plain run finds what was marked."""
    monkeypatch.chdir(to_read)
    rows = [row for row in ids.read(KEPT, "setup") if "asked" in row]
    anew = set()
    with Store(runs.STORE) as store:
        for row in rows:
            found, kept = ids.asked(row["asked"], store), row["given"]
            assert {**found, "templates": None} == {**kept, "templates": None}
            if found != kept:
                anew.add(row["asked"]["exam"].removeprefix("sample/"))
    assert anew == {"genexam", "mmmg"}
