"""Serving an application of ours: one process, its socket opened before anything is promised."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from ..core.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """An open socket; port 0 takes a free one.

    Raises:
        UsageError: The address cannot be had; says why.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; take another port") from error
    return found


def address_of(listening: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: Starlette,
    host: str = "127.0.0.1",
    port: int = 8100,
    *,
    ready: Callable[[str], None] = lambda address: None,
    behind_proxy: bool = False,
) -> None:
    """Serve until interrupted.

    Args:
        app: What is served.
        host: The address to listen at; others than this machine's own can be reached from elsewhere.
        port: 0 takes a free one.
        ready: Told the address once it is open.
        behind_proxy: Whether a proxy stands before it that says who the client is.
    """
    listening = listen(host, port)
    ready(address_of(listening))
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=behind_proxy,
        forwarded_allow_ips="*" if behind_proxy else None, timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024, timeout_graceful_shutdown=5, lifespan="off", ws="none",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
