"""The test's side of the fake image service."""

from __future__ import annotations

from tests.fakes.client import Server
from tests.fakes.images_checks import PICTURE_TOKENS
from tests.fakes.images_replies import DOLLARS, OUTPUT_TOKENS
from tests.fakes.images_truth import picture, revised

__all__ = ["DOLLARS", "OUTPUT_TOKENS", "PICTURE_TOKENS", "ImageServer", "picture", "revised"]


class ImageServer(Server):
    """The fake image service; see `tests.fakes.images_plan.ImagePlan` for the plan's keys.

    Its counts have ``fetched`` beside the requests: how often a linked file was asked for, with
    ``fetched_with_key`` counting those that carried a key nobody asked for.

    Example:
        with ImageServer() as server:
            server.configure(faults={"http_500": 0.1})
            ...  # paint at server.base_url
            assert stored == picture(prompt, seed, "1536x1024")
    """

    module = "tests.fakes.images_api"
