"""What the fake batch services are told to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tests.fakes.plan import Plan

ROWS = ("http_500", "http_429", "moderation", "expired", "missing")
"""What may become of a row: errors of its own, not made because the batch expired, and no word of it at all."""
FATES = ("500_before", "500_after", "drop_before", "drop_after", "429", "400")
"""What may become of a request that hands a batch in, before or after the service has taken it."""


@dataclass(frozen=True, slots=True)
class BatchPlan(Plan):
    """Everything a test can ask of the batch services.

    Attributes:
        looks: A batch ends when it has been asked after so often.
        rows: Probability per kind of fault of a row, among `ROWS`.
        row_tries: Only the first so many times a row comes may it fault.
        fates: What becomes of the requests that hand a batch in, one after the other; those after the last are good.
        invalid: So many batches fail as a whole, for `invalid_code`.
        breaks: So many downloads break off in the middle.
        shuffled: Whether results come in another order.
        lag: A batch is missing from so many lists after it was taken.
        page: How many batches stand on a page of the list.
        most_calls: Calls a batch may have.
        most_bytes: Bytes a file, or a batch without one, may have.
        listed: Whether there is a list at all.
        takes: Whether a batch is taken before a kill at its request, or (``last``) not at all then.
    """

    known_faults: ClassVar[frozenset[str]] = frozenset({"http_500"})

    looks: int = 2
    rows: dict[str, float] = field(default_factory=dict)
    row_tries: int = 1
    fates: list[str] = field(default_factory=list)
    invalid: int = 0
    invalid_code: str = "invalid_json_line"
    breaks: int = 0
    shuffled: bool = True
    lag: int = 0
    page: int = 20
    most_calls: int = 50_000
    most_bytes: int = 200_000_000
    listed: bool = True
    takes: Literal["first", "last"] = "first"

    def __post_init__(self) -> None:
        Plan.__post_init__(self)
        if not set(self.rows) <= set(ROWS) or not set(self.fates) <= set(FATES):
            raise ValueError(f"plan: rows are among {', '.join(ROWS)}, fates among {', '.join(FATES)}")
