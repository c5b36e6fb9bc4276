"""Gemini's batches: requests in the call that makes the batch, or in a file beside it; results likewise.

Requests, states and uploads are as Google's Python package google-genai 3.1 has them. The lines of a result file have
a key beside a response or an error, as other programs read them; no page of Google's shows one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import IO, Any
from urllib.parse import quote, urlsplit, urlunsplit

from ..calls import Fault
from ..calls.queued import BatchLane, BatchReply
from ..core.redaction import join_path
from ..core.settings import BatchFacts, Provider
from .batches import RemoteBatch
from .files import fetched_lines, upload_in_pieces
from .http import IMAGE_REPLY_BYTES, exchange
from .kinds import error_message

PAGE = 100
PREFIX = "limner-"
"""How a batch's display name begins; the tag follows."""
ENDS = {
    "BATCH_STATE_SUCCEEDED": "completed", "BATCH_STATE_FAILED": "failed", "BATCH_STATE_CANCELLED": "cancelled",
    "BATCH_STATE_EXPIRED": "expired",
}  # fmt: skip
CODES = {
    1: (499, "CANCELLED"), 3: (400, "INVALID_ARGUMENT"), 4: (504, "DEADLINE_EXCEEDED"), 5: (404, "NOT_FOUND"),
    7: (403, "PERMISSION_DENIED"), 8: (429, "RESOURCE_EXHAUSTED"), 9: (400, "FAILED_PRECONDITION"),
    13: (500, "INTERNAL"), 14: (503, "UNAVAILABLE"), 16: (401, "UNAUTHENTICATED"),
}  # fmt: skip
"""Status and word of the numbers by which errors are told."""
WHOLE_REPLY = 20 * IMAGE_REPLY_BYTES
"""The results of a batch without a file come in one reply, images and all."""


class GeminiBatches:
    """The batches of a service that speaks like Google's."""

    def __init__(self, provider: Provider) -> None:
        assert provider.batch is not None
        self.facts: BatchFacts = provider.batch
        self._provider = provider
        self._url = provider.image_url or provider.base_url

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """See `limner.transport.batches.BatchService`."""
        return json.dumps({"key": key, "request": body}, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """See `limner.transport.batches.BatchService`: few lines need no file."""
        if size <= self.facts.inline_bytes:
            return None
        told = {"file": {"displayName": PREFIX + tag, "mimeType": "application/jsonl"}}
        place = self._beside("/upload", "/files")
        reply = await upload_in_pieces(place, self._headers(), told, lines, size, "application/jsonl")
        return str(reply["file"]["name"])

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """See `limner.transport.batches.BatchService`."""
        source: dict[str, Any] = {"fileName": file}
        if file is None:
            assert lines is not None
            lines.seek(0)
            rows = [json.loads(line) for line in lines]
            asked = [{"request": row["request"], "metadata": {"key": row["key"]}} for row in rows]
            source = {"requests": {"requests": asked}}
        body = {"batch": {"displayName": PREFIX + tag, "inputConfig": source}}
        return str((await self._ask("POST", f"/models/{quote(lane.model)}:{lane.endpoint}", body=body))["name"])

    async def find(self, tag: str, since: float) -> str | None:
        """See `limner.transport.batches.BatchService`."""
        token = ""
        while True:
            page = await self._ask("GET", f"/batches?pageSize={PAGE}" + (f"&pageToken={quote(token)}" if token else ""))
            for row in page.get("operations") or []:
                if (row.get("metadata") or {}).get("displayName") == PREFIX + tag:
                    return str(row["name"])
            if not (token := str(page.get("nextPageToken") or "")):
                return None

    async def forget(self, file: str) -> None:
        """See `limner.transport.batches.BatchService`."""
        await self._ask("DELETE", f"/{quote(file)}")

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.transport.batches.BatchService`."""
        told = await self._ask("GET", f"/{quote(remote)}")
        meta = told.get("metadata") or {}
        status = ENDS.get(str(meta.get("state")), "running")
        fault = None
        if status == "failed":
            error = told.get("error") or {}
            http, word = CODES.get(error.get("code", 3), (400, "FAILED"))
            said = f"the batch failed: {word}: {error_message(error)}"[:500]
            fault = Fault("rate_limit" if http == 429 else "bad_request", said, result={"error": error})
        return RemoteBatch(remote, status, fault, told)

    async def replies(self, batch: RemoteBatch) -> AsyncIterator[BatchReply]:
        """See `limner.transport.batches.BatchService`."""
        output = batch.told.get("response") or (batch.told.get("metadata") or {}).get("output") or {}
        for row in (output.get("inlinedResponses") or {}).get("inlinedResponses") or []:
            if (reply := _reply((row.get("metadata") or {}).get("key"), row)) is not None:
                yield reply
        if file := output.get("responsesFile"):
            url = join_path(self._beside("/download", f"/{quote(str(file))}:download"), "?alt=media")
            async for row in fetched_lines(url, self._headers()):
                if (reply := _reply(row.get("key"), row)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.transport.batches.BatchService`."""
        await self._ask("POST", f"/{quote(remote)}:cancel", body={})

    def _beside(self, before: str, path: str) -> str:
        """An address whose path has a word before the version, as those for files have."""
        parts = urlsplit(join_path(self._url, path))
        return urlunsplit(parts._replace(path=before + parts.path))

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers("x-goog-api-key: {key}")

    async def _ask(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        how: dict[str, Any] = {"timeout": self._provider.timeout_s, "most": WHOLE_REPLY}
        return await exchange(method, join_path(self._url, path), headers=self._headers(), **how, **sent)


def _reply(key: Any, row: dict[str, Any]) -> BatchReply | None:
    """What a row of results says; None for one that is nobody's."""
    if not isinstance(key, str):
        return None
    if isinstance(row.get("response"), dict):
        return BatchReply(key, 200, row["response"])
    error = row.get("error") if isinstance(row.get("error"), dict) else {"message": error_message(row)}
    assert isinstance(error, dict)
    status, word = CODES.get(error.get("code", 13), (500, "INTERNAL"))
    return BatchReply(key, status, {"error": {"status": word, **error, "code": status}})
