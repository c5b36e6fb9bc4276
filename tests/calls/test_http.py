"""Requests as they are sent, faults by kind, and connections that are used again within a limit."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from limner.calls import Fault, http
from limner.calls.http import kind_of, retry_after

JSON = b'{"a": 1}'
UNENDING = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"


class Service:
    """Gives the same reply to every request once `go` is set, and keeps the requests.

    Attributes:
        hang_up: Whether it closes a connection after each reply.
    """

    def __init__(self, reply: bytes, hang_up: bool = False) -> None:
        self.reply, self.hang_up, self.place = reply, hang_up, ""
        self.requests, self.opened, self.closed = list[tuple[list[bytes], bytes]](), 0, 0
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.strip().split(b"\r\n")
                size = int(header_of(lines).get("content-length", 0))
                self.requests.append((lines, await reader.readexactly(size)))
                await self.go.wait()
                writer.write(self.reply)
                await writer.drain()
                if self.hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed += 1
            writer.close()

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not met():
                await asyncio.sleep(0.005)

    async def ask(self, **named: Any) -> dict[str, Any]:
        return await http.exchange("POST", f"http://{self.place}/", headers={}, body={}, **named)


def header_of(lines: list[bytes]) -> dict[str, str]:
    pairs = (line.decode().partition(": ") for line in lines[1:])
    return {name.lower(): value for name, _, value in pairs}


def answer(body: bytes = JSON, status: str = "200 OK", head: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def served(reply: bytes, use: Callable[[Service], Awaitable[Any]], hang_up: bool = False) -> Service:
    async def main() -> Service:
        service = Service(reply, hang_up)
        async with await asyncio.start_server(service, "127.0.0.1", 0) as listening:
            service.place = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            await use(service)
            await http.client().aclose()
        return service

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(autouse=True)
def one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "POOLS", 1)


@pytest.fixture
def one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LIMITS", httpx2.Limits(max_connections=1))


def test_requests_share_one_connection() -> None:
    async def use(service: Service) -> None:
        head = {"Authorization": "Bearer k", "accept": "application/json"}
        url = f"http://{service.place}/v1/chat?x=a%20b&y=é"
        assert await http.exchange("POST", url, headers=head, body={"é": [1, 2]}) == {"a": 1}
        assert await http.exchange("GET", f"http://{service.place}/jobs/1", headers={}) == {"a": 1}

    service = served(answer(), use)
    assert service.opened == 1
    (lines, body), (next_lines, nothing) = service.requests
    assert (lines[0], body) == (b"POST /v1/chat?x=a%20b&y=%C3%A9 HTTP/1.1", '{"é":[1,2]}'.encode())
    header = header_of(lines)
    names = ("authorization", "accept", "content-type", "accept-encoding")
    assert [header[name] for name in names] == ["Bearer k", "application/json", "application/json", "gzip, deflate"]
    assert (next_lines[0], nothing) == (b"GET /jobs/1 HTTP/1.1", b"")
    assert not {"authorization", "content-type", "content-length"} & header_of(next_lines).keys()


def test_login_in_url_is_sent_as_authorization() -> None:
    async def use(service: Service) -> None:
        await http.exchange("POST", f"http://me:word@{service.place}/", headers={}, form=http.Form({"a": "b"}, []))

    ((lines, body),) = served(answer(), use).requests
    assert (header_of(lines)["authorization"], body) == ("Basic bWU6d29yZA==", b"a=b")


@pytest.mark.parametrize(
    ("reply", "kind", "retry_after"),
    [
        (answer(status="307 Temporary Redirect", head="Location: http://elsewhere/x?key=1\r\n"), "setup", None),
        (answer(b'{"error": {"message": "no such model"}}', "404 Not Found"), "setup", None),
        (answer(b"slow down", "429 Too Many Requests", "Retry-After: 7\r\n"), "rate_limit", 7),
        (answer(gzip.compress(JSON, mtime=0)[:-9], head="Content-Encoding: gzip\r\n"), "server", None),
        (UNENDING, "timeout", None),
        (b"nonsense\r\n\r\n", "network", None),
    ],
)
def test_bad_reply_raises_fault_of_expected_kind(reply: bytes, kind: str, retry_after: float | None) -> None:
    async def use(service: Service) -> None:
        with pytest.raises(Fault) as raised:
            await service.ask(timeout=0.2 if reply == UNENDING else 30)
        assert (raised.value.kind, raised.value.retry_after) == (kind, retry_after)

    assert len(served(reply, use).requests) == 1


@pytest.mark.parametrize(
    ("url", "kind"),
    [("http://127.0.0.1:1/", "network"), ("http://[::1", "setup"), ("ftp://127.0.0.1/x", "setup"), ("/x", "setup")],
)
def test_bad_url_raises_fault_of_expected_kind(url: str, kind: str) -> None:
    with pytest.raises(Fault) as raised:
        asyncio.run(http.exchange("POST", url, headers={}, body={}))
    assert raised.value.kind == kind


def test_https_to_server_without_tls_is_setup_fault() -> None:
    async def main() -> None:
        async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(answer())
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as listening:
            url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
            await http.exchange("POST", url, headers={}, body={})

    with pytest.raises(Fault, match="WRONG_VERSION_NUMBER") as raised:
        asyncio.run(main())
    assert raised.value.kind == "setup"


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [("CERTIFICATE_VERIFY_FAILED", True), ("WRONG_VERSION_NUMBER", True), ("UNEXPECTED_EOF_WHILE_READING", False)],
)
def test_only_permanent_tls_errors_count_as_wrong_address(reason: str, wrong: bool) -> None:
    refused, error = ssl.SSLError(1, reason), httpx2.ConnectError(reason)
    refused.reason, error.__cause__ = reason, httpx2.ConnectError(reason)
    error.__cause__.__cause__ = refused
    assert http.is_wrong_address(error) is wrong


def test_connection_closed_by_server_is_not_reused() -> None:
    async def use(service: Service) -> None:
        for n in range(1, 4):
            assert await service.ask() == {"a": 1}
            await service.until(lambda n=n: service.closed == n)  # type: ignore[misc]

    assert served(answer(), use, hang_up=True).opened == 3


@pytest.mark.usefixtures("one_connection")
def test_cancelled_request_frees_its_connection() -> None:
    async def use(service: Service) -> None:
        service.go.clear()
        first = asyncio.create_task(service.ask())
        await service.until(lambda: len(service.requests) == 1)
        with pytest.raises(Fault, match="PoolTimeout"):
            await service.ask(timeout=0.01)
        assert len(service.requests) == 1
        first.cancel()
        await asyncio.wait([first])
        assert first.cancelled()
        service.go.set()
        assert await service.ask() == {"a": 1}

    assert served(answer(), use).opened == 2


@pytest.mark.usefixtures("one_connection")
def test_reply_over_size_limit_frees_its_connection() -> None:
    async def use(service: Service) -> None:
        with pytest.raises(Fault, match="over 2 bytes"):
            await service.ask(most=2)
        assert await service.ask() == {"a": 1}

    served(answer(), use)


def test_each_event_loop_has_its_own_client() -> None:
    clients = list[httpx2.AsyncClient]()

    async def use(service: Service) -> None:
        clients.append(http.client())
        assert await service.ask() == {"a": 1}
        assert http.client() is clients[-1]

    for _ in range(2):
        served(answer(), use)
    assert clients[0] is not clients[1]


def test_requests_are_spread_evenly_over_the_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "POOLS", 4)

    async def use(_: Service) -> None:
        async def choose() -> httpx2.AsyncClient:
            return http.client()

        chosen = [await asyncio.create_task(choose()) for _ in range(12)]
        assert sorted(chosen.count(pool) for pool in set(chosen)) == [3, 3, 3, 3]

    served(answer(), use)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"code": "content_policy_violation", "message": "rejected"}, "refusal"),
        (400, {"message": "Unknown field 'colour'"}, "bad_request"),
        (401, None, "auth"),
        (402, None, "credits"),
        (403, {"message": "Country not supported"}, "auth"),
        (403, {"message": "Flagged by moderation"}, "refusal"),
        (400, {"code": "model_not_found"}, "setup"),
        (404, {"code": "model_not_found"}, "setup"),
        (405, None, "setup"),
        (408, None, "timeout"),
        (409, None, "rate_limit"),
        (429, {"code": "insufficient_quota"}, "credits"),
        (429, {"code": "rate_limit_exceeded", "message": "Limit 3. Pay more at example.org/billing."}, "rate_limit"),
        (429, "<html>", "rate_limit"),
        (500, {"message": "The safety of your data matters to us"}, "server"),
        (529, None, "server"),
    ],
)  # fmt: skip
def test_fault_kind_follows_from_status_and_body(status: int, body: object, kind: str) -> None:
    assert kind_of(status, body) == kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("0", 0.0),
        ("2.5", 2.5),
        ("-3", 0.0),
        ("1e9", 600.0),
        ("Wed, 21 Oct 2037 07:28:00 GMT", 600.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_number_or_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds
