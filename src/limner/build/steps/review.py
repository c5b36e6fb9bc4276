"""Review: an item passes when its reviewers agree on one state, or a dispute was settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome, Waiting
from ..reviews import Review, review_standing
from .taxonomy import TOPIC


class ReviewSettings(StrictModel):
    """The settings of a review.

    Attributes:
        reviewers: The number of reviewers who must agree; with 0, nothing is reviewed, and the datasheet says so.
        fields: The fields that reviewers see and may change; all if empty.
    """

    reviewers: int = Field(default=3, ge=0)
    fields: tuple[str, ...] = ()

    def shown(self, item: BuildItem) -> dict[str, object]:
        """Return the fields of an item that reviewers see."""
        return {name: value for name, value in item.body.items() if not self.fields or name in self.fields}


class TopicReviewSettings(ReviewSettings):
    """The settings for topics: shipped ones need no review, drafted ones do."""

    reviewers: int = Field(default=0, ge=0)
    fields: tuple[str, ...] = ("path", "isced")


def is_added(id: str, reviews: Sequence[Review], topics: bool) -> bool:
    """Return whether reviewers have added this item."""
    return id.startswith(TOPIC) == topics and any(review.action == "add" and review.base is None for review in reviews)


async def review(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Let reviewers decide on the items; those without agreement wait."""
    how: ReviewSettings = context.settings
    left: dict[str, StepOutcome] = {}
    topics = isinstance(how, TopicReviewSettings)
    by_id = {item.id: item for item in items}
    for id in sorted(by_id.keys() | context.reviews.keys()):
        item = by_id.get(id) or BuildItem(id, {})
        done = context.reviews.get(id, ())
        if id not in by_id and not is_added(id, done, topics):
            continue  # Reviewed earlier and since dropped by an earlier step, or of another sort.
        if how.reviewers == 0 and not done:
            left[id] = item.having(reviewers=[])
            continue
        standing = review_standing(how.shown(item), done, how.reviewers)
        if standing.verdict == "accepted":
            left[id] = item.having(**standing.body, reviewers=sorted(standing.votes))
        elif standing.verdict == "rejected":
            comments = "; ".join(each.comment for each in done if each.action in ("reject", "settle") and each.comment)
            left[id] = Dropped("rejected in review", comments)
        elif standing.verdict == "disputed":
            left[id] = Waiting(
                f"disputed: {len(set(standing.votes.values()))} opinions of {len(standing.votes)} reviewers"
            )
        else:
            left[id] = Waiting(f"review: {len(standing.votes)} of {how.reviewers} reviewers")
    return left


STEP = BuildStep("review", "reviewers accept, edit, add or reject; they must agree", ReviewSettings, together=review,
                 reviewed=True)  # fmt: skip
