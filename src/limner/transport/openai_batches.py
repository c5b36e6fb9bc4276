"""OpenAI's batches: a file of requests, a batch made from it, a file of results and one of errors.

Requests and the batch object are as OpenAI's Python package 3.49 has them, the lines of results and errors and the
codes of calls that were not answered as its API description has them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import IO, Any
from urllib.parse import quote

from ..calls import Fault, Kind
from ..calls.queued import BatchLane, BatchReply
from ..core.settings import BatchFacts, Provider
from .batches import RemoteBatch
from .files import fetched_lines
from .http import TEXT_REPLY_BYTES, Form, exchange
from .kinds import error_message, kind_of

TAG = "limner"
"""The name of the tag among a batch's metadata."""
PAGE = 100
CLOCKS_APART_S = 3600.0
"""So far a service's clock may be from ours."""
ENDS = {"completed": "completed", "expired": "expired", "cancelled": "cancelled", "failed": "failed"}
FULL = ("token_limit_exceeded", "rate_limit", "enqueued")
"""Words of errors by which a batch finds no room now, and may later."""
UNANSWERED = {"batch_expired": 408, "batch_cancelled": 499, "request_timeout": 408}
"""Statuses of calls that the service has not answered, by its code."""


class OpenAIBatches:
    """The batches of a service that speaks like OpenAI."""

    def __init__(self, provider: Provider) -> None:
        assert provider.batch is not None
        self.facts: BatchFacts = provider.batch
        self._provider = provider

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """See `limner.transport.batches.BatchService`."""
        told = {"custom_id": key, "method": "POST", "url": lane.endpoint, "body": body}
        return json.dumps(told, ensure_ascii=False).encode() + b"\n"

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """See `limner.transport.batches.BatchService`."""
        lines.seek(0)
        form = Form({"purpose": "batch"}, [("file", (f"{TAG}-{tag}.jsonl", lines, "application/jsonl"))])
        return str((await self._ask("POST", "/files", form=form))["id"])

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """See `limner.transport.batches.BatchService`."""
        body = {"input_file_id": file, "endpoint": lane.endpoint, "completion_window": "24h", "metadata": {TAG: tag}}
        return str((await self._ask("POST", "/batches", body=body))["id"])

    async def find(self, tag: str, since: float) -> str | None:
        """See `limner.transport.batches.BatchService`."""
        after = ""
        while True:
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

    async def forget(self, file: str) -> None:
        """See `limner.transport.batches.BatchService`."""
        await self._ask("DELETE", f"/files/{quote(file, safe='')}")

    async def look(self, remote: str) -> RemoteBatch:
        """See `limner.transport.batches.BatchService`."""
        told = await self._ask("GET", f"/batches/{quote(remote, safe='')}")
        fault = None
        if told.get("status") == "failed":
            errors = (told.get("errors") or {}).get("data") or [{}]
            said = "; ".join(f"{e.get('code')}: {e.get('message')}" for e in errors[:3])
            full = any(word in str(errors).casefold() for word in FULL)
            fault = Fault("rate_limit" if full else "bad_request", f"the batch failed: {said}"[:500], result=told)
        return RemoteBatch(remote, ENDS.get(str(told.get("status")), "running"), fault, told)

    async def replies(self, batch: RemoteBatch) -> AsyncIterator[BatchReply]:
        """See `limner.transport.batches.BatchService`: results first, errors second."""
        for name in ("output_file_id", "error_file_id"):
            if not (file := batch.told.get(name)):
                continue
            url = self._provider.address(f"/files/{quote(str(file), safe='')}/content")
            async for line in fetched_lines(url, self._headers(), self._kind):
                if (reply := _reply(line)) is not None:
                    yield reply

    async def cancel(self, remote: str) -> None:
        """See `limner.transport.batches.BatchService`."""
        await self._ask("POST", f"/batches/{quote(remote, safe='')}/cancel", body={})

    def _headers(self) -> dict[str, str]:
        return self._provider.key_headers(otherwise="none")

    def _kind(self, status: int, body: Any) -> Kind:
        return kind_of(status, body)

    async def _ask(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        how: dict[str, Any] = {"timeout": self._provider.timeout_s, "most": TEXT_REPLY_BYTES, "kinds": self._kind}
        return await exchange(method, self._provider.address(path), headers=self._headers(), **how, **sent)


def _reply(line: dict[str, Any]) -> BatchReply | None:
    """What a line of results or errors says; None for one that is neither."""
    key, response, error = line.get("custom_id"), line.get("response"), line.get("error")
    if not isinstance(key, str):
        return None
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        status = response.get("status_code")
        return BatchReply(key, status if isinstance(status, int) else 200, response["body"])
    if isinstance(error, dict):
        return BatchReply(key, UNANSWERED.get(str(error.get("code")), 500), {"error": error})
    return BatchReply(key, 500, {"error": {"message": error_message(line)}})
