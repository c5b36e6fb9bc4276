"""What errors of services mean, and how long they ask to wait."""

from __future__ import annotations

import pytest

from limner.calls.http import kind_of, retry_after


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"code": "content_policy_violation", "message": "rejected"}, "refusal"),
        (400, {"message": "Unknown field 'colour'"}, "bad_request"),
        (401, None, "auth"),
        (402, None, "credits"),
        (403, {"message": "Country not supported"}, "auth"),
        (403, {"message": "Flagged by moderation"}, "refusal"),
        (400, {"code": "model_not_found"}, "setup"),
        (404, {"code": "model_not_found"}, "setup"),
        (405, None, "setup"),
        (408, None, "timeout"),
        (409, None, "rate_limit"),
        (429, {"code": "insufficient_quota"}, "credits"),
        (429, {"code": "rate_limit_exceeded", "message": "Limit 3. Pay more at example.org/billing."}, "rate_limit"),
        (429, "<html>", "rate_limit"),
        (500, {"message": "The safety of your data matters to us"}, "server"),
        (529, None, "server"),
    ],
)  # fmt: skip
def test_kinds_by_status_and_body(status: int, body: object, kind: str) -> None:
    assert kind_of(status, body) == kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("0", 0.0),
        ("2.5", 2.5),
        ("-3", 0.0),
        ("1e9", 600.0),
        ("Wed, 21 Oct 2037 07:28:00 GMT", 600.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_as_number_and_as_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds
