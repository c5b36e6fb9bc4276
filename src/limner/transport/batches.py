"""The seam behind which a service's batches stand: hand in, look up, ask after, fetch, cancel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

from ..calls import Fault
from ..calls.queued import BatchLane, BatchReply
from ..core.errors import UsageError
from ..core.settings import BatchFacts, Provider

REFUSED = frozenset({"auth", "credits", "setup", "refusal", "bad_request", "rate_limit"})
"""Kinds of fault by which a service has not taken a batch; after any other it may have."""


CHAT_ENDPOINT, DRAW_ENDPOINT, EDIT_ENDPOINT = "/v1/chat/completions", "/v1/images/generations", "/v1/images/edits"
GEMINI_ENDPOINT = "batchGenerateContent"


def no_batches(name: str) -> str:
    """What is said of a model whose service has no batches that Limner speaks to."""
    return f"{name} takes no batches: leave --batch out, or draw and mark apart, each with or without it"


@dataclass(frozen=True)
class RemoteBatch:
    """A batch as its service tells of it.

    Attributes:
        id: What the service calls it.
        status: ``running``, or how it ended: ``completed``, ``expired``, ``cancelled``, ``failed``.
        fault: Why it failed as a whole.
        told: The service's own object.
    """

    id: str
    status: str
    fault: Fault | None
    told: dict[str, Any]

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.status != "running"


class BatchService(Protocol):
    """One service's batches."""

    facts: BatchFacts

    def line(self, key: str, lane: BatchLane, body: dict[str, Any]) -> bytes:
        """A call as a line of the file that is handed in."""
        ...

    async def upload(self, tag: str, lines: IO[bytes], size: int) -> str | None:
        """Bring the lines to the service, which costs nothing; what it calls them, or None where they go along."""
        ...

    async def create(self, tag: str, lane: BatchLane, file: str | None, lines: IO[bytes] | None) -> str:
        """Hand the batch in; what the service calls it.

        Raises:
            Fault: One of `REFUSED` where it was not taken; after any other nobody knows.
        """
        ...

    async def find(self, tag: str, since: float) -> str | None:
        """What the service calls the batch with this tag, handed in since then; None where its list has none."""
        ...

    async def forget(self, file: str) -> None:
        """Take a file away, so that nothing can be made of it any longer."""
        ...

    async def look(self, remote: str) -> RemoteBatch:
        """How a batch stands."""
        ...

    def replies(self, batch: RemoteBatch) -> AsyncIterator[BatchReply]:
        """What there is of results, in whatever order."""
        ...

    async def cancel(self, remote: str) -> None:
        """Ask the service to stop."""
        ...


def open_batches(name: str, provider: Provider) -> BatchService:
    """The batches of a provider.

    Raises:
        UsageError: It has none.
    """
    from .gemini_batches import GeminiBatches
    from .openai_batches import OpenAIBatches

    if provider.batch is None:
        raise UsageError(f"{name} has no batches that Limner knows of; leave --batch out")
    return OpenAIBatches(provider) if provider.batch.shape == "openai" else GeminiBatches(provider)
