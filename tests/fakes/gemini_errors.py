"""The error replies of the fake Gemini service, in Google's shapes and words."""

from __future__ import annotations

from typing import Any

from tests.fakes.refusals import RefusedError

Json = dict[str, Any]
_RPC = "type.googleapis.com/google.rpc."
_SERVICE = "generativelanguage.googleapis.com"
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
_BAD_KEY = "API key not valid. Please pass a valid API key."
_HELP: Json = {"@type": f"{_RPC}Help", "links": [{"description": "Learn more about Gemini API quotas"}]}


def error(code: int, status: str, message: str, *details: Json) -> Json:
    """Google's error object."""
    body: Json = {"code": code, "message": message, "status": status}
    return {"error": body | ({"details": list(details)} if details else {})}


def _violations(*quotas: str) -> Json:
    metric = f"{_SERVICE}/generate_content_paid_tier_requests"
    found = [{"quotaMetric": metric, "quotaId": f"{quota}PerProjectPerModel-PaidTier"} for quota in quotas]
    return {"@type": f"{_RPC}QuotaFailure", "violations": found}


def retry_info(delay: str) -> Json:
    """The detail that says how long to wait."""
    return {"@type": f"{_RPC}RetryInfo", "retryDelay": delay}


_MINUTE, _DAY = (
    _violations("GenerateRequestsPerMinute"),
    _violations("GenerateRequestsPerMinute", "GenerateRequestsPerDay"),
)
_KEY_INVALID: Json = {
    "@type": f"{_RPC}ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": _SERVICE},
}
_NO_FREE = f"{_QUOTA} \n* Quota exceeded for metric: {_SERVICE}/generate_content_free_tier_requests, limit: 0, model: m"

HTTP: dict[str, tuple[int, Json | str]] = {
    "minute": (429, error(429, "RESOURCE_EXHAUSTED", _QUOTA, _MINUTE, _HELP)),
    # The plan's `retry_delay` is added to these two.
    "minute_retry_info": (429, error(429, "RESOURCE_EXHAUSTED", _QUOTA, _MINUTE, _HELP)),
    "day": (429, error(429, "RESOURCE_EXHAUSTED", _QUOTA, _DAY, _HELP)),
    "quota": (429, error(429, "RESOURCE_EXHAUSTED", _QUOTA, _HELP)),
    "busy": (429, error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")),
    "no_free_tier": (429, error(429, "RESOURCE_EXHAUSTED", _NO_FREE, _HELP, retry_info("54.3s"))),
    "prepaid": (429, error(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.")),
    "cap": (429, error(429, "RESOURCE_EXHAUSTED", "Your project has exceeded its monthly spending cap.")),
    "bad_key": (400, error(400, "INVALID_ARGUMENT", _BAD_KEY, _KEY_INVALID)),
    "denied": (403, error(403, "PERMISSION_DENIED", "The caller does not have permission")),
    "unauthenticated": (401, error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")),
    "location": (400, error(400, "FAILED_PRECONDITION", "User location is not supported for the API use.")),
    "billing": (
        400,
        error(
            400, "FAILED_PRECONDITION", "Gemini API free tier is not available in your country. Please enable billing."
        ),
    ),
    "http_500": (500, error(500, "INTERNAL", "An internal error has occurred. Please retry.")),
    "http_502": (502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    "http_503": (503, error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")),
    "http_504": (504, error(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")),
    "error_in_200": (200, error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")),
}


def refused(code: int, status: str, message: str, *details: Json) -> RefusedError:
    """A refusal in Google's shape."""
    return RefusedError(code, error(code, status, message, *details))


def bad_key() -> RefusedError:
    """The key is none Google knows."""
    return refused(400, "INVALID_ARGUMENT", _BAD_KEY, _KEY_INVALID)


def invalid(message: str, field: str = "") -> RefusedError:
    """A field of the body is wrong."""
    violation = {"field": field, "description": message}
    return refused(400, "INVALID_ARGUMENT", message, {"@type": f"{_RPC}BadRequest", "fieldViolations": [violation]})
