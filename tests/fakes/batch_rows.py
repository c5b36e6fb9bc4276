"""What the fake batch services make of one row: the same checks and replies as the services that answer at once."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from tests.fakes import gemini_checks
from tests.fakes.batch_plan import BatchPlan
from tests.fakes.checks import check
from tests.fakes.faults import choose, error
from tests.fakes.gemini_replies import GeminiPlan
from tests.fakes.gemini_replies import reply as gemini_reply
from tests.fakes.images import outline, read_data_url
from tests.fakes.images_checks import check_edits, check_images
from tests.fakes.images_plan import ImagePlan
from tests.fakes.images_replies import reply_images
from tests.fakes.refusals import RefusedError
from tests.fakes.replies import reply
from tests.fakes.tally import Turn
from tests.fakes.truth import draw

Json = dict[str, Any]


def fault_of(plan: BatchPlan, key: str, time: int) -> str | None:
    """What becomes of a row that comes for the n-th time, from 0; None for a good one."""
    if time >= plan.row_tries:
        return None
    at, sum_ = draw(plan.seed, "row", key, time), 0.0
    for kind, chance in plan.rows.items():
        sum_ += chance
        if at < sum_:
            return kind
    return None


def answer(endpoint: str, body: Any, plan: BatchPlan, turn: Turn) -> tuple[int, Json]:
    """Status and body of the reply to a row of one of OpenAI's endpoints."""
    try:
        if endpoint == "/v1/chat/completions":
            ask = check(body, models=plan.models)
            found = reply(ask, plan, choose(ask, replace(plan, faults={}), turn), turn)
        else:
            images = ImagePlan(seed=plan.seed)
            seen = check_images(body, images) if endpoint.endswith("generations") else _edits(body, images)
            found = reply_images(seen, images, None, turn, lambda _fault, _data: "")
    except RefusedError as refused:
        return refused.status, refused.body
    assert isinstance(found.body, dict)
    return found.status, found.body


def _edits(body: Any, plan: ImagePlan) -> Any:
    """A JSON body of images/edits, which names its pictures as ``images``, as the form would have had it."""
    if "image" in body or not isinstance(body.get("images"), list):
        raise RefusedError(400, error("Missing required parameter: 'images'.", "invalid_request_error"))
    files = []
    for picture in body["images"]:
        media, data = read_data_url(picture["image_url"])
        files.append(outline(data, media))
    plain = {name: value if isinstance(value, str) else str(value) for name, value in body.items() if name != "images"}
    return check_edits({**plain, "image[]": files}, plan)


def generate(model: str, body: Any, plan: BatchPlan, turn: Turn) -> Json:
    """A row of Gemini's, answered with ``response`` or ``error``."""
    config = body.get("generationConfig", {})
    try:
        if "IMAGE" in config.get("responseModalities", []):
            seen = gemini_checks.check(body, model, plan.models, plan.unsupported)
            found = gemini_reply(seen, GeminiPlan(seed=plan.seed), None, turn).body
            assert isinstance(found, dict)
            return {"response": found}
        gemini_checks._known(body, gemini_checks.REQUEST, "")
        gemini_checks._known(config, gemini_checks.CONFIG, "generation_config")
        ask = check(_as_chat(model, body), models=plan.models)
        said = reply(ask, plan, choose(ask, replace(plan, faults={}), turn), turn).body
    except RefusedError as refused:
        return {"error": {"code": 3, "message": str(refused.body), "details": []}}
    assert isinstance(said, dict)
    choice, usage = said["choices"][0], said["usage"]
    part = {"text": choice["message"]["content"]}
    reason = {"stop": "STOP", "length": "MAX_TOKENS"}[choice["finish_reason"]]
    counts = {"promptTokenCount": usage["prompt_tokens"], "candidatesTokenCount": usage["completion_tokens"]}
    counts["totalTokenCount"] = usage["total_tokens"]
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": reason, "index": 0}
    told = {"modelVersion": model, "responseId": turn.id}
    return {"response": {"candidates": [candidate], "usageMetadata": counts, **told}}


def _as_chat(model: str, body: Json) -> Json:
    """A generateContent body as the chat service would have got it, so that it marks by the same truth."""
    messages = []
    for content in body["contents"]:
        parts: list[Json] = []
        for part in content["parts"]:
            if "text" in part:
                parts.append({"type": "text", "text": part["text"]})
                continue
            blob = part["inlineData"]
            base64.b64decode(blob["data"], validate=True)
            parts.append({"type": "image_url", "image_url": {"url": f"data:{blob['mimeType']};base64,{blob['data']}"}})
        messages.append({"role": "assistant" if content["role"] == "model" else "user", "content": parts})
    return {"model": model, "messages": messages}
