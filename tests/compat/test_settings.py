"""A limner.toml of version 0.1 is still understood, all of it."""

from __future__ import annotations

from tests.compat import goldens, intended, runs
from tests.compat.compare import differences
from tests.compat.own_settings import own

FILE = "settings/own.json"


def test_every_section_and_field_is_understood_as_it_was() -> None:
    entries = [entry for entry in intended.load(runs.V1 / "intended.toml") if entry.folder == "settings"]
    found = differences(goldens.read(runs.V1 / "goldens", FILE), own(runs.V1 / "limner.toml"))
    intended.check(((FILE, one) for one in found), entries)
