"""The base of our servers: limits, headers, proofs, error pages."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

pytest.importorskip("starlette", reason="servers come with limner[web]")

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from limner.core.errors import StoreError
from limner.core.redaction import csrf_token, new_token, token_hash
from limner.serve import base
from limner.serve.base import CSRF, HEADERS, LastHop, WebLimits, address_of, check_change, listen, make_app, make_server


async def change(request: Request) -> Response:
    await check_change(request, request.path_params["token"])
    return PlainTextResponse(f"changed {len(await request.body())}")


async def breaks(request: Request) -> Response:
    raise ValueError("secret words")


async def lost(request: Request) -> Response:
    raise StoreError("secret place")


async def large(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(2**5):
            yield bytes(LARGE // 2**5)

    return StreamingResponse(pieces())


def client(limits: WebLimits | None = None) -> TestClient:
    routes = [
        Route("/r/{token}", change, methods=["POST"]),
        Route("/breaks", breaks),
        Route("/lost", lost),
    ]
    return TestClient(make_app(routes, limits=limits), raise_server_exceptions=False)


@pytest.fixture
def visitor() -> Iterator[TestClient]:
    with client() as opened:
        yield opened


@pytest.mark.parametrize("path", ["/static/base/base.css", "/nowhere", "/breaks", "/lost", "/r/x"])
def test_every_response_has_security_headers(visitor: TestClient, path: str) -> None:
    found = visitor.get(path)
    assert {name: found.headers[name] for name in HEADERS} == HEADERS
    assert "server" not in found.headers


def test_error_pages_reveal_no_internals(visitor: TestClient) -> None:
    responses = {path: visitor.get(path) for path in ("/nowhere", "/breaks", "/lost")}
    assert {path: found.status_code for path, found in responses.items()} == {
        "/nowhere": 404,
        "/breaks": 500,
        "/lost": 503,
    }
    for found in responses.values():
        assert "<h1>" in found.text
        assert "secret" not in found.text
    asked = visitor.get("/nowhere", headers={"accept": "application/json"})
    assert asked.json() == {"error": "There is no such page. Check that the link is complete."}


def test_change_requires_csrf_token(visitor: TestClient) -> None:
    token = new_token()
    assert visitor.post(f"/r/{token}").status_code == 403
    assert visitor.post(f"/r/{token}", headers={CSRF: csrf_token(new_token())}).status_code == 403
    own = {CSRF: csrf_token(token)}
    assert visitor.post(f"/r/{token}", headers=own).text == "changed 0"
    assert visitor.post(f"/r/{token}", data={CSRF: csrf_token(token)}).status_code == 200


@pytest.mark.parametrize(
    "foreign",
    [{"origin": "https://elsewhere.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}],
)
def test_cross_site_change_is_refused(visitor: TestClient, foreign: dict[str, str]) -> None:
    token = new_token()
    assert visitor.post(f"/r/{token}", headers={CSRF: csrf_token(token), **foreign}).status_code == 403


def test_oversized_body_is_refused_with_or_without_content_length() -> None:
    token = new_token()
    with client(WebLimits(body=100)) as visitor:
        own = {CSRF: csrf_token(token)}
        assert visitor.post(f"/r/{token}", headers=own, content=b"x" * 100).status_code == 200
        assert visitor.post(f"/r/{token}", headers=own, content=b"x" * 101).status_code == 413
        pieces = iter([b"x" * 60, b"x" * 60])
        assert visitor.post(f"/r/{token}", headers=own, content=pieces).status_code == 413


def test_rate_limit_applies_per_link() -> None:
    with client(WebLimits(requests=3)) as visitor:
        one, other = new_token(), new_token()
        seen = [visitor.post(f"/r/{one}", headers={CSRF: csrf_token(one)}).status_code for _ in range(4)]
        assert seen == [200, 200, 200, 429]
        again = visitor.post(f"/r/{one}", headers={CSRF: csrf_token(one)})
        assert int(again.headers["retry-after"]) >= 1
        assert visitor.post(f"/r/{other}", headers={CSRF: csrf_token(other)}).status_code == 200


def test_client_guessing_links_is_blocked() -> None:
    with client(WebLimits(wrong=5)) as visitor:
        assert [visitor.get(f"/q/{n}").status_code for n in range(6)] == [404] * 5 + [429]
        # Others behind the same address are not locked out.
        assert visitor.get("/static/base/base.css").status_code == 200


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A running server with a short time limit and few connections."""
    for name, value in {"REQUEST_S": 0.4, "MAX_PER_ADDRESS": 20}.items():
        monkeypatch.setattr(base, name, value)
    routes = [Route("/r/{token}", change, methods=["POST"]), Route("/large", large)]
    listening, server = listen("127.0.0.1", 0), make_server(make_app(routes))
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
    thread.start()
    yield listening.getsockname()[:2]
    server.should_exit = True
    thread.join(10)


def answer(place: tuple[str, int]) -> bytes:
    with socket.create_connection(place, timeout=5) as one:
        one.sendall(b"GET /static/base/base.css HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return one.makefile("rb").readline()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"POST /r/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"])
def test_slow_connections_are_dropped_and_do_not_shut_others_out(served: tuple[str, int], begun: bytes) -> None:
    slow = [socket.create_connection(served, timeout=5) for _ in range(40)]
    for one in slow:
        with suppress(OSError):
            one.sendall(begun)
    ended = [_ends(one) for one in slow]
    assert all(ended)
    assert answer(served).startswith(b"HTTP/1.1 200")


def test_idle_connections_give_way_to_new_ones(served: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A class behind one address, whose browsers keep their connections, does not shut its own members out."""
    monkeypatch.setattr(base, "REQUEST_S", 60.0)
    idle = [socket.create_connection(served, timeout=5) for _ in range(base.MAX_PER_ADDRESS)]
    for _ in range(3):
        assert answer(served).startswith(b"HTTP/1.1 200")
    for one in idle:
        one.close()


LARGE = 2**25


@pytest.mark.parametrize("stalls", [False, True])
def test_slow_reader_gets_whole_response_and_stalled_one_is_dropped(
    served: tuple[str, int], monkeypatch: pytest.MonkeyPatch, stalls: bool
) -> None:
    monkeypatch.setattr(base, "STALL_S", 0.4 if stalls else 60.0)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(20)
        one.connect(served)
        one.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        threading.Event().wait(3 * base.REQUEST_S)
        came = 0
        with suppress(OSError):
            while piece := one.recv(2**20):
                came += len(piece)
    assert (came > LARGE) is not stalls


def _ends(one: socket.socket) -> bool:
    with one:
        try:
            while one.recv(1000):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
    return True


def test_only_last_hop_of_proxy_is_trusted() -> None:
    async def who(request: Request) -> Response:
        return PlainTextResponse(f"{request.client and request.client.host} {request.url.scheme}")

    with TestClient(LastHop(make_app([Route("/who", who)]))) as visitor:
        headers = {"x-forwarded-for": "6.6.6.6, 1.2.3.4", "x-forwarded-proto": "gopher, https"}
        assert visitor.get("/who", headers=headers).text == "1.2.3.4 https"
        assert visitor.get("/who").text == "testclient http"


def test_tokens_are_long_and_not_revealed_by_hash_or_csrf_token() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 32 for token in tokens)
    token = tokens.pop()
    assert token not in token_hash(token) + csrf_token(token)
    assert token_hash(token) != csrf_token(token)


def test_socket_is_bound_and_used_port_is_reported() -> None:
    with listen("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        assert address_of(opened) == f"http://127.0.0.1:{port}"
        with pytest.raises(Exception, match="choose another port"):
            listen("127.0.0.1", port)
