"""The test's side of the fake Gemini service."""

from __future__ import annotations

from tests.fakes.client import Server


class GeminiServer(Server):
    """The fake Gemini service; see `tests.fakes.gemini_replies.GeminiPlan` for the plan's keys."""

    module = "tests.fakes.gemini"

    @property
    def base_url(self) -> str:
        """What stands before ``/models/…``."""
        return f"http://127.0.0.1:{self.port}/v1beta"
