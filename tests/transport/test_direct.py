"""A request that is sent without a client is the one that the client would have sent, and fails in the same words."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from limner.calls import Fault
from limner.transport import http
from limner.transport.direct import DirectReply, address, is_wrong_address

JSON = b'{"a": 1}'
UNENDING = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"


class Service:
    """Gives the same reply to every request and keeps what came."""

    def __init__(self, reply: bytes) -> None:
        self.reply, self.came, self.opened = reply, list[tuple[list[bytes], bytes]](), 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.strip().split(b"\r\n")
                size = next((int(one.split(b":")[1]) for one in lines if one.lower().startswith(b"content-length")), 0)
                self.came.append((lines, await reader.readexactly(size)))
                writer.write(self.reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def answer(body: bytes = JSON, status: str = "200 OK", head: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def served(reply: bytes, use: Callable[[str], Awaitable[Any]]) -> Service:
    async def main() -> Service:
        service = Service(reply)
        async with await asyncio.start_server(service, "127.0.0.1", 0) as listening:
            await use(f"127.0.0.1:{listening.sockets[0].getsockname()[1]}")
            await http.client(asyncio.get_running_loop()).aclose()
            opened = http._opened(asyncio.get_running_loop())[1]
            if opened is not None:
                await opened.aclose()
        return service

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "getproxies", dict)


def told(lines: list[bytes]) -> dict[str, str]:
    pairs = (line.decode().partition(": ") for line in lines[1:])
    return {name.lower(): value for name, _, value in pairs}


def test_it_is_the_request_that_a_client_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(place: str) -> None:
        head = {"Authorization": "Bearer k", "accept": "application/json"}
        for known in (address, lambda _: None):
            monkeypatch.setattr(http, "address", known)
            for path in ("/v1/chat?x=a%20b&y=é", ""):
                assert await http.exchange("POST", f"http://{place}{path}", headers=head, body={"é": [1]}) == {"a": 1}
            assert await http.exchange("GET", f"http://{place}/jobs/1", headers={}) == {"a": 1}

    service = served(answer(), use)
    assert service.opened == 1, "one connection serves them all, with a client or without"
    ours, theirs = service.came[:3], service.came[3:]
    assert [(lines[0], told(lines), body) for lines, body in ours] == [
        (lines[0], told(lines), body) for lines, body in theirs
    ]
    assert told(ours[0][0])["accept"] == "application/json"


def test_no_client_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> Any:
        raise AssertionError("a client was asked")

    async def use(place: str) -> None:
        monkeypatch.setattr(httpx2.AsyncClient, "stream", never)
        assert await http.exchange("POST", f"http://{place}/", headers={}, body={}) == {"a": 1}

    served(answer(), use)


@pytest.mark.parametrize("case", ["login", "proxy", "form"])
def test_what_only_a_client_can_do_is_left_to_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = httpx2.AsyncClient.stream
    if case == "proxy":
        monkeypatch.setattr(http, "getproxies", lambda: {"ftp": "http://127.0.0.1:9"})

    def counted(self: Any, method: str, url: str, **how: Any) -> Any:
        asked.append(url)
        return whole(self, method, url, **how)

    async def use(place: str) -> None:
        monkeypatch.setattr(httpx2.AsyncClient, "stream", counted)
        url = f"http://me:word@{place}/" if case == "login" else f"http://{place}/"
        sent: dict[str, Any] = {"form": http.Form({"a": "b"}, [])} if case == "form" else {"body": {}}
        assert await http.exchange("POST", url, headers={}, **sent) == {"a": 1}

    service = served(answer(), use)
    assert len(asked) == 1
    assert ("authorization" in told(service.came[0][0])) == (case == "login")


@pytest.mark.parametrize(
    "reply",
    [
        answer(status="307 Temporary Redirect", head="Location: http://elsewhere/x?key=1\r\n"),
        answer(b'{"error": {"message": "no such model"}}', "404 Not Found"),
        answer(b"slow down", "429 Too Many Requests", "Retry-After: 7\r\n"),
        answer(gzip.compress(JSON, mtime=0)[:-9], head="Content-Encoding: gzip\r\n"),
        answer(head="Content-Encoding: br\r\n"),
        UNENDING,
        b"nonsense\r\n\r\n",
    ],
)
def test_faults_are_the_same_in_kind_and_words(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Fault] = []
    limit = 0.2 if reply == UNENDING else 30

    async def use(place: str) -> None:
        for known in (address, lambda _: None):
            monkeypatch.setattr(http, "address", known)
            with pytest.raises(Fault) as raised:
                await asyncio.wait_for(
                    http.exchange("POST", f"http://{place}/", headers={}, body={}, timeout=limit), 60
                )
            faults.append(raised.value)

    served(reply, use)
    ours, theirs = ([one.kind, one.detail, one.retry_after, one.cost, one.result] for one in faults)
    assert ours == theirs


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://[::1", "ftp://127.0.0.1/x"])
def test_where_nobody_is_reached_the_words_are_the_same(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> list[tuple[str, str]]:
        found = list[tuple[str, str]]()
        for known in (address, lambda _: None):
            monkeypatch.setattr(http, "address", known)
            with pytest.raises(Fault) as raised:
                await http.exchange("POST", url, headers={}, body={})
            found.append((raised.value.kind, raised.value.detail))
        return found

    ours, theirs = asyncio.run(main())
    assert ours == theirs


def test_a_packed_reply_is_unpacked_and_headers_of_one_name_are_joined() -> None:
    seen: list[DirectReply] = []

    async def use(place: str) -> None:
        assert await http.exchange("POST", f"http://{place}/", headers={}, body={}) == {"a": 1}
        async with http._open_stream("GET", f"http://{place}/", {}, httpx2.Timeout(9), {}) as reply:
            assert isinstance(reply, DirectReply)
            seen.append(reply)

    head = "Content-Encoding: gzip\r\nX-One: a\r\nx-one: b\r\n"
    served(answer(gzip.compress(JSON, mtime=0), head=head), use)
    assert seen[0].headers["x-one"] == "a, b"


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [("CERTIFICATE_VERIFY_FAILED", True), ("WRONG_VERSION_NUMBER", True), ("UNEXPECTED_EOF_WHILE_READING", False)],
)
def test_of_tls_only_what_does_not_pass_is_a_wrong_address(reason: str, wrong: bool) -> None:
    refused, error = ssl.SSLError(1, reason), httpx2.ConnectError(reason)
    refused.reason, error.__cause__ = reason, httpx2.ConnectError(reason)
    error.__cause__.__cause__ = refused
    assert is_wrong_address(error) is wrong
