"""Faults: reasons why a call gave no result. They are stored with their kind, never turned into a zero."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from .errors import DamagedImage, LostImage
from .images import BadImage
from .redaction import redact

Kind = Literal[
    "network", "timeout", "rate_limit", "server", "interrupted",
    "auth", "credits", "setup", "local", "refusal", "bad_request", "truncated", "unreadable",
    "missing", "damaged", "image", "probe", "internal", "not_applicable",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

TRANSIENT: frozenset[str] = frozenset({"network", "timeout", "rate_limit", "server"})
"""Kinds that are retried at once, with back-off, and by every later run."""

REPAIRABLE: frozenset[str] = frozenset({"auth", "credits", "setup", "local"})
"""Kinds whose cause the user can remove: a key, an account, a model's name or address, a function, memory."""

RETRIED_NEXT_RUN: frozenset[str] = TRANSIENT | REPAIRABLE | {"interrupted", "missing", "damaged", "probe"}
"""Kinds that the next run retries by default; the others are retried only with ``--retry-failed``."""

ASKED_AGAIN: frozenset[str] = RETRIED_NEXT_RUN - {"damaged"}
"""Kinds that the next run requests again; a damaged image is only redone if that costs nothing."""

MACHINE_SPECIFIC: frozenset[str] = REPAIRABLE - {"credits"} | {"missing", "probe"}
"""Kinds that may concern one machine only, such as a wrong key: other machines of a shared run try for themselves."""

STOPPING: frozenset[str] = REPAIRABLE - {"local"}
"""Kinds after which every further call to the same service would fail: the run stops with one message."""


FIX_AND_RERUN = "Fix this, then run the same command again: it asks again"
"""Advice for faults that the next run retries."""


MAX_DETAIL_CHARS = 500
"""Characters kept of an unexpected exception's message."""


class Fault(Exception):
    """The reason why a call gave no result.

    Attributes:
        kind: What sort of fault.
        detail: A description, in one line where possible.
        retry_after: Seconds the service asked to wait.
        calls: Keys of the calls that led here.
        cost: Dollars paid nevertheless; None when unknown.
        doubt: Why the cost that the service reported is not credible.
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
        # This may quote a service; databases refuse lone surrogates and NUL.
        self.detail = redact(detail.encode("utf-8", "replace").decode().replace("\0", ""))
        super().__init__(f"{kind}: {self.detail}")
        self.kind, self.retry_after = kind, retry_after
        self.calls, self.cost, self.result, self.doubt = calls, cost, result, doubt


@contextmanager
def picture_faults(picture: str) -> Iterator[None]:
    """Raise the fault of the call that needs a picture if it is broken or missing from the store.

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
        raise fault_of_lost_image(error) from error


def fault_of_lost_image(error: LostImage | Fault) -> Fault:
    """Return the fault for an image that the store lacks or has damaged; a fault is returned as it is."""
    if isinstance(error, Fault):
        return error
    return Fault("damaged" if isinstance(error, DamagedImage) else "missing", str(error))


def unexpected_fault(error: Exception, calls: tuple[str, ...] = ()) -> Fault:
    """Return an unforeseen exception as the fault of the item it happened to, with its place in the code."""
    description = f"{type(error).__name__}: {error}".rstrip(": ")
    return Fault(
        "internal", f"{redact(description)[:MAX_DETAIL_CHARS]} ({_where_raised(error)})", calls=calls, cost=None
    )


def _where_raised(error: Exception) -> str:
    """Return where it was raised, and the nearest place in Limner's code that led there."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return "place unknown"
    places = [f"{frame.f_globals.get('__name__')}:{line}, in {frame.f_code.co_name}" for frame, line in frames]
    own = [place for place in places if place.startswith("limner.")]
    return places[-1] if not own or own[-1] == places[-1] else f"{places[-1]}, from {own[-1]}"
