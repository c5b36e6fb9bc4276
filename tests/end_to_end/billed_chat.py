"""The fake chat service with bills.

Run it with `python -m tests.end_to_end.billed_chat --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.end_to_end.bills import Billing
from tests.fakes.chat import Chat
from tests.fakes.plan import Plan
from tests.fakes.service import main


@dataclass(frozen=True, slots=True)
class BilledPlan(Plan):
    """See `tests.end_to_end.bills`."""

    thinking: list[int] = field(default_factory=lambda: [0, 0])


class BilledChat(Billing, Chat):
    """The service."""

    plans = BilledPlan


if __name__ == "__main__":
    main(BilledChat, __doc__)
