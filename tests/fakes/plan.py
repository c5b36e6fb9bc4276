"""What the fake service is told to do: checked strictly, so that a misspelt key cannot pass unnoticed."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from tests.fakes.faults import KINDS, MALFORMED
from tests.fakes.truth import POINTS_HEADING, POINTS_REGEX


@dataclass(frozen=True, slots=True)
class Kill:
    """A signal for `pid` when the `at_request`-th request since the plan was set has come in."""

    pid: int
    at_request: int
    signal: str = "SIGKILL"

    def __post_init__(self) -> None:
        _need(self.pid > 1 and self.pid != os.getpid(), "kill.pid", "another process")
        _need(self.at_request > 0, "kill.at_request", "a number from 1")
        _need(self.signal in signal.Signals.__members__, "kill.signal", "a signal's name")


@dataclass(frozen=True, slots=True)
class BasePlan:
    """What a test can ask of any fake service; the defaults are a keyless service that is always right.

    Attributes:
        seed: Seeds truths, faults and latencies.
        latency_s: Seconds before a reply: a number, or [low, high] for a seeded draw.
        faults: Probability per kind of fault; the kinds are in `known_faults`.
        fault_by: What a draw depends on beside the seed: "attempt" (request key and how often it came: the
            same whatever order requests come in), "key" (the same fault each time) or "ordinal".
        fault_first: Only the first so many requests of a key may fault; None is no limit.
        retry_after: Value of the Retry-After header of `http_429_retry_after`.
        hold: Hold replies until so many requests were in flight at once, or until the next plan.
        free: So many requests at first are not held: a program may send its first one alone.
        kill: See `Kill`.
        api_key: The only key let in; None lets anything in.
        models: Models the service has; None has any.
        unsupported: Request fields the model does not support: a 400 each.
    """

    known_faults: ClassVar[frozenset[str]] = frozenset()

    seed: int = 1
    latency_s: float | list[float] = 0.0
    faults: dict[str, float] = field(default_factory=dict)
    fault_by: Literal["attempt", "key", "ordinal"] = "attempt"
    fault_first: int | None = None
    retry_after: float | str = 1
    hold: int = 0
    free: int = 0
    kill: Kill | None = None
    api_key: str | None = None
    models: list[str] | None = None
    unsupported: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = self.known_faults
        _need(set(self.faults) <= known, "faults", f"kinds among {', '.join(sorted(known))}")
        # Fractions such as 0.1 do not add up exactly.
        _need(sum(self.faults.values()) <= 1 + 1e-9, "faults", "at most 1 in all")

    @classmethod
    def read(cls, data: Any) -> Self:
        """Makes a plan of decoded JSON.

        Raises:
            ValueError: A key or a value is wrong; the message names it.
        """
        try:
            known = {f.name for f in fields(cls)}
            _need(isinstance(data, dict), "plan", "an object")
            _need(set(data) <= known, ", ".join(sorted(set(data) - known)), f"one of {', '.join(sorted(known))}")
            return cls(**{**data, "kill": Kill(**data["kill"])} if data.get("kill") else data)
        except (TypeError, AttributeError, re.error) as error:
            raise ValueError(f"plan: {error}") from error


@dataclass(frozen=True, slots=True)
class Plan(BasePlan):
    """Everything a test can ask of the chat service.

    Attributes:
        malformed_until_turn: Conversations with fewer assistant messages than this get unreadable content.
        malformed_kinds: The kinds of unreadable content `malformed_until_turn` draws from.
        reply: Content given in place of the verdict.
        points_regex: Matches once per scoring point.
        points_heading: Matches the heading the points stand under; None looks in the whole text.
    """

    known_faults: ClassVar[frozenset[str]] = KINDS

    malformed_until_turn: int = 0
    malformed_kinds: list[str] = field(default_factory=lambda: list(MALFORMED))
    reply: str | None = None
    points_regex: str = POINTS_REGEX
    points_heading: str | None = POINTS_HEADING


def _need(good: bool, name: str, want: str) -> None:
    if not good:
        raise ValueError(f"plan: {name}: want {want}")
