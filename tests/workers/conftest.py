"""Here pictures are read by the workers that users have, each time anew."""

from __future__ import annotations

import pytest

from tests.read_once.sitecustomize import FOLDER


@pytest.fixture(autouse=True)
def _read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
