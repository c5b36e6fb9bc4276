"""Two libraries for buckets on an S3-compatible server on loopback: one picture after the other, and eight at a time.

``python -m benchmarks.buckets``; needs ``limner[s3,oracles]``, and s3fs for its rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.table import CannotRun, Clock, Table, told

BUCKET, AT_ONCE = "pictures", 8
SERVER = """
import logging, sys
from urllib.request import Request, urlopen
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = "http://%s:%d" % server.get_host_and_port()
urlopen(Request(url + "/" + sys.argv[1], method="PUT")).close()
print(url, flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Client:
    name: str
    put: Callable[[str, bytes], Any]
    get: Callable[[str], Any]
    has: Callable[[str], Any]


def with_obstore(url: str) -> Client:
    import obstore
    from obstore.store import S3Store

    keys = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
    store = S3Store(BUCKET, prefix="obstore", endpoint=url, client_options={"allow_http": True}, **keys)

    def has(name: str) -> bool:
        try:
            return bool(obstore.head(store, name))
        except FileNotFoundError:
            return False

    return Client(
        "obstore",
        lambda name, data: obstore.put(store, name, data),
        lambda name: bytes(obstore.get(store, name).bytes()),
        has,
    )


def with_s3fs(url: str) -> Client:
    import s3fs

    fs = s3fs.S3FileSystem(key="key", secret="secret", endpoint_url=url, use_listings_cache=False)
    root = f"{BUCKET}/s3fs"
    return Client(
        "s3fs",
        lambda name, data: fs.pipe_file(f"{root}/{name}", data),
        lambda name: fs.cat_file(f"{root}/{name}"),
        lambda name: fs.exists(f"{root}/{name}"),
    )


def rows(quick: bool = False) -> Table:
    """Milliseconds and CPU of the client for each."""
    if find_spec("moto") is None or find_spec("obstore") is None:
        raise CannotRun("pip install 'limner[s3,oracles]'")
    large, small = (3, 10) if quick else (100, 500)
    made = [with_obstore] + ([with_s3fs] if find_spec("s3fs") is not None else [])
    found: list[tuple[str, ...] | tuple[Any, ...]] = []
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, BUCKET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip()
        for make in made:
            with Clock() as clock:
                client = make(url)
                client.put("first", b"x")
            found.append((client.name, "load and first put", 1, 1000 * clock.seconds, 1000 * clock.cpu))
            found += _measured(client, "1 MB", os.urandom(1_000_000), large)
            found += _measured(client, "4 kB", os.urandom(4_000), small)
        server.stdin.close()
    heads = ("library", "what", "at a time", "ms each", "client's CPU ms each")
    note = f"{large} pictures of 1 MB and {small} of 4 kB, on moto on loopback."
    return Table(heads, tuple(found), note=note)


def _measured(client: Client, size: str, data: bytes, count: int) -> list[tuple[Any, ...]]:
    names = [f"{size[0]}/{n}" for n in range(count)]
    steps: tuple[tuple[str, Callable[[str], Any], int], ...] = (
        (f"put {size}", lambda name: client.put(name, data), 1),
        (f"get {size}", client.get, 1),
        (f"get {size}", client.get, AT_ONCE),
        (f"exists {size}", client.has, 1),
        ("exists, but does not", lambda name: client.has(f"no/{name}"), 1),
    )
    found = []
    for what, do, at_once in steps:
        with Clock() as clock, ThreadPoolExecutor(at_once) as pool:
            list(pool.map(do, names))
        found.append((client.name, what, at_once, 1000 * clock.seconds / count, 1000 * clock.cpu / count))
    return found


if __name__ == "__main__":
    print(told(rows("--quick" in sys.argv[1:])))
