"""Black Forest Labs, the service of the FLUX models: https://docs.bfl.ai."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ...calls import Kind
from ...calls.http import kind_of
from ...core.errors import UsageError
from ...core.images import PreparedImage
from ..base import PaintRequest
from ..service import Service
from ..service_calls import FailedJob, FinishedJob, JobPainter

EDITING = {"flux-2-klein": 4, "flux-2": 8, "flux-kontext": 4}
"""The most pictures that a model can start from, by the beginning of its name; others draw only from text."""
CREDIT = 0.01
"""Dollars in one of the service's credits."""
PASSED_ON = ("safety_tolerance", "steps", "guidance", "raw", "resolution")
"""Options that not every model accepts, sent only if given."""
PLAIN = "flux-3-"
"""The beginning of the names of models that take neither a seed nor the format of the image."""
FAILED_STATES: dict[str, Kind] = {
    "Request Moderated": "refusal",
    "Content Moderated": "refusal",
    "Error": "server",
    "Failed": "server",
    "Task not found": "missing",
}


class BflPainter(JobPainter):
    """A FLUX model; its options are ``size`` (1024x768 or 4:3, by model), ``output_format`` and `PASSED_ON`."""

    known = frozenset({"size", "output_format", *PASSED_ON})

    def pictures_taken(self, model: str) -> int:
        """Return the most pictures that this model can start from."""
        return next((most for start, most in EDITING.items() if model.startswith(start)), 0)

    @property
    def seeded(self) -> bool:
        """Whether this model accepts a seed."""
        return super().seeded and not self.model.startswith(PLAIN)

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the request body; images are lossless unless the options or the model say otherwise."""
        usual = {} if self.model.startswith(PLAIN) else {"output_format": "png"}
        body: dict[str, Any] = {"prompt": request.prompt} | usual | self.options_of(["output_format"])
        body |= self.options_of(PASSED_ON) | self.seed(request) | _size_fields(self.size(request), self.target)
        return body | {
            f"input_image_{n}" if n > 1 else "input_image": p for n, p in enumerate(self.pictures(request), 1)
        }

    def write_picture(self, image: PreparedImage) -> str:
        """Return a picture as base64."""
        return image.packed[1]

    def headers(self, *, submit: bool = True) -> dict[str, str]:
        """Return the header with the key."""
        return self.provider.key_headers("x-key: {key}")

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path that takes jobs for this model."""
        return f"/v1/{quote(self.model, safe='')}"

    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Return the address that the reply gives: a job exists in one region only."""
        job, url = reply["id"], reply.get("polling_url")
        return str(url or f"/v1/get_result?id={quote(job, safe='')}")

    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """Return the outcome; whether a job without an image is charged is not documented."""
        status, result = reply["status"], reply.get("result")
        if status in FAILED_STATES:
            why = reply.get("details") or reply.get("error") or result
            raise FailedJob(FAILED_STATES[status], f"{status}: {why}"[:500] if why else status, cost=None)
        if status != "Ready" or result is None:
            return None
        return FinishedJob(str(result["sample"]), result.get("prompt"), _dollars(reply.get("cost")))

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault by the status only.

        Refusals are reported as the end of a job, and errors in fields quote names and values, which may look like one.
        """
        return kind_of(status, None)


def _dollars(credits: Any) -> Any:
    """Convert credits to dollars if they are a number."""
    return credits * CREDIT if isinstance(credits, int | float) and not isinstance(credits, bool) else credits


def _size_fields(size: str | None, target: str) -> dict[str, int | str]:
    if size is None:
        return {}
    if sides := re.fullmatch(r"(\d+)[x*](\d+)", size):
        return {"width": int(sides[1]), "height": int(sides[2])}
    if re.fullmatch(r"\d+:\d+", size):
        return {"aspect_ratio": size}
    raise UsageError(f"{target} takes a size such as 1024x768, or an aspect such as 4:3, not {size!r}")


SERVICE = Service("Black Forest Labs, where FLUX draws", BflPainter)
