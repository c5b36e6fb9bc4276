"""Every output over the kept store is as version 0.1 printed it, but for the changes that are meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.compat import goldens, intended, runs
from tests.compat.compare import differences
from tests.compat.goldens import GOLDENS, QUICK, SITE, Golden


def check(folder: str, chosen: Sequence[Golden], store: str, *, stale: bool = True) -> None:
    """Compute goldens of one folder anew, and compare."""
    kept = runs.V1 / "goldens"
    meant = runs.V1 / "intended.toml"
    entries = [entry for entry in intended.load(meant) if entry.folder == folder]
    found = [
        (golden.file, difference)
        for golden in chosen
        for difference in differences(
            intended.renamed(meant, golden.file, goldens.read(kept, golden.file)), golden.compute(store)
        )
    ]
    intended.check(found, entries, stale=stale)


@pytest.mark.parametrize("folder", QUICK)
def test_outputs_are_as_they_were(folder: str, to_read: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(to_read)
    check(folder, [golden for golden in GOLDENS if golden.folder == folder], runs.STORE)


@pytest.mark.slow
def test_the_data_of_the_site_is_as_it_was(to_read: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(to_read)
    check("site", [golden for golden in GOLDENS if golden.file == SITE], runs.STORE)


def test_every_kept_file_is_compared_and_every_change_belongs_to_one() -> None:
    kept = runs.V1 / "goldens"
    files = {file.relative_to(kept).as_posix() for file in kept.rglob("*") if file.is_file()}
    resumed = {f"resume/{run.name}.json" for run in runs.RUNS}
    assert files == {golden.file for golden in GOLDENS} | resumed | {"settings/own.json"}
    folders = {file.partition("/")[0] for file in files}
    assert {entry.folder for entry in intended.load(runs.V1 / "intended.toml")} <= folders
