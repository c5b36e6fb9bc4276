"""Review of the topics of a drafted taxonomy; a shipped one needs none."""

from __future__ import annotations

from ..base import BuildStep
from .review import TopicReviewSettings, review

STEP = BuildStep(
    "review-topics", "reviewers accept, edit, add or reject topics", TopicReviewSettings, takes="topic", makes="topic",
    together=review, reviewed=True,
)  # fmt: skip
