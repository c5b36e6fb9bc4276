"""The test's side of the fake job services."""

from __future__ import annotations

from tests.fakes.client import Server
from tests.fakes.images_truth import picture, revised
from tests.fakes.truth import request_key

__all__ = ["JobServer", "picture", "request_key", "revised"]


class JobServer(Server):
    """The fake job services; see `tests.fakes.jobs_plan.JobPlan` for the plan's keys.

    Its counts have, beside the requests (submissions and polls): ``paid``, how many jobs were taken on by the key of
    their request; ``polls``; ``fetched``, how often a file was asked for; ``fetched_with_key``, how often with a key
    that no file needs.

    Example:
        with JobServer() as server:
            server.configure(polls=3, faults={"poll:http_500": 0.1})
            ...  # paint at server.root
            assert server.counts()["paid"] == {request_key(body): 1}
            assert image == picture(prompt, seed, "1024x1024")
    """

    module = "tests.fakes.jobs"

    @property
    def root(self) -> str:
        """What a job painter takes as its service's URL."""
        return f"http://127.0.0.1:{self.port}"
