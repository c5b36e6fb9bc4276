"""The page of a review, and those who visit it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from limner.build.recipe import STEPS
from limner.build.review_page import review_app
from limner.core.redaction import csrf_token
from limner.serve.base import CSRF
from limner.store import Store
from limner.store.store import open_store
from tests.build.review_page.desk import MADE, TOKENS, prepare


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setitem(STEPS, "t-made", MADE)
    with open_store(str(tmp_path / "store"), create=True) as opened:
        prepare(opened, tmp_path)
        yield opened


class Visitor:
    """A reviewer at the page, without a browser."""

    def __init__(self, client: TestClient, name: str) -> None:
        self.client, self.token = client, TOKENS[name]

    def get(self, path: str) -> Any:
        return self.client.get(f"/r/{self.token}/{path}", headers={"accept": "application/json"})

    def data(self, item: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"data/{item}").json()
        return found

    def act(self, item: str, action: str, page: Mapping[str, Any], **more: Any) -> Any:
        body = {"action": action, "base": page["base"], "seen": page["seen"], "comment": "", **more}
        headers = {CSRF: csrf_token(self.token), "accept": "application/json", "content-type": "application/json"}
        return self.client.post(f"/r/{self.token}/act/{item}", content=json.dumps(body), headers=headers)


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(review_app(store, "mine"), raise_server_exceptions=False) as found:
        yield found


@pytest.fixture
def anna(client: TestClient) -> Visitor:
    return Visitor(client, "anna")


@pytest.fixture
def ben(client: TestClient) -> Visitor:
    return Visitor(client, "ben")


@pytest.fixture
def carla(client: TestClient) -> Visitor:
    return Visitor(client, "carla")
