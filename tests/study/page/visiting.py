"""A rater as a client sees the page: what it links to, what it sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from limner.core.redaction import csrf_token
from limner.serve.base import CSRF, WebLimits
from limner.store import Store
from limner.study.new import NewStudy
from limner.study.page import study_app

MANY = WebLimits(requests=100_000, wrong=100_000)


@contextmanager
def visitor(store: Store, name: str = "pilot", limits: WebLimits = MANY) -> Iterator[TestClient]:
    """A client of the study's application."""
    with TestClient(study_app(store, name, limits), raise_server_exceptions=False) as client:
        yield client


def agree(client: TestClient, token: str) -> None:
    """Consent and go on."""
    got = client.post(f"/r/{token}/consent", data={CSRF: csrf_token(token)})
    assert got.status_code == 200


def send(client: TestClient, token: str, *answers: dict[str, Any]) -> Any:
    """What the page would send."""
    own = {CSRF: csrf_token(token), "accept": "application/json"}
    return client.post(f"/r/{token}/answers", json={"answers": list(answers)}, headers=own)


def crawl(client: TestClient, token: str) -> dict[str, Any]:
    """Everything that can be reached from a rater's link, by its address."""
    found: dict[str, Any] = {}
    open_ = [f"/r/{token}"]
    while open_:
        path = open_.pop()
        if path in found:
            continue
        found[path] = got = client.get(path)
        if got.headers["content-type"].startswith("text/html"):
            links = re.findall(r"""(?:href|src|action|data-zoom)="(/[^"]*)\"""", got.text)
            open_ += [link for link in links if not link.endswith("/consent")]
            # The script goes to every place by its number.
            if count := re.search(r'data-of="(\d+)"', got.text):
                open_ += [f"/r/{token}/{n}" for n in range(1, int(count[1]) + 1)]
    return found


def first_link(made: NewStudy) -> tuple[str, str]:
    """The first rater and its token."""
    return next(iter(made.links.items()))
