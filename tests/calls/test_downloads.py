"""Files that are downloaded and uploaded in pieces."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from limner.calls import Fault, downloads
from limner.calls.batch_services import CHAT_ENDPOINT as OPENAI
from limner.calls.batch_services import GEMINI_ENDPOINT as GEMINI
from limner.calls.batch_services import RemoteBatch, most_result_bytes, open_batches
from limner.calls.downloads import fetched_lines, upload_in_pieces
from limner.calls.http import exchange
from limner.calls.journal import BatchLane
from limner.core.settings import Provider
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


BOMB = gzip.compress(bytes(2**26))
"""A megabyte would do, but 64 make it visible when they are unpacked."""


def test_body_of_error_is_read_with_cap() -> None:
    """An error that unpacks to gigabytes must not fill the memory, wherever it arrives."""
    answer = Answer(BOMB, 400, {"Content-Encoding": "gzip"})
    sends: tuple[Callable[[str], Any], ...] = (
        lambda url: upload_in_pieces(url, {}, {}, io.BytesIO(b"{}"), 2, "application/jsonl"),
        lambda url: exchange("GET", url, headers={}),
        lambda url: anext(fetched_lines(url, {})),
    )
    with Misbehaving(lambda _: answer) as server:
        for send in sends:
            tracemalloc.start()
            with pytest.raises(Fault, match="400: "):
                asyncio.run(send(f"http://{server.host}/f"))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 16 * 2**20


def test_results_and_list_without_end_are_refused() -> None:
    """A file of results is limited by the number of calls, a list of batches by the number of pages."""

    def behave(seen: Seen) -> Answer:
        if "/batches" not in seen.path:
            return Answer(b"{}\n" * 2**10 for _ in count())
        page = {"data": [{"id": str(seen.number)}], "has_more": True, "nextPageToken": str(seen.number)}
        return Answer(json.dumps(page).encode())

    with Misbehaving(behave) as server:
        for shape, facts in (("openai", OPENAI), ("gemini", GEMINI)):
            lane = BatchLane("s", facts, "m")
            batch = {"shape": shape, "share": 0.5, "calls": 10, "bytes": 2**20}
            provider = Provider.model_validate({"base_url": f"http://{server.host}", "batch": batch})
            service = open_batches("s", provider)
            with pytest.raises(Fault, match="lists more than 10,000 batches"):
                asyncio.run(service.find("tag", 0.0, 10))
            remote = RemoteBatch("b", "completed", None, {"output_file_id": "f", "response": {"responsesFile": "f"}})
            with pytest.raises(Fault, match="the results are over"):
                asyncio.run(anext(service.replies(remote, 2**16)))  # type: ignore[arg-type]
            assert most_result_bytes(lane, 1) < 2**27


def test_one_result_is_limited_like_the_reply_to_a_single_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.calls.downloads.LINE_BYTES", 100)
    monkeypatch.setattr("limner.calls.batch_services.TEXT_REPLY_BYTES", 100)
    row = json.dumps({"x": "y" * 200}).encode()
    with Misbehaving(lambda _seen: Answer(row)) as server:
        with pytest.raises(Fault, match="a line of the results is over 100 bytes"):
            fetch(server)
        batch = {"shape": "gemini", "share": 0.5, "calls": 10, "bytes": 2**20}
        provider = Provider.model_validate({"base_url": f"http://{server.host}", "batch": batch})
        with pytest.raises(Fault, match="the reply is over 100 bytes"):
            asyncio.run(open_batches("s", provider).look("b"))
