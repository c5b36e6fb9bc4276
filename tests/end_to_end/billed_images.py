"""The fake image service with bills.

Run it with `python -m tests.end_to_end.billed_images --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.end_to_end.bills import Billing
from tests.fakes.images_api import Images
from tests.fakes.images_plan import ImagePlan
from tests.fakes.service import main


@dataclass(frozen=True, slots=True)
class BilledPlan(ImagePlan):
    """See `tests.end_to_end.bills`."""

    thinking: list[int] = field(default_factory=lambda: [0, 0])


class BilledImages(Billing, Images):
    """The service."""

    plans = BilledPlan


if __name__ == "__main__":
    main(BilledImages, __doc__)
