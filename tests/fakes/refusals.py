"""How the fake service says no to a request, in the service's words."""

from __future__ import annotations

from typing import Any

from tests.fakes.faults import error


class RefusedError(Exception):
    """The request gets an error status; `body` says why, in the service's shape."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(status, body)
        self.status, self.body = status, body


def refused(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> RefusedError:
    """A refusal in OpenAI's shape."""
    return RefusedError(status, error(message, "invalid_request_error", param, code))


def choice_message(value: Any, values: tuple[str, ...]) -> str:
    """The message about a value that is none of those allowed."""
    return f"Invalid value: {value!r}. Supported values are: {', '.join(map(repr, values))}."


def need(good: bool, message: str, param: str | None = None, code: str | None = None) -> None:
    """Refuses the request unless this is good."""
    if not good:
        raise refused(message, param, code)
