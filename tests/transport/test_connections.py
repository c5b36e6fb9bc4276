"""Connections are kept and used again, never one that is gone, and never more than allowed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from limner.transport.connections import Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers every request once `go` is set; counts connections, and hangs up after each answer where told."""

    def __init__(self, hang_up: bool = False) -> None:
        self.opened, self.closed, self.asked, self.hang_up = 0, 0, 0, hang_up
        self.go = asyncio.Event()
        self.url = ""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                await self.go.wait()
                writer.write(OK)
                await writer.drain()
                if self.hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed += 1
            writer.close()

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not met():
                await asyncio.sleep(0.005)


def served(
    use: Callable[[Server, httpx2.AsyncClient], Awaitable[None]], hang_up: bool = False, most: int = 8, idle: int = 8
) -> Server:
    """What a server has seen of a client's work."""

    async def main() -> Server:
        server = Server(hang_up)
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=idle)
        async with httpx2.AsyncClient(transport=Transport(ssl.create_default_context(), limits)) as client:
            await use(server, client)
        listening.close()
        return server

    return asyncio.run(main())


def test_what_is_open_is_used_again() -> None:
    async def use(server: Server, client: httpx2.AsyncClient) -> None:
        many = asyncio.gather(*(client.get(server.url) for _ in range(5)))
        await server.until(lambda: server.asked == 5)
        server.go.set()
        assert [reply.text for reply in await many] == ["ok"] * 5
        for _ in range(10):
            assert (await client.get(server.url)).text == "ok"

    assert served(use).opened == 5


def test_what_the_server_has_closed_is_not_used() -> None:
    async def use(server: Server, client: httpx2.AsyncClient) -> None:
        server.go.set()
        for n in range(1, 4):
            assert (await client.get(server.url)).text == "ok"
            await server.until(lambda n=n: server.closed == n)  # type: ignore[misc]

    assert served(use, hang_up=True).opened == 3


def test_no_more_are_kept_than_allowed() -> None:
    async def use(server: Server, client: httpx2.AsyncClient) -> None:
        many = asyncio.gather(*(client.get(server.url) for _ in range(5)))
        await server.until(lambda: server.asked == 5)
        server.go.set()
        await many
        await server.until(lambda: server.closed == 3)
        await client.get(server.url)
        assert (server.opened, server.closed) == (5, 3)

    served(use, idle=2)


def test_there_is_room_again_after_one_that_was_cancelled() -> None:
    async def use(server: Server, client: httpx2.AsyncClient) -> None:
        first = asyncio.create_task(client.get(server.url, timeout=20))
        await server.until(lambda: server.asked == 1)
        with pytest.raises(httpx2.PoolTimeout):
            await client.get(server.url, timeout=httpx2.Timeout(20, pool=0.01))
        first.cancel()
        await asyncio.wait([first])
        assert first.cancelled()
        server.go.set()
        assert (await client.get(server.url, timeout=20)).text == "ok"

    assert served(use, most=1).opened == 2


def test_faults_are_the_clients_own() -> None:
    async def use(server: Server, client: httpx2.AsyncClient) -> None:
        with pytest.raises(httpx2.UnsupportedProtocol):
            await client.get("ftp://127.0.0.1/")
        with pytest.raises(httpx2.ConnectError):
            await client.get("http://127.0.0.1:1/")

    served(use)
