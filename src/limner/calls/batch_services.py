"""Batches of a service behind one interface: submit, look up, fetch results, cancel."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any
from urllib.parse import quote, urlsplit, urlunsplit

from ..core.errors import UsageError
from ..core.redaction import join_path
from ..core.settings import BatchFacts, Provider
from . import Fault
from .downloads import MOST_BYTES, fetched_lines, upload_in_pieces
from .http import IMAGE_REPLY_BYTES, TEXT_REPLY_BYTES, Form, error_message, exchange
from .journal import BatchLane, BatchReply

REFUSED = frozenset({"auth", "credits", "setup", "refusal", "bad_request", "rate_limit"})
"""Kinds of fault after which a service certainly did not accept a batch; after any other it may have."""
CHAT_ENDPOINT, DRAW_ENDPOINT, EDIT_ENDPOINT = "/v1/chat/completions", "/v1/images/generations", "/v1/images/edits"
GEMINI_ENDPOINT, MESSAGES_ENDPOINT = "batchGenerateContent", "/v1/messages"


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


class BatchService(ABC):
    """One service's batches."""

    def __init__(self, provider: Provider) -> None:
        assert provider.batch is not None
        self.facts: BatchFacts = provider.batch
        self._provider = provider

    @abstractmethod
    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """Return a call as a line of the file that is submitted."""

    @abstractmethod
    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """Upload the lines, which is free; return the service's name of the file, None where lines are sent inline."""

    @abstractmethod
    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """Submit the batch and return the service's name for it.

        Raises:
            Fault: A kind of `REFUSED` if it was not accepted; after any other kind it may have been.
        """

    @abstractmethod
    async def find(self, tag: str, since: float, calls: int) -> str | None:
        """Return the service's name of the batch with this tag and number of calls, submitted after `since`.

        None means that it is not listed.

        Raises:
            Fault: This cannot be known now.
        """

    @abstractmethod
    async def forget(self, file: str) -> None:
        """Delete an uploaded file, so that no batch can be made from it."""

    @abstractmethod
    async def look(self, remote: str) -> RemoteBatch:
        """Return the state of a batch."""

    @abstractmethod
    def replies(self, batch: RemoteBatch, most: int) -> AsyncIterator[BatchReply]:
        """Yield the results that are available, in any order, from files of at most `most` bytes."""

    @abstractmethod
    async def cancel(self, remote: str) -> None:
        """Ask the service to stop."""

    @abstractmethod
    def _headers(self) -> dict[str, str]:
        """Return the headers of a request."""

    def _address(self, path: str) -> str:
        """Return the address of a path of the service."""
        return self._provider.address(path)

    async def _ask(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        how: dict[str, Any] = {"timeout": self._provider.timeout_s, "most": TEXT_REPLY_BYTES} | sent
        return await exchange(method, self._address(path), headers=self._headers(), **how)

    async def _pages(self, path: str, cursor: str, next_page: Callable[[Any], str | None]) -> AsyncIterator[Any]:
        """Yield the pages of a list, each found by what `next_page` returns for the page before it, until that is None.

        Raises:
            Fault: The list does not end.
        """
        after: str | None = None
        for _ in range(PAGES):
            page = await self._ask("GET", path + (f"&{cursor}={quote(str(after))}" if after else ""))
            yield page
            if (after := next_page(page)) is None:
                return
        raise Fault("server", f"the service lists more than {PAGE * PAGES:,} batches")


def open_batches(name: str, provider: Provider) -> BatchService:
    """Return the batches of a provider.

    Raises:
        UsageError: It has none.
    """

    if provider.batch is None:
        raise UsageError(f"Limner does not support batches of {name}; leave out --batch")
    if provider.batch.shape == "anthropic":
        return AnthropicBatches(provider)
    return OpenAIBatches(provider) if provider.batch.shape == "openai" else GeminiBatches(provider)


TEXT_BYTES, DRAWING_BYTES = 2**20, 32 * 2**20
"""Bytes of the results of one call, on average."""


def most_result_bytes(lane: BatchLane, calls: int) -> int:
    """Return the most bytes that the file with the results of a batch may have."""
    text = lane.endpoint in (CHAT_ENDPOINT, MESSAGES_ENDPOINT)
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


class OpenAIBatches(BatchService):
    """The batches of a service that speaks like OpenAI."""

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

    async def find(self, tag: str, since: float, calls: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`."""
        async for page in self._pages(f"/batches?limit={PAGE}", "after", _last_id(since, lambda at: float(at or 0))):
            for row in page.get("data") or []:
                if (row.get("metadata") or {}).get(TAG) == tag:
                    return str(row["id"])
        return None

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
            async for line in fetched_lines(url, self._headers(), most):
                if (reply := _openai_reply(line)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("POST", f"/batches/{quote(remote, safe='')}/cancel", body={})

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers(otherwise="none")


def _last_id(since: float, instant: Callable[[Any], float]) -> Callable[[dict[str, Any]], str | None]:
    """Return the function that gives the last id of a page, after which the next begins; None if that is too old."""

    def last_id(page: dict[str, Any]) -> str | None:
        # The newest come first.
        rows = page.get("data") or []
        past = rows and instant(rows[-1].get("created_at")) < since - CLOCKS_APART_S
        return None if not rows or past or not page.get("has_more") else str(rows[-1]["id"])

    return last_id


def _instant(text: Any) -> float:
    """Return the seconds of a date and time; 0 if it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


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


class GeminiBatches(BatchService):
    """The batches of a service that speaks like Google's."""

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

    async def find(self, tag: str, since: float, calls: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`."""
        pages = self._pages(f"/batches?pageSize={PAGE}", "pageToken", lambda page: page.get("nextPageToken") or None)
        async for page in pages:
            for row in page.get("operations") or []:
                if (row.get("metadata") or {}).get("displayName") == PREFIX + tag:
                    return str(row["name"])
        return None

    async def forget(self, file: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("DELETE", f"/{quote(file)}")

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.calls.batch_services.BatchService`."""
        most = WHOLE_REPLY if self.facts.inline_bytes else TEXT_REPLY_BYTES
        state = await self._ask("GET", f"/{quote(remote)}", most=most)
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
            async for row in fetched_lines(url, self._headers(), most):
                if (reply := _gemini_reply(row.get("key"), row)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("POST", f"/{quote(remote)}:cancel", body={})

    def _beside(self, before: str, path: str) -> str:
        """Return an address with a prefix before the version in its path, as file endpoints have."""
        parts = urlsplit(self._address(path))
        return urlunsplit(parts._replace(path=before + parts.path))

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers("x-goog-api-key: {key}")

    def _address(self, path: str) -> str:
        return join_path(self._provider.image_url or self._provider.base_url, path)


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


ANTHROPIC_VERSION = "2023-06-01"
"""Not the newer 2026-10-21, which takes no temperature; presets set one. Anthropic keeps both versions unchanged."""
STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
"""HTTP status of each type of error."""
PREFIX_LENGTH = 20
"""Characters of a tag in the id of each call: 120 bits; with the call's key, 63 of the 64 that an id may have."""


def anthropic_headers(provider: Provider) -> dict[str, str]:
    """Return the headers of a request to Anthropic's API."""
    return provider.key_headers("x-api-key: {key}") | {"anthropic-version": ANTHROPIC_VERSION}


class AnthropicBatches(BatchService):
    """The batches of a service that speaks like Anthropic's.

    They have no name or metadata, so the tag is part of each call's id. A batch shows these only when it has ended.

    https://platform.claude.com/docs/en/build-with-claude/batch-processing and anthropic 2.8.0; read 2026-11-18.
    """

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._others: set[str] = set()

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """See `limner.calls.batch_services.BatchService`."""
        return json.dumps({"custom_id": key, "params": body}, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`: lines are always sent inline."""
        return None

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """See `limner.calls.batch_services.BatchService`."""
        assert lines is not None
        lines.seek(0)
        rows = [json.loads(line) for line in lines]
        asked = [row | {"custom_id": _prefix(tag) + _short(row["custom_id"])} for row in rows]
        return str((await self._ask("POST", "", body={"requests": asked}))["id"])

    async def find(self, tag: str, since: float, calls: int) -> str | None:
        """See `limner.calls.batch_services.BatchService`."""
        running = ""
        async for page in self._pages(f"?limit={PAGE}", "after_id", _last_id(since, _instant)):
            for row in page.get("data") or []:
                id = str(row["id"])
                if id in self._others or _count(row) != calls:
                    continue
                if row.get("processing_status") != "ended":
                    running = id
                elif await self._has(id, tag):
                    return id
        if running:
            raise Fault("server", f"whether {running} is this batch shows only when it has ended")
        return None

    async def forget(self, file: str) -> None:
        """See `limner.calls.batch_services.BatchService`: there are no files."""

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.calls.batch_services.BatchService`."""
        state = await self._ask("GET", f"/{quote(remote, safe='')}")
        status = "running"
        if state.get("processing_status") == "ended":
            counts = state.get("request_counts") or {}
            ends = {"cancelled": counts.get("canceled"), "expired": counts.get("expired")}
            status = next((end for end, count in ends.items() if count), "completed")
        return RemoteBatch(remote, status, None, state)

    async def replies(self, batch: RemoteBatch, most: int) -> AsyncIterator[BatchReply]:
        """See `limner.calls.batch_services.BatchService`."""
        async for row in self._results(batch.id, most):
            if (reply := _anthropic_reply(row)) is not None:
                yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.calls.batch_services.BatchService`."""
        await self._ask("POST", f"/{quote(remote, safe='')}/cancel", body={})

    async def _has(self, remote: str, tag: str) -> bool:
        """Return whether the calls of a batch that has ended have this tag."""
        async for row in self._results(remote):
            if str(row.get("custom_id")).startswith(_prefix(tag)):
                return True
            break
        self._others.add(remote)
        return False

    def _results(self, remote: str, most: int = MOST_BYTES) -> AsyncIterator[dict[str, Any]]:
        return fetched_lines(self._address(f"/{quote(remote, safe='')}/results"), self._headers(), most=most)

    def _headers(self) -> dict[str, str]:
        return anthropic_headers(self._provider)

    def _address(self, path: str) -> str:
        return self._provider.address(f"/messages/batches{path}")


def _short(digits: str) -> str:
    """Return hexadecimal digits in the characters that an id may have."""
    return urlsafe_b64encode(bytes.fromhex(digits)).decode().rstrip("=")


def _prefix(tag: str) -> str:
    """Return the beginning of the ids of the calls in a batch."""
    return _short(tag)[:PREFIX_LENGTH]


def _count(row: dict[str, Any]) -> int:
    """Return the number of calls in a listed batch."""
    return sum(count for count in (row.get("request_counts") or {}).values() if isinstance(count, int))


def _anthropic_reply(row: dict[str, Any]) -> BatchReply | None:
    """Return the reply in a row of results; None if the row has no call key."""
    id, result = str(row.get("custom_id")), row.get("result")
    try:
        key = urlsafe_b64decode(id[PREFIX_LENGTH:] + "=").hex()
    except ValueError:
        return None
    result = result if isinstance(result, dict) else {}
    if isinstance(result.get("message"), dict):
        return BatchReply(key, 200, result["message"])
    ended = {"canceled": 499, "expired": 408}.get(str(result.get("type")))
    error = result.get("error")
    inner = error.get("error") if isinstance(error, dict) else None
    if not isinstance(inner, dict):
        inner = {"message": error_message(row)}
    return BatchReply(key, ended or STATUSES.get(str(inner.get("type")), 500), {"error": inner})
