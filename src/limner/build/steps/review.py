"""Review: an item goes on when its reviewers stand for the same state of it, or a dispute was settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, StepOutcome, Waiting
from ..reviews import Review, standing
from .taxonomy import TOPIC


class ReviewSettings(StrictModel):
    """How items are reviewed.

    Attributes:
        reviewers: How many must agree; with 0 nothing is reviewed, and the datasheet says so.
        fields: What reviewers see and may change; all fields where none is named.
    """

    reviewers: int = Field(default=3, ge=0)
    fields: tuple[str, ...] = ()

    def shown(self, item: BuildItem) -> dict[str, object]:
        """Return the state of an item that reviewers stand for."""
        return {name: value for name, value in item.body.items() if not self.fields or name in self.fields}


class TopicReviewSettings(ReviewSettings):
    """The same for topics: what is shipped needs no review, what was drafted does."""

    reviewers: int = Field(default=0, ge=0)
    fields: tuple[str, ...] = ("path", "isced")


def is_added(id: str, reviews: Sequence[Review], topics: bool) -> bool:
    """Whether reviewers have added this item, among topics or among what questions are made of."""
    return id.startswith(TOPIC) == topics and any(one.action == "add" and one.base is None for one in reviews)


async def review(items: Sequence[BuildItem], bench: Bench) -> Mapping[str, StepOutcome]:
    """See the module."""
    how: ReviewSettings = bench.settings
    left: dict[str, StepOutcome] = {}
    topics = isinstance(how, TopicReviewSettings)
    known = {item.id: item for item in items}
    for id in sorted(known.keys() | bench.reviews.keys()):
        item = known.get(id) or BuildItem(id, {})
        done = bench.reviews.get(id, ())
        if id not in known and not is_added(id, done, topics):
            continue  # Reviewed once and taken out by an earlier step since, or of another sort.
        if how.reviewers == 0 and not done:
            left[id] = item.having(reviewers=[])
            continue
        found = standing(how.shown(item), done, how.reviewers)
        if found.verdict == "accepted":
            left[id] = item.having(**found.body, reviewers=sorted(found.votes))
        elif found.verdict == "rejected":
            said = "; ".join(one.comment for one in done if one.action in ("reject", "settle") and one.comment)
            left[id] = Dropped("rejected in review", said)
        elif found.verdict == "disputed":
            left[id] = Waiting(f"disputed: {len(set(found.votes.values()))} opinions of {len(found.votes)} reviewers")
        else:
            left[id] = Waiting(f"review: {len(found.votes)} of {how.reviewers} reviewers")
    return left


STEP = BuildStep("review", "reviewers accept, edit, add or reject; they must agree", ReviewSettings, together=review,
                 reviewed=True)  # fmt: skip
