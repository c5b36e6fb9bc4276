"""S3-compatible servers of the tests' own, on loopback: moto, and one that fails as it is told."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.needs import need

BUCKET = "drawings"
KEY, SECRET = "AKIATESTTESTTESTTEST", "hush-hush-hush-hush-hush"


@contextmanager
def s3_server() -> Iterator[str]:
    """Start moto with an empty bucket, and tell this process of it; gives the bucket's address."""
    there = all(find_spec(name) is not None for name in ("moto", "flask", "flask_cors", "obstore"))
    need("s3", there, "needs the packages moto, flask, flask-cors and obstore")
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        urlopen(Request(f"http://{host}:{port}/{BUCKET}", method="PUT"), timeout=30).close()
        with told(f"http://{host}:{port}"):
            yield f"s3://{BUCKET}"
    finally:
        server.stop()


@contextmanager
def told(endpoint: str) -> Iterator[None]:
    """The environment as one who uses the service sets it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        yield


class FailingBucket:
    """Keeps objects in memory; the next requests get the statuses that are planned, cut replies for 0."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.plan: list[int] = []
        self.asked: list[str] = []
        bucket = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_words: Any) -> None:
                pass

            def _answer(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                bucket.asked.append(self.command)
                status = bucket.plan.pop(0) if bucket.plan else 200
                if status == 200 and self.command == "PUT":
                    bucket.objects[self.path] = data
                found = bucket.objects.get(self.path)
                if status == 200 and found is None:
                    status = 404
                body = found if status in (0, 200) and self.command == "GET" and found else b""
                if status >= 400 and self.command != "HEAD":
                    body = b"<Error><Code>AccessDenied</Code></Error>" if status == 403 else b"<Error/>"
                asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
                if asked and found and status in (0, 200):
                    start, end = int(asked[1]), int(asked[2] or len(found) - 1)
                    body = found[start : end + 1]
                self.send_response(206 if asked and status in (0, 200) else status or 200)
                if asked and status in (0, 200) and found:
                    self.send_header("Content-Range", f"bytes {start}-{end}/{len(found)}")
                self.send_header("Content-Length", str(len(found or b"") if self.command == "HEAD" else len(body)))
                self.send_header("ETag", '"no-md5"')
                self.send_header("Last-Modified", "Mon, 16 Nov 2026 10:00:00 GMT")
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if status == 0 else body)
                self.close_connection = status == 0

            do_GET = do_PUT = do_HEAD = _answer  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FailingBucket:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
