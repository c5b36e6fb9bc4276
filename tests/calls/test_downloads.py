"""Files that are downloaded and uploaded in pieces."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest

from limner.calls import Fault, downloads
from limner.calls.downloads import fetched_lines, upload_in_pieces
from tests.fakes.misbehaving import Answer, Misbehaving, Seen

ROWS = [{"key": f"c{n}", "text": "é" * n} for n in range(40)]
DATA = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def fetch(server: Misbehaving) -> list[dict[str, Any]]:
    async def all_lines() -> list[dict[str, Any]]:
        return [line async for line in fetched_lines(f"http://{server.host}/f", {})]

    return asyncio.run(all_lines())


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [True, False])
def test_interrupted_download_is_resumed(ranges: bool) -> None:
    def behave(seen: Seen) -> Answer:
        asked = seen.headers.get("range")
        if asked and ranges:
            first = int(asked.removeprefix("bytes=").removesuffix("-"))
            return Answer(DATA[first:], 206)
        if seen.number == 0:
            return Answer(DATA[:301], declared=len(DATA))
        return Answer(DATA, declared=len(DATA))

    with Misbehaving(behave) as server:
        assert fetch(server) == ROWS
        assert [one.headers.get("range") for one in server.seen] == [None, "bytes=301-"]


def test_download_that_never_completes_is_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "TRIES", 2)
    with Misbehaving(lambda _: Answer(b'{"a', declared=1000)) as server, pytest.raises(Fault) as raised:
        fetch(server)
    assert (raised.value.kind, len(server.seen)) == ("network", 2)


def test_invalid_json_lines_and_http_errors_are_faults() -> None:
    with Misbehaving(lambda _: Answer(b'{"a": 1}\nno\n')) as server, pytest.raises(Fault, match="not JSON"):
        fetch(server)
    with Misbehaving(lambda _: Answer(b'{"error": {"message": "gone"}}', 404)) as server:
        with pytest.raises(Fault, match="404: gone") as raised:
            fetch(server)
        assert raised.value.kind == "setup"


def test_file_is_uploaded_in_pieces_and_only_to_same_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "PIECE", 100)
    place = ""

    def behave(seen: Seen) -> Answer:
        if seen.number == 0:
            return Answer(b"{}", headers={"x-goog-upload-url": place or "/pieces?id=1"})
        return Answer(b'{"file": {"name": "files/a"}}')

    def send(server: Misbehaving) -> dict[str, Any]:
        metadata: dict[str, Any] = {"file": {}}
        return asyncio.run(
            upload_in_pieces(f"http://{server.host}/up", {"k": "v"}, metadata, io.BytesIO(b"x" * 250), 250, "t/t")
        )

    with Misbehaving(behave) as server:
        assert send(server) == {"file": {"name": "files/a"}}
        first, *pieces = server.seen
        assert first.headers["x-goog-upload-header-content-length"] == "250"
        assert [(one.path, one.headers["x-goog-upload-offset"], len(one.body)) for one in pieces] == [
            ("/pieces?id=1", "0", 100), ("/pieces?id=1", "100", 100), ("/pieces?id=1", "200", 50),
        ]  # fmt: skip
        assert pieces[-1].headers["x-goog-upload-command"] == "upload, finalize"
    place = "http://elsewhere.test/pieces"
    with Misbehaving(behave) as server, pytest.raises(Fault, match="does not follow"):
        send(server)
    assert len(server.seen) == 1
