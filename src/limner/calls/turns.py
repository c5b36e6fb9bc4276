"""When a call may go out: within what a service allows, and after the first call to it, which goes out alone.

So a wrong address, key or model is reported once.
"""

from __future__ import annotations

import asyncio
import difflib
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ..core.errors import StopRun, UsageError
from ..core.faults import STOPPING, Fault
from ..core.redaction import join_path, public_address
from ..core.settings import OWN, Provider

MINUTE_S = 60.0
AT_ONCE_S = 1.0
"""After a pause, this many seconds' share may go at once; services may count by the second."""


@dataclass(frozen=True)
class Limits:
    """What a service allows, and how long to wait for it.

    Attributes:
        attempt_s: Seconds one attempt may take.
        call_s: Seconds after which no further attempt is begun.
        idempotency_header: The header by which the service recognises a repeated request.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    attempt_s: float = 600.0
    call_s: float = 3600.0
    idempotency_header: str | None = None


class RateLimit:
    """The gate that lets calls through to one service: first come, first served."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._requests = _meter(limits.requests_per_minute)
        self._tokens = _meter(limits.tokens_per_minute)
        self._open_at = 0.0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int = 0) -> None:
        """Wait for this attempt's turn; it counts from the moment it is let through."""
        async with self._turn:
            # Checked together: a call that waits for a pause to end must not use up its share before.
            while (wait := self._wait(tokens)) > 0:
                await asyncio.sleep(wait)
            at = time.monotonic()
            if self._requests is not None:
                self._requests.take(1, at)
            if self._tokens is not None and tokens:
                self._tokens.take(tokens, at)

    def hold(self, seconds: float) -> None:
        """Delay every call to the service by the seconds it asked for."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)

    def _wait(self, tokens: int) -> float:
        at = time.monotonic()
        free = [self._open_at]
        if self._requests is not None:
            free.append(self._requests.free_at(1, at))
        if self._tokens is not None and tokens:
            free.append(self._tokens.free_at(tokens, at))
        return max(free) - at


class Meter:
    """A limit of `per_minute` in any minute, spread evenly over it.

    An amount larger than a minute's share goes alone, and takes as many minutes as it fills.
    """

    def __init__(self, per_minute: float) -> None:
        self._limit = per_minute
        self._taken: deque[tuple[float, float]] = deque()
        self._used = 0.0
        self._due = float("-inf")

    def free_at(self, amount: float, at: float) -> float:
        """Return the time at which this amount can be let through, as seen at time `at`."""
        while self._taken and self._taken[0][0] <= at:
            self._used -= self._taken.popleft()[1]
        free, over = self._due, self._used + min(amount, self._limit) - self._limit
        for end, size in self._taken:
            if over <= 0:
                break
            free, over = max(free, end), over - size
        return free

    def take(self, amount: float, at: float) -> None:
        """Count an amount that is let through now."""
        share, minutes = min(amount, self._limit), amount / self._limit
        self._taken.append((at + MINUTE_S * max(1.0, minutes), share))
        self._used += share
        self._due = max(self._due, at - AT_ONCE_S) + MINUTE_S * minutes


def _meter(per_minute: float | None) -> Meter | None:
    return None if per_minute is None else Meter(per_minute)


LOOK_S = 10.0
"""Seconds to wait for a service's list of models."""
SHOWN = 8
"""The most models of a service that a message lists."""


class Unusable(StopRun):
    """The error for a service whose first call shows that every further one would fail, too."""

    def __init__(self, fault: Fault, message: str = "") -> None:
        super().__init__(message or fault.detail)
        self.fault = fault


@dataclass
class FirstCall:
    """The first call to one target.

    Attributes:
        key: The call that is being made; None if there is none.
        answered: Whether the service has answered, so that other calls need not wait.
        error: The reason why the service cannot be used.
        changed: Set at every change, then replaced.
    """

    key: str | None = None
    answered: bool = False
    error: Unusable | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self) -> None:
        """Wake up the calls that wait."""
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class FirstCalls:
    """The first call to each target: the other calls to the target wait until it is answered."""

    def __init__(self) -> None:
        self._by_target: dict[str, FirstCall] = {}

    @asynccontextmanager
    async def turn(self, target: str, key: str, provider: Provider | None) -> AsyncIterator[None]:
        """Wait, unless this is the first call to the target or the first one is answered; the block makes the call.

        Calls without a provider do not wait.

        Raises:
            Unusable: The first call showed that the service cannot be used.
        """
        first = self._by_target.setdefault(target, FirstCall(answered=provider is None))
        while first.error is None and not first.answered and first.key is not None:
            await first.changed.wait()
        if first.error is not None:
            raise first.error
        first.key = first.key or key
        try:
            yield
        except Unusable as error:
            first.error = Unusable(error.fault, await explain(target, error.fault, provider))
            raise first.error from error
        finally:
            if first.key == key and not first.answered:
                first.key = None
                first.notify()

    def answer(self, target: str, key: str, fault: Fault | None) -> None:
        """Note how an attempt ended: after an answer to the first call, the others need not wait.

        Raises:
            Unusable: It was the first call, and it shows that the service cannot be used.
        """
        first = self._by_target[target]
        if first.answered or first.key != key:
            return
        if fault is not None and fault.cost == 0.0 and fault.kind in {*STOPPING, "network"}:
            raise Unusable(fault)
        first.answered = True
        first.notify()


def is_unreachable(fault: Fault) -> bool:
    """Return whether no connection was made; such a call costs nothing."""
    return fault.kind == "network" and fault.cost == 0.0


async def explain(target: str, fault: Fault, provider: Provider | None) -> str:
    """Return the message about a service whose first call failed: what was tried, why it failed, what to do."""
    service, _, model = target.partition("/")
    hints: list[str] = []
    if provider is None:
        pass
    elif is_unreachable(fault):
        hints.append(f"Is the server running, and is base_url of [providers.{service}] in {OWN} right?")
    elif fault.kind == "auth":
        key = f"the key in {provider.key_env}" if provider.key_env else f"key_env of [providers.{service}] in {OWN}"
        hints.append(f"Check {key}.")
    elif fault.kind == "setup" and fault.detail.startswith("4"):
        hints += await _setup_hints(service, model, provider)
    end = "No failure was stored: fix this, then run the same command again."
    return " ".join([f"{target}: {fault.detail.rstrip('.')}.", *hints, end])


async def _setup_hints(service: str, model: str, provider: Provider) -> list[str]:
    """Return what the service's list of models says about a wrong address or an unknown model."""
    try:
        models = await list_models(provider)
    except (Fault, UsageError):
        longer = join_path(provider.base_url, "/v1")
        try:
            await list_models(provider.model_copy(update={"base_url": longer}))
        except (Fault, UsageError):
            return [f"Check the model's name, and base_url of [providers.{service}] in {OWN}."]
        return [f'The address lacks /v1: write base_url = "{public_address(longer)}" in [providers.{service}].']
    if model in models:
        return []
    near = difflib.get_close_matches(model, models, SHOWN, cutoff=0.3)
    shown = [*near, *(name for name in models if name not in near)][:SHOWN]
    more = f" and {len(models) - len(shown)} more" if len(models) > len(shown) else ""
    return [f"The service offers: {', '.join(shown)}{more}."] if models else []


async def list_models(provider: Provider) -> list[str]:
    """Return the names of the models that a service offers.

    Raises:
        Fault: The service has no such list, or cannot be reached.
        UsageError: The service needs a key that is not set.
    """
    from .http import TEXT_REPLY_BYTES, exchange

    head = provider.key_headers("x-api-key: {key}" if provider.shape == "anthropic" else "Authorization: Bearer {key}")
    address = provider.address("/models")
    reply = await exchange("GET", address, headers=head, timeout=LOOK_S, most=TEXT_REPLY_BYTES)
    rows = reply.get("data")
    if not isinstance(rows, list):
        raise Fault("server", f"{public_address(address)} is not a list of models")
    return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row]
