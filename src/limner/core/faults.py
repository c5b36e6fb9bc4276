"""Faults: why a call gave no result. Stored with their kind, never turned into a zero."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from .errors import DamagedImage, LostImage
from .images import BadImage
from .redaction import redacted

Kind = Literal[
    "network", "timeout", "rate_limit", "server", "interrupted",
    "auth", "credits", "setup", "local", "refusal", "bad_request", "truncated", "unreadable",
    "missing", "damaged", "image", "probe", "internal", "not_applicable",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

PASSING: frozenset[str] = frozenset({"network", "timeout", "rate_limit", "server"})
"""Tried again at once, with back-off, and by every later run."""

REPAIRABLE: frozenset[str] = frozenset({"auth", "credits", "setup", "local"})
"""The user can remove the cause: a key, an account, a model's name or address, their own function, memory."""

RETRIED_NEXT_RUN: frozenset[str] = PASSING | REPAIRABLE | {"interrupted", "missing", "damaged", "probe"}
"""Tried again by the next run without being asked to; the others only by ``--retry-failed``."""

ASKED_AGAIN: frozenset[str] = RETRIED_NEXT_RUN - {"damaged"}
"""What the next run asks for again; for a damaged image it only looks whether that costs nothing."""

OF_A_MACHINE: frozenset[str] = REPAIRABLE - {"credits"} | {"missing", "probe"}
"""These may be another machine's alone, such as a wrong key: who shares a run with it tries them for itself."""

STOPPING: frozenset[str] = REPAIRABLE - {"local"}
"""Every further call to the same service would fail alike: the run stops with one message."""


ASK_AGAIN = "Fix this, then run the same command again: it asks again"
"""What to do about faults that the next run tries again."""


MOST_SAID = 500
"""Of an unexpected exception's own words so many characters are kept."""


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
        Fault: ``image``, ``missing`` or ``damaged``.
    """
    try:
        yield
    except BadImage as error:
        raise Fault("image", f"{picture}: {error}") from error
    except LostImage as error:
        raise lost(error) from error


def lost(error: LostImage | Fault) -> Fault:
    """Return an image that the store does not have, or no longer as it was, as a fault; a fault is one already."""
    if isinstance(error, Fault):
        return error
    return Fault("damaged" if isinstance(error, DamagedImage) else "missing", str(error))


def unexpected(error: Exception, calls: tuple[str, ...] = ()) -> Fault:
    """Return an exception that nobody foresaw, as the fault of the one item it happened to, with where it happened."""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return Fault("internal", f"{redacted(said)[:MOST_SAID]} ({_place(error)})", calls=calls, cost=None)


def _place(error: Exception) -> str:
    """Where it was raised, and the nearest place of Limner's that led there."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return "nobody knows where"
    told = [f"{frame.f_globals.get('__name__')}:{line}, in {frame.f_code.co_name}" for frame, line in frames]
    own = [place for place in told if place.startswith("limner.")]
    return told[-1] if not own or own[-1] == told[-1] else f"{told[-1]}, from {own[-1]}"
