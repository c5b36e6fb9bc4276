"""The plan of the fake job services, and the ways they go wrong at each stage of a job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from tests.fakes.faults import drawn
from tests.fakes.plan import BasePlan
from tests.fakes.tally import Turn

Stage = Literal["submit", "poll", "job", "link"]
_HTTP = ("http_401", "http_429", "http_429_retry_after", "http_500", "http_502", "drop", "hang", "malformed", "odd")
FAULTS: dict[Stage, tuple[str, ...]] = {
    # lost: the job is taken on, and paid for, but the reply never arrives.
    "submit": (*_HTTP, "credits", "quota", "refusal", "bad_request", "wordy", "lost"),
    "poll": (*_HTTP, "gone"),
    # How a job ends other than with an image.
    "job": ("failed", "throttled", "invalid", "moderated", "moderated_image", "unknown", "no_image", "partly_failed"),
    # The last two pass: the second fetch succeeds.
    "link": ("wrong_host", "expired", "oversize", "html", "junk", "moved", "http_500", "drop"),
}


@dataclass(frozen=True, slots=True)
class JobPlan(BasePlan):
    """Everything a test can ask of the fake job services. Faults are named ``stage:kind``.

    Attributes:
        polls: How many polls find a job still at work.
        revise: Whether prompts come back rewritten.
        credits: What a job costs, told in the first reply (Black Forest Labs).
        polling: Where jobs say they are polled: at this very address, by another name of it, or nowhere.
    """

    known_faults: ClassVar[frozenset[str]] = frozenset(
        f"{stage}:{kind}" for stage, kinds in FAULTS.items() for kind in kinds
    )

    polls: int = 1
    revise: bool = False
    credits: float | None = None
    polling: Literal["here", "elsewhere", "nowhere"] = "here"

    def fault(self, stage: Stage, turn: Turn) -> str | None:
        """The fault that strikes at this stage, or None; stages are drawn for apart from each other."""
        here = {name: chance for name, chance in self.faults.items() if name.startswith(f"{stage}:")}
        found = drawn(replace(self, faults=here), replace(turn, key=f"{stage} {turn.key}"))
        return found.partition(":")[2] if found else None
