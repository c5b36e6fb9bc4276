"""Made-up stores, one for each exam, filled once per test process and only where a test wants them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from limner.store import Store

from . import synthetic

QUESTIONS = {"genexam": 80, "mmmg": 60, "worldgenbench": 56, "fepbench": 24, "aibench": 12}


class Filled(dict[str, Store]):
    """Stores by exam kind."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._folders = folders

    def __missing__(self, kind: str) -> Store:
        store = self[kind] = Store(self._folders.mktemp(kind))
        ways = ("direct", "rewrite") if kind == "aibench" else ("direct",)
        controls = ["control/reference"]
        synthetic.fill(store, kind, questions=QUESTIONS[kind], strategies=ways, images=False, controls=controls)
        return store


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """By exam kind: nine painters of three groups and a control; for AIBench each painter with two strategies."""
    stores = Filled(tmp_path_factory)
    yield stores
    for store in stores.values():
        store.close()
