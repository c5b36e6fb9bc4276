"""DashScope, with Wan and Qwen-Image: https://help.aliyun.com/zh/model-studio/text-to-image-v2-api-reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ...calls import Kind
from ...calls.http import kind_of
from ..base import PaintRequest
from ..service import Service
from ..service_calls import FailedJob, FinishedJob, JobPainter

PROMPT, MESSAGES = "text2image/image-synthesis", "image-generation/generation"
AT_ONCE = "multimodal-generation/generation"
"""The three endpoints: jobs by prompt, jobs by message, and direct replies with the image."""
ENDPOINTS = ((r"qwen-image-(edit|max|[12]\.)", AT_ONCE), (r"qwen-image-\d\.|wan(2\.[6-9]|[3-9])", MESSAGES))
EDITING = ((r"qwen-image-(edit|[2-9]\.)", 3), (r"wan(2\.[6-9]|[3-9]\.\d)-image", 4))
"""The most pictures that a model can start from, by a pattern of its name; others draw only from text."""
KINDS: dict[Kind, tuple[str, ...]] = {
    "refusal": ("DataInspection", "IPInfringement"),
    "credits": ("Arrearage", "AllocationQuota.FreeTierOnly", "PrepaidBillOverdue", "PostpaidBillOverdue"),
    "auth": ("InvalidApiKey",),
    "rate_limit": ("Throttling",),
    "bad_request": ("InvalidParameter",),
}
"""The beginnings of the service's error codes, by kind."""


def endpoint_of(model: str) -> str:
    """Return the endpoint documented for a model.

    >>> endpoint_of("wan2.5-t2i-preview"), endpoint_of("wan2.6-t2i"), endpoint_of("qwen-image-max")
    ('text2image/image-synthesis', 'image-generation/generation', 'multimodal-generation/generation')
    """
    return next((place for pattern, place in ENDPOINTS if re.match(pattern, model)), PROMPT)


class DashScopePainter(JobPainter):
    """A Wan or Qwen-Image model.

    Its options are ``size``, ``negative_prompt``, ``watermark``, ``endpoint`` and ``prompt_extend_mode``.
    """

    known = frozenset({"size", "negative_prompt", "watermark", "endpoint", "prompt_extend_mode"})

    def pictures_taken(self, model: str) -> int:
        """Return the most pictures that this model can start from; jobs by prompt accept none."""
        most = next((most for pattern, most in EDITING if re.match(pattern, model)), 0)
        return 0 if self._endpoint == PROMPT else most

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the body for the model's endpoint: by prompt or by message."""
        parameters: dict[str, Any] = {"n": 1, "watermark": False} | self.seed(request)
        parameters |= {name: value for name, value in self.given.items() if name not in ("size", "endpoint")}
        if size := self.size(request):
            parameters["size"] = size.replace("x", "*")
        if self._endpoint == PROMPT:
            unwanted = {"negative_prompt": parameters.pop("negative_prompt")} if "negative_prompt" in parameters else {}
            return {"model": self.model, "input": {"prompt": request.prompt} | unwanted, "parameters": parameters}
        shown = [{"image": picture} for picture in self.pictures(request)]
        message = {"role": "user", "content": [*shown, {"text": request.prompt}]}
        return {"model": self.model, "input": {"messages": [message]}, "parameters": parameters}

    def headers(self, *, submit: bool = True) -> dict[str, str]:
        """Return the headers with the key; those of a submission also request a job."""
        wish = {"X-DashScope-Async": "enable"} if submit and self._endpoint != AT_ONCE else {}
        return self.provider.key_headers(otherwise="none") | wish

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path that takes jobs."""
        return f"/api/v1/services/aigc/{self._endpoint}"

    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Return the address of the task."""
        return f"/api/v1/tasks/{quote(reply['output']['task_id'], safe='')}"

    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """Return the outcome; only images are charged, never a failed job."""
        output = reply["output"]
        state, choices = output.get("task_status"), output.get("choices", [])
        if state in ("FAILED", "CANCELED", "UNKNOWN"):
            raise _failed_job(state, output)
        if state != "SUCCEEDED" and not choices:
            return None
        results = output.get("results") or [part for each in choices for part in each["message"]["content"]]
        for result in results:
            if link := result.get("url") or result.get("image"):
                return FinishedJob(str(link), result.get("actual_prompt"))
        raise _failed_job("no image", results[0] if results else {})

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault by the service's error code, else by the status."""
        code = body.get("code") if isinstance(body, Mapping) else None
        return _kind(code, kind_of(status, code or body))

    @property
    def _endpoint(self) -> str:
        return str(self.given.get("endpoint") or endpoint_of(self.model))


def _kind(code: Any, otherwise: Kind) -> Kind:
    return next((kind for kind, starts in KINDS.items() if str(code).startswith(starts)), otherwise)


def _failed_job(how: str, error: Mapping[str, Any]) -> FailedJob:
    usual: Kind = "missing" if how == "UNKNOWN" else "server"
    return FailedJob(_kind(error.get("code"), usual), f"{how}: {error.get('code')}: {error.get('message')}"[:500])


SERVICE = Service("Alibaba Cloud Model Studio, where Wan and Qwen-Image draw", DashScopePainter)
