"""Faults: reasons why a call gave no result, stored with their kind and never turned into a zero."""

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
    "missing", "no_reference", "damaged", "image", "probe", "internal", "not_applicable",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

TRANSIENT: frozenset[str] = frozenset({"network", "timeout", "rate_limit", "server"})
"""Kinds that are retried immediately, with back-off, and by every later run."""

REPAIRABLE: frozenset[str] = frozenset({"auth", "credits", "setup", "local"})
"""Kinds that the user can fix, such as a wrong key, an empty account, a wrong model name or a lack of memory."""

RETRIED_NEXT_RUN: frozenset[str] = TRANSIENT | REPAIRABLE | {
    "interrupted", "missing", "no_reference", "damaged", "probe",
}  # fmt: skip
"""Kinds that the next run retries by default; the others are retried only with ``--retry-failed``."""

ASKED_AGAIN: frozenset[str] = RETRIED_NEXT_RUN - {"damaged"}
"""Kinds for which the next run calls the service again; a damaged image is redone only if that is free."""

MACHINE_SPECIFIC: frozenset[str] = REPAIRABLE - {"credits"} | {"missing", "no_reference", "probe"}
"""Kinds that may affect only one machine, such as a wrong key; other machines in a shared run still try."""

STOPPING: frozenset[str] = REPAIRABLE - {"local"}
"""Kinds after which every further call to the service would fail, so that the run stops with one message."""


FIX_AND_RERUN = "Fix this, then run the same command again: it asks again"
"""Advice for faults that the next run retries."""


CURES: dict[str, str] = {
    "network": "Check the connection, and whether the service is up.",
    "timeout": "The service is slow: lower --concurrency, or raise timeout_s in limner.toml.",
    "rate_limit": "Lower --concurrency, or set requests_per_minute in limner.toml.",
    "server": "The service failed: try again later.",
    "interrupted": "The run ended before the reply.",
    "auth": "Check the key.",
    "credits": "Add credit, or raise the limit of your account at the service.",
    "setup": "Check the address and the model's name: limner doctor.",
    "refusal": "The service refuses this content; it counts against the coverage.",
    "bad_request": "The service rejects the request: check --judge-arg and --painter-arg.",
    "truncated": "Allow longer replies: --judge-arg max_completion_tokens=N.",
    "unreadable": "The judge does not keep to the format: try another judge or --variant.",
    "damaged": "`limner verify` lists what is damaged.",
    "image": "Replace the file, or draw it again.",
    "probe": "`limner doctor` checks what measures drawings.",
    "internal": "This is an error in Limner or a plug-in: please report it.",
}
"""What to do about a fault, for the kinds whose details do not say it."""


MAX_DETAIL_CHARS = 500
"""The maximum length of the stored message of an unexpected exception."""


class Fault(Exception):
    """The reason why a call gave no result.

    Attributes:
        kind: The kind of fault.
        detail: A description, in one line if possible.
        retry_after: Seconds the service asked to wait.
        calls: Keys of the calls that led here.
        cost: The dollars charged nevertheless; None if unknown.
        doubt: The reason why the cost reported by the service is not credible.
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
        # The detail may quote a service, and databases refuse lone surrogates and NUL.
        self.detail = redact(detail.encode("utf-8", "replace").decode().replace("\0", ""))
        super().__init__(f"{kind}: {self.detail}")
        self.kind, self.retry_after = kind, retry_after
        self.calls, self.cost, self.result, self.doubt = calls, cost, result, doubt


@contextmanager
def picture_faults(picture: str) -> Iterator[None]:
    """Turn errors about a broken or missing picture into faults.

    Args:
        picture: The name of the picture in the message.

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
    """Return the fault for an image that is missing or damaged in the store; a fault is returned unchanged."""
    if isinstance(error, Fault):
        return error
    return Fault("damaged" if isinstance(error, DamagedImage) else "missing", str(error))


def unexpected_fault(error: Exception, calls: tuple[str, ...] = ()) -> Fault:
    """Return the fault for an unexpected exception, with the place in the code where it was raised."""
    description = f"{type(error).__name__}: {error}".rstrip(": ")
    return Fault(
        "internal", f"{redact(description)[:MAX_DETAIL_CHARS]} ({_where_raised(error)})", calls=calls, cost=None
    )


def _where_raised(error: Exception) -> str:
    """Return the place where it was raised, and the nearest place in Limner's code on the way there."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return "place unknown"
    places = [f"{frame.f_globals.get('__name__')}:{line}, in {frame.f_code.co_name}" for frame, line in frames]
    own = [place for place in places if place.startswith("limner.")]
    return places[-1] if not own or own[-1] == places[-1] else f"{places[-1]}, from {own[-1]}"
