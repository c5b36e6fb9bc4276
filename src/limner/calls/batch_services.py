"""Batches of a service behind one interface: submit, look up, fetch results, cancel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import IO, Any, Protocol
from urllib.parse import quote, urlsplit, urlunsplit

from ..core.errors import UsageError
from ..core.redaction import join_path
from ..core.settings import BatchFacts, Provider
from . import Fault, Kind
from .downloads import fetched_lines, upload_in_pieces
from .http import IMAGE_REPLY_BYTES, TEXT_REPLY_BYTES, Form, error_message, exchange, kind_of
from .journal import BatchLane, BatchReply

REFUSED = frozenset({"auth", "credits", "setup", "refusal", "bad_request", "rate_limit"})
"""Kinds of fault after which a service certainly did not accept a batch; after any other it may have."""
CHAT_ENDPOINT, DRAW_ENDPOINT, EDIT_ENDPOINT = "/v1/chat/completions", "/v1/images/generations", "/v1/images/edits"
GEMINI_ENDPOINT = "batchGenerateContent"


def no_batches(name: str) -> str:
    """Return the message about a model whose service has no batches that Limner supports."""
    return f"{name} does not support batches: leave out --batch, or draw and mark in separate commands"


@dataclass(frozen=True)
class RemoteBatch:
    """A batch as its service reports it.

    Attributes:
        id: Its name at the service.
        status: ``running``, or how it ended: ``completed``, ``expired``, ``cancelled``, ``failed``.
        fault: Why it failed as a whole.
        reported: The service's own object.
    """

    id: str
    status: str
    fault: Fault | None
    reported: dict[str, Any]

    @property
    def ended(self) -> bool:
        """Whether the batch has ended."""
        return self.status != "running"


class BatchService(Protocol):
    """One service's batches."""

    facts: BatchFacts

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """Return a call as a line of the file that is submitted."""
        ...

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """Upload the lines, which is free; return the service's name of the file, None where lines are sent inline."""
        ...

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """Submit the batch and return the service's name for it.

        Raises:
            Fault: A kind of `REFUSED` if it was not accepted; after any other kind it may have been.
        """
        ...

    async def find(self, tag: str, since: float) -> str | None:
        """Return the service's name of the batch with this tag, submitted after `since`; None if not listed."""
        ...

    async def forget(self, file: str) -> None:
        """Delete an uploaded file, so that no batch can be made from it."""
        ...

    async def look(self, remote: str) -> RemoteBatch:
        """Return the state of a batch."""
        ...

    def replies(self, batch: RemoteBatch, most: int) -> AsyncIterator[BatchReply]:
        """Yield the results that are available, in any order, from files of at most `most` bytes."""
        ...

    async def cancel(self, remote: str) -> None:
        """Ask the service to stop."""
        ...


def open_batches(name: str, provider: Provider) -> BatchService:
    """Return the batches of a provider.

    Raises:
        UsageError: It has none.
    """

    if provider.batch is None:
        raise UsageError(f"Limner does not support batches of {name}; leave out --batch")
    return OpenAIBatches(provider) if provider.batch.shape == "openai" else GeminiBatches(provider)


def endless_list() -> Fault:
    """Return the fault of a service whose list of batches does not end."""
    return Fault("server", f"the service lists more than {PAGE * PAGES:,} batches")


TEXT_BYTES, DRAWING_BYTES = 2**20, 32 * 2**20
"""Bytes of the results of one call, on average."""


def most_result_bytes(lane: BatchLane, calls: int) -> int:
    """Return the most bytes that the file with the results of a batch may have."""
    text = lane.endpoint == CHAT_ENDPOINT
    return max(TEXT_REPLY_BYTES if text else IMAGE_REPLY_BYTES, calls * (TEXT_BYTES if text else DRAWING_BYTES))


TAG = "limner"
"""The name of the tag among a batch's metadata."""
PAGE, PAGES = 100, 100
"""The batches on one page of a service's list, and the most pages that are read."""
CLOCKS_APART_S = 3600.0
"""The largest difference assumed between a service's clock and ours."""
OPENAI_STATES = {"completed": "completed", "expired": "expired", "cancelled": "cancelled", "failed": "failed"}
FULL = ("token_limit_exceeded", "rate_limit", "enqueued")
"""Words in errors of a batch that may be accepted later."""
UNANSWERED = {"batch_expired": 408, "batch_cancelled": 499, "request_timeout": 408}
"""HTTP statuses for unanswered calls, by the service's error code."""


class OpenAIBatches:
    """The batches of a service that speaks like OpenAI."""

    def __init__(self, provider: Provider) -> None:
        assert provider.batch is not None
        self.facts: BatchFacts = provider.batch
        self._provider = provider

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """See `limner.calls.batch_services.BatchService`."""
        request = {"custom_id": key, "method": "POST", "url": lane.endpoint, "body": body}
        return json.dumps(request, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`."""
        lines.seek(0)
        form = Form({"purpose": "batch"}, [("file", (f"{TAG}-{tag}.jsonl", lines, "application/jsonl"))])
        return str((await self._ask("POST", "/files", form=form))["id"])

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """See `limner.calls.batch_services.BatchService`."""
        body = {"input_file_id": file, "endpoint": lane.endpoint, "completion_window": "24h", "metadata": {TAG: tag}}
        return str((await self._ask("POST", "/batches", body=body))["id"])

    async def find(self, tag: str, since: float) -> str | None:
        """See `limner.calls.batch_services.BatchService`."""
        after = ""
        for _ in range(PAGES):
            page = await self._ask("GET", f"/batches?limit={PAGE}" + (f"&after={quote(after)}" if after else ""))
            rows = page.get("data") or []
            for row in rows:
                if (row.get("metadata") or {}).get(TAG) == tag:
                    return str(row["id"])
            # The newest come first.
            past = rows and float(rows[-1].get("created_at") or 0) < since - CLOCKS_APART_S
            if not rows or past or not page.get("has_more"):
                return None
            after = str(rows[-1]["id"])
        raise endless_list()

    async def forget(self, file: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("DELETE", f"/files/{quote(file, safe='')}")

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.calls.batch_services.BatchService`."""
        state = await self._ask("GET", f"/batches/{quote(remote, safe='')}")
        fault = None
        if state.get("status") == "failed":
            errors = (state.get("errors") or {}).get("data") or [{}]
            messages = "; ".join(f"{e.get('code')}: {e.get('message')}" for e in errors[:3])
            full = any(word in str(errors).casefold() for word in FULL)
            fault = Fault("rate_limit" if full else "bad_request", f"the batch failed: {messages}"[:500], result=state)
        return RemoteBatch(remote, OPENAI_STATES.get(str(state.get("status")), "running"), fault, state)

    async def replies(self, batch: RemoteBatch, most: int) -> AsyncIterator[BatchReply]:
        """See `limner.calls.batch_services.BatchService`: results first, errors second."""
        for name in ("output_file_id", "error_file_id"):
            if not (file := batch.reported.get(name)):
                continue
            url = self._provider.address(f"/files/{quote(str(file), safe='')}/content")
            async for line in fetched_lines(url, self._headers(), self._kind, most):
                if (reply := _openai_reply(line)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("POST", f"/batches/{quote(remote, safe='')}/cancel", body={})

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers(otherwise="none")

    def _kind(self, status: int, body: Any) -> Kind:
        return kind_of(status, body)

    async def _ask(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        how: dict[str, Any] = {"timeout": self._provider.timeout_s, "most": TEXT_REPLY_BYTES, "kinds": self._kind}
        return await exchange(method, self._provider.address(path), headers=self._headers(), **how, **sent)


def _openai_reply(line: dict[str, Any]) -> BatchReply | None:
    """Return the reply in a line of results or errors; None if the line has no call key."""
    key, response, error = line.get("custom_id"), line.get("response"), line.get("error")
    if not isinstance(key, str):
        return None
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        status = response.get("status_code")
        return BatchReply(key, status if isinstance(status, int) else 200, response["body"])
    if isinstance(error, dict):
        return BatchReply(key, UNANSWERED.get(str(error.get("code")), 500), {"error": error})
    return BatchReply(key, 500, {"error": {"message": error_message(line)}})


PREFIX = "limner-"
"""Prefix of a batch's display name, before the tag."""
GEMINI_STATES = {
    "BATCH_STATE_SUCCEEDED": "completed", "BATCH_STATE_FAILED": "failed", "BATCH_STATE_CANCELLED": "cancelled",
    "BATCH_STATE_EXPIRED": "expired",
}  # fmt: skip
CODES = {
    1: (499, "CANCELLED"), 3: (400, "INVALID_ARGUMENT"), 4: (504, "DEADLINE_EXCEEDED"), 5: (404, "NOT_FOUND"),
    7: (403, "PERMISSION_DENIED"), 8: (429, "RESOURCE_EXHAUSTED"), 9: (400, "FAILED_PRECONDITION"),
    13: (500, "INTERNAL"), 14: (503, "UNAVAILABLE"), 16: (401, "UNAUTHENTICATED"),
}  # fmt: skip
"""HTTP status and name of each numeric error code."""
WHOLE_REPLY = 20 * IMAGE_REPLY_BYTES
"""Bytes of the one reply that holds all results of an inline batch, images included."""


class GeminiBatches:
    """The batches of a service that speaks like Google's."""

    def __init__(self, provider: Provider) -> None:
        assert provider.batch is not None
        self.facts: BatchFacts = provider.batch
        self._provider = provider
        self._url = provider.image_url or provider.base_url

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """See `limner.calls.batch_services.BatchService`."""
        return json.dumps({"key": key, "request": body}, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`: few lines need no file."""
        if size <= self.facts.inline_bytes:
            return None
        description = {"file": {"displayName": PREFIX + tag, "mimeType": "application/jsonl"}}
        place = self._beside("/upload", "/files")
        reply = await upload_in_pieces(place, self._headers(), description, lines, size, "application/jsonl")
        return str(reply["file"]["name"])

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """See `limner.calls.batch_services.BatchService`."""
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
        """See `limner.calls.batch_services.BatchService`."""
        token = ""
        for _ in range(PAGES):
            page = await self._ask("GET", f"/batches?pageSize={PAGE}" + (f"&pageToken={quote(token)}" if token else ""))
            for row in page.get("operations") or []:
                if (row.get("metadata") or {}).get("displayName") == PREFIX + tag:
                    return str(row["name"])
            if not (token := str(page.get("nextPageToken") or "")):
                return None
        raise endless_list()

    async def forget(self, file: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("DELETE", f"/{quote(file)}")

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.calls.batch_services.BatchService`."""
        state = await self._ask("GET", f"/{quote(remote)}", most=WHOLE_REPLY)
        meta = state.get("metadata") or {}
        status = GEMINI_STATES.get(str(meta.get("state")), "running")
        fault = None
        if status == "failed":
            error = state.get("error") or {}
            http, word = CODES.get(error.get("code", 3), (400, "FAILED"))
            message = f"the batch failed: {word}: {error_message(error)}"[:500]
            fault = Fault("rate_limit" if http == 429 else "bad_request", message, result={"error": error})
        return RemoteBatch(remote, status, fault, state)

    async def replies(self, batch: RemoteBatch, most: int) -> AsyncIterator[BatchReply]:
        """See `limner.calls.batch_services.BatchService`."""
        output = batch.reported.get("response") or (batch.reported.get("metadata") or {}).get("output") or {}
        for row in (output.get("inlinedResponses") or {}).get("inlinedResponses") or []:
            if (reply := _gemini_reply((row.get("metadata") or {}).get("key"), row)) is not None:
                yield reply
        if file := output.get("responsesFile"):
            url = join_path(self._beside("/download", f"/{quote(str(file))}:download"), "?alt=media")
            async for row in fetched_lines(url, self._headers(), most=most):
                if (reply := _gemini_reply(row.get("key"), row)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("POST", f"/{quote(remote)}:cancel", body={})

    def _beside(self, before: str, path: str) -> str:
        """Return an address with a prefix before the version in its path, as file endpoints have."""
        parts = urlsplit(join_path(self._url, path))
        return urlunsplit(parts._replace(path=before + parts.path))

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers("x-goog-api-key: {key}")

    async def _ask(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        how: dict[str, Any] = {"timeout": self._provider.timeout_s, "most": TEXT_REPLY_BYTES} | sent
        return await exchange(method, join_path(self._url, path), headers=self._headers(), **how)


def _gemini_reply(key: Any, row: dict[str, Any]) -> BatchReply | None:
    """Return the reply in a row of results; None if the row has no call key."""
    if not isinstance(key, str):
        return None
    if isinstance(row.get("response"), dict):
        return BatchReply(key, 200, row["response"])
    error = row.get("error") if isinstance(row.get("error"), dict) else {"message": error_message(row)}
    assert isinstance(error, dict)
    status, word = CODES.get(error.get("code", 13), (500, "INTERNAL"))
    return BatchReply(key, status, {"error": {"status": word, **error, "code": status}})
