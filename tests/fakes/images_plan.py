"""The plan of the fake image service, and the ways it goes wrong.

Shapes follow OpenAI's and OpenRouter's public documentation and error bodies that users of theirs have reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tests.fakes.faults import HTTP as CHAT_HTTP
from tests.fakes.faults import error
from tests.fakes.plan import BasePlan

Json = dict[str, Any]
USER = "image_generation_user_error"

HTTP: dict[str, tuple[int, Json | str]] = {
    **CHAT_HTTP,
    "moderation_blocked": (
        400,
        error(
            "Your request was rejected by the safety system. safety_violations=[violence].",
            USER,
            code="moderation_blocked",
        ),
    ),
    "filtered": (400, error("This request has been blocked by our content filters.", USER)),
    "user_error": (400, error("The image could not be made with these settings.", USER, code="invalid_settings")),
    "billing": (400, error("Billing hard limit has been reached.", USER, code="billing_hard_limit_reached")),
    "unverified": (403, error("Your organization must be verified to use this model.", "invalid_request_error")),
    "refusal_in_200": (200, error("Your request was rejected by the safety system.", USER, code="moderation_blocked")),
    "flagged_in_200": (
        200,
        {"error": {"code": 403, "message": "The input was flagged.", "metadata": {"moderation": 1}}},
    ),
    "rate_in_200": (200, {"error": {"code": 429, "message": "Too many requests upstream."}}),
    "word_in_200": (200, error("The server had an error while drawing.", "server_error")),
}
"""Faults that both shapes have, whatever was asked for."""

BROKEN = ("malformed_json", "html", "empty", "odd_shape", "truncated_base64", "truncated_image", "not_an_image")
LINKS = frozenset(
    f"link:{name}" for name in ("wrong_host", "expired", "oversize", "html", "junk", "moved", "http_500", "drop")
)
"""Faults of linked images; see `tests.fakes.linked_files`."""

TALK = ("text_only", "no_image", "refusal", "refusal_text", "content_filter", "image_safety", "length", "choice_error")
"""Faults that only a chat has."""


@dataclass(frozen=True, slots=True)
class ImagePlan(BasePlan):
    """Everything a test can ask of the fake image service.

    Attributes:
        links: Whether chats give links in place of data URLs; the images shape goes by `response_format`.
        revise: Whether prompts come back revised.
        billed: Whether chats tell their cost in dollars.
    """

    known_faults: ClassVar[frozenset[str]] = frozenset((*HTTP, *BROKEN, *LINKS, *TALK, "drop", "hang"))

    links: bool = False
    revise: bool = False
    billed: bool = False
