"""Faults: why a call gave no result. Stored with their kind, never turned into a zero."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from .errors import StoreError
from .images import BadImage
from .redaction import redacted

Kind = Literal[
    "network", "timeout", "rate_limit", "server", "interrupted",
    "auth", "credits", "refusal", "bad_request", "truncated", "unreadable",
    "missing", "image", "probe", "not_applicable",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

PASSING: frozenset[str] = frozenset({"network", "timeout", "rate_limit", "server"})
"""Tried again at once, with back-off, and by every later run."""

RETRIED_NEXT_RUN: frozenset[str] = PASSING | {"interrupted", "auth", "credits", "missing", "probe"}
"""Tried again by the next run without being asked to; the others only by ``--retry-failed``."""

STOPPING: frozenset[str] = frozenset({"auth", "credits"})
"""Every further call to the same service would fail alike: the run stops with one message."""


class Fault(Exception):
    """A call that gave no result.

    Attributes:
        kind: What sort of fault.
        detail: What was seen, in one line where possible.
        retry_after: Seconds the service asked to wait.
        calls: Keys of the calls that led here.
        cost: What was paid all the same; None when unknown.
        doubt: Why the service's word on that is not credible.
    """

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        retry_after: float | None = None,
        calls: tuple[str, ...] = (),
        cost: float | None = 0.0,
        result: dict[str, object] | None = None,
        doubt: str | None = None,
    ) -> None:
        # Services' own words end up here; no database takes half a character pair or a NUL.
        self.detail = redacted(detail.encode("utf-8", "replace").decode().replace("\0", ""))
        super().__init__(f"{kind}: {self.detail}")
        self.kind, self.retry_after = kind, retry_after
        self.calls, self.cost, self.result, self.doubt = calls, cost, result, doubt


@contextmanager
def picture_faults(picture: str) -> Iterator[None]:
    """A picture that is broken, or not in the store, as the fault of the call that needs it.

    Args:
        picture: What it is called in the message.

    Raises:
        Fault: ``image`` or ``missing``.
    """
    try:
        yield
    except BadImage as error:
        raise Fault("image", f"{picture}: {error}") from error
    except StoreError as error:
        raise Fault("missing", str(error)) from error
