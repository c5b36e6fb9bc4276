"""The image services that settings describe, for loopback: strict about requests, with whole replies, as documented.

Each is an answer for `tests.fakes.wire_server.wire_server`. Vendors' own SDKs get on with them: see
`tests.painters.test_declared`.
A prompt of ``Bad.`` is refused in each service's own way.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from tests.fakes.wire_server import Answer, Asked, WireServer
from tests.support import picture

KEY = "sk-canary-0b7Qw3nV9xKd"
PICTURE = picture(7)
B64 = base64.b64encode(PICTURE).decode()
BAD = "Bad."
SEEDREAM = {
    "model", "prompt", "image", "response_format", "size", "seed", "guidance_scale", "watermark", "optimize_prompt",
    "optimize_prompt_options", "sequential_image_generation", "sequential_image_generation_options", "stream", "tools",
    "output_format", "layer_decomposition",
}  # fmt: skip
TOGETHER = {
    "model", "prompt", "disable_safety_checker", "guidance_scale", "height", "image_loras", "image_url", "n",
    "negative_prompt", "output_format", "reference_images", "response_format", "seed", "steps", "width",
}  # fmt: skip
IDEOGRAM = {
    "/v1/ideogram-v4/generate": {"text_prompt", "json_prompt", "resolution", "rendering_speed"},
    "/v1/ideogram-v3/generate": {
        "prompt", "seed", "resolution", "aspect_ratio", "rendering_speed", "magic_prompt", "negative_prompt",
        "num_images", "style_type",
    },
    "/v2/image/generate/ideogram-4-5": {"prompt", "size", "quality", "magic_prompt", "num_images", "seed", "images"},
}  # fmt: skip
OPEN_SERVERS = {
    "model", "prompt", "n", "size", "response_format", "user", "seed", "negative_prompt", "num_inference_steps",
    "guidance_scale", "true_cfg_scale", "output_format", "image", "image[]",
}  # fmt: skip
"""What vLLM-Omni and SGLang both take."""
SIZE_2K = {"2048x2048", "2496x1664", "1664x2496"}


def _unknown(body: dict[str, Any], known: set[str]) -> str | None:
    return next((name for name in body if name not in known), None)


def ark(_service: WireServer, asked: Asked) -> Answer:
    """Volcengine ARK."""
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return 401, _ark_error("AuthenticationError", "The API key format is incorrect.")
    if asked.path != "/api/v3/images/generations" or asked.method != "POST":
        return 404, _ark_error("NotFound", "no such path")
    body = asked.body
    if (name := _unknown(body, SEEDREAM)) is not None:
        return 400, _ark_error("InvalidParameter", f"{name} is not a parameter.")
    wide, high = map(int, (body.get("size") or "2048x2048").split("x"))
    if not 3_686_400 <= wide * high <= 16_777_216:
        return 400, _ark_error("InvalidParameter", "image size must be at least 3686400 pixels.")
    shown = body.get("image") or []
    shown = [shown] if isinstance(shown, str) else shown
    if len(shown) > 14 or not all(re.match(r"data:image/[a-z]+;base64,|https://", one) for one in shown):
        return 400, _ark_error("InvalidParameter", "image")
    thinking = (body.get("optimize_prompt_options") or {}).get("thinking")
    if thinking not in (None, "enabled", "disabled") or (shown and thinking is not None):
        return 400, _ark_error("InvalidParameter", "optimize_prompt_options")
    if body["prompt"] == BAD:
        said = "The request failed because the input text may contain sensitive information."
        return 400, _ark_error("InputTextSensitiveContentDetected", said)
    told = {"b64_json": B64} if body.get("response_format") == "b64_json" else {"url": "https://x.volces.com/i.jpeg"}
    usage = {"generated_images": 1, "output_tokens": wide * high // 256, "total_tokens": wide * high // 256}
    data = [{**told, "size": f"{wide}x{high}"}]
    return 200, {"model": body["model"], "created": 1763251200, "data": data, "usage": usage}


def _ark_error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "param": "", "type": "BadRequest"}}


def ideogram(service: WireServer, asked: Asked) -> Answer:
    """Ideogram: forms in, links out."""
    if asked.path == "/i.png":
        return 200, PICTURE
    if asked.headers.get("api-key") != KEY:
        return 401, {"error": "Unauthorized"}
    known = IDEOGRAM.get(asked.path)
    if known is None or not asked.headers["content-type"].startswith("multipart/form-data"):
        return 404, {"error": "Not found"}
    body = asked.body
    size = body.get("size") or body.get("resolution")
    if (name := _unknown(body, known)) is not None or (size and size not in SIZE_2K):
        return 400, {"error": f"Invalid input: {name or size}"}
    prompt = body.get("prompt") or body.get("text_prompt")
    if prompt == BAD:
        return 422, {"error": "Prompt provided failed safety check due to the inclusion of prohibited content."}
    safe = prompt != "Unsafe."
    drawn = {"prompt": "A green leaf.", "resolution": "2048x2048", "is_image_safe": safe, "seed": 12345}
    drawn["url"] = f"{service.root}/i.png" if safe else None
    return 200, {"created": "2026-11-16T00:00:00+00:00", "data": [drawn]}


def replicate(service: WireServer, asked: Asked) -> Answer:
    """A prediction: started, at work, then done."""
    if asked.path == "/out.png":
        return 200, PICTURE
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return 401, {
            "title": "Unauthenticated",
            "detail": "You did not pass a valid authentication token",
            "status": 401,
        }
    if not re.fullmatch(r"/v1/models/[\w.-]+/[\w.-]+/predictions|/v1/predictions/abc", asked.path):
        return 404, {"detail": "The requested resource could not be found.", "status": 404}
    if asked.method == "POST" and set(asked.body) - {"input", "stream", "webhook", "webhook_events_filter"}:
        return 422, {"title": "Input validation failed", "detail": "unknown fields", "status": 422}
    given = service.sent()[-1]["input"]
    looks = sum(one.method == "GET" and one.path.endswith("/abc") for one in service.asked)
    state = "starting" if asked.method == "POST" else "processing" if looks < 2 else "succeeded"
    bad = state == "succeeded" and given["prompt"] == BAD
    error = "The input or output was flagged as sensitive. Please try again with different inputs. (E005)"
    here = f"{service.root}/v1/predictions/abc"
    made = {
        "id": "abc",
        "model": "/".join(asked.path.split("/")[3:5]) if asked.method == "POST" else "a/b",
        "version": "hidden",
        "input": given,
        "logs": "",
        "output": [f"{service.root}/out.png"] if state == "succeeded" and not bad else None,
        "data_removed": False,
        "error": error if bad else None,
        "status": "failed" if bad else state,
        "created_at": "2026-11-16T00:00:00.000Z",
        "urls": {"get": here, "cancel": f"{here}/cancel", "web": "https://replicate.com/p/abc"},
    }
    return (201 if asked.method == "POST" else 200), made


def fal(service: WireServer, asked: Asked) -> Answer:
    """fal's queue: whole model in the first address, owner and app alone in the others."""
    if asked.path == "/i.png":
        return 200, PICTURE
    if asked.headers.get("authorization") != f"Key {KEY}":
        return 401, {"detail": "Cannot access application. Authentication is required to access this application."}
    base = f"{service.root}/fal-ai/flux/requests/r1"
    urls = {"request_id": "r1", "response_url": base, "status_url": f"{base}/status", "cancel_url": f"{base}/cancel"}
    way = asked.path.partition("?")[0]
    if asked.method == "POST" and way in ("/fal-ai/flux/dev", "/fal-ai/bagel"):
        return 200, {"status": "IN_QUEUE", "queue_position": 0, **urls}
    if way == "/fal-ai/flux/requests/r1/status":
        first = sum(one.path.partition("?")[0] == way for one in service.asked) == 1
        if first:
            return 202, {"status": "IN_PROGRESS", "logs": None, **urls}
        return 200, {"status": "COMPLETED", "logs": None, "metrics": {"inference_time": 0.4}, **urls}
    if way != "/fal-ai/flux/requests/r1":
        return 404, {"detail": "Path not found"}
    if service.sent()[-1]["prompt"] == BAD:
        said = "The content could not be processed because it contained material flagged by a content checker."
        return 422, {"detail": [{"loc": ["body", "prompt"], "msg": said, "type": "content_policy_violation"}]}
    image = {"url": f"{service.root}/i.png", "width": 1024, "height": 1024, "content_type": "image/png"}
    told = {"timings": {"inference": 0.4}, "seed": 3, "has_nsfw_concepts": [False], "prompt": "A leaf."}
    return 200, {"images": [image], **told}


def together(_service: WireServer, asked: Asked) -> Answer:
    """Together."""
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return 401, _together_error("Invalid API key provided", "invalid_api_key")
    if asked.path != "/v1/images/generations":
        return 404, _together_error("Not found", None)
    if (name := _unknown(asked.body, TOGETHER)) is not None or asked.body.get("response_format") == "b64_json":
        return 400, _together_error(f"Unrecognized parameter {name}", None)
    if asked.body["prompt"] == BAD:
        return 422, _together_error("NSFW content detected by the safety checker", "content_filter")
    drawn = {"index": 0, "type": "b64_json", "b64_json": B64}
    return 200, {"id": "oQ2", "model": asked.body["model"], "object": "list", "data": [drawn]}


def _together_error(message: str, code: str | None) -> dict[str, Any]:
    return {"id": "oQ1", "error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def vertex(_service: WireServer, asked: Asked) -> Answer:
    """Gemini's generateContent on Vertex AI, in express mode: the key alone, no project."""
    if asked.headers.get("x-goog-api-key") != KEY:
        return 401, {"error": {"code": 401, "message": "API keys are not supported", "status": "UNAUTHENTICATED"}}
    if not re.fullmatch(r"/v1(beta1)?/publishers/google/models/[\w.-]+:generateContent", asked.path):
        return 404, {"error": {"code": 404, "message": "Not found", "status": "NOT_FOUND"}}
    (text,) = [part["text"] for part in asked.body["contents"][-1]["parts"] if "text" in part]
    if text == BAD:
        return 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m", "responseId": "r"}
    part = {"inlineData": {"mimeType": "image/png", "data": B64}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 4, "candidatesTokenCount": 1120, "totalTokenCount": 1124}
    return 200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}


def comfyui(service: WireServer, asked: Asked) -> Answer:
    """ComfyUI: a graph is queued, its history empty until it has run."""
    way, _, query = asked.path.partition("?")
    if way == "/view":
        return (200, PICTURE) if query == "filename=limner%201.png&subfolder=&type=output" else (404, b"")
    if asked.method == "POST" and way == "/prompt":
        wrong = next((node for node, one in asked.body["prompt"].items() if set(one) != {"class_type", "inputs"}), None)
        if wrong is not None or set(asked.body) - {"prompt", "client_id", "extra_data", "front", "number"}:
            error = {"type": "invalid_prompt", "message": "Cannot execute", "details": wrong}
            return 400, {"error": error, "node_errors": {}}
        return 200, {"prompt_id": "p-1", "number": 3, "node_errors": {}}
    if way != "/history/p-1":
        return 404, {}
    if sum(one.path == way for one in service.asked) < 2:
        return 200, {}
    if service.sent()[-1]["prompt"]["6"]["inputs"]["text"] == "Crash.":
        said = {"node_id": "3", "exception_message": "out of memory", "exception_type": "OutOfMemoryError"}
        status = {"status_str": "error", "completed": False, "messages": [["execution_error", said]]}
        return 200, {"p-1": {"prompt": [], "outputs": {}, "status": status, "meta": {}}}
    image = {"filename": "limner 1.png", "subfolder": "", "type": "output"}
    status = {"status_str": "success", "completed": True, "messages": [["execution_success", {"prompt_id": "p-1"}]]}
    return 200, {"p-1": {"prompt": [], "outputs": {"9": {"images": [image]}}, "status": status, "meta": {}}}


def vllm_omni(_service: WireServer, asked: Asked) -> Answer:
    """vLLM-Omni's image server: base64 or a file, never a link."""
    if (refused := _refused_by_open_server(asked)) is not None:
        return refused
    if asked.body.get("response_format", "b64_json") != "b64_json":
        return 422, _invalid("response_format", "Only 'b64_json' or 'file' response format is supported")
    data = [{"b64_json": B64, "url": None, "revised_prompt": None}]
    return 200, {"created": 1763251200, "data": data, "output_format": "png", "size": asked.body.get("size")}


def sglang(_service: WireServer, asked: Asked) -> Answer:
    """SGLang's image server: a link below itself, unless base64 is asked for."""
    if (refused := _refused_by_open_server(asked)) is not None:
        return refused
    if asked.body.get("response_format", "url") != "b64_json":
        return 400, {"detail": "response_format='url' requires cloud storage to be configured."}
    drawn = {"b64_json": B64, "url": None, "revised_prompt": asked.body["prompt"], "file_path": None}
    return 200, {"id": "r1", "created": 1763251200, "data": [drawn], "inference_time_s": 1.5}


def _refused_by_open_server(asked: Asked) -> Answer | None:
    edits = asked.path == "/v1/images/edits"
    form = asked.headers["content-type"].startswith("multipart/form-data")
    if asked.path not in ("/v1/images/generations", "/v1/images/edits") or edits != form:
        return 404, {"detail": "Not Found"}
    if edits and not (asked.body.get("image") or asked.body.get("image[]")):
        return 422, {"detail": "Field 'image' or 'url' is required"}
    if (name := _unknown(asked.body, OPEN_SERVERS)) is not None:
        return 422, _invalid(name, "unknown")
    if not re.fullmatch(r"\d+x\d+", asked.body["size"]):
        return 400, {"detail": f"Invalid size format: {asked.body['size']!r}."}
    return None


def _invalid(field: str, why: str) -> dict[str, Any]:
    return {"detail": [{"loc": ["body", field], "msg": why, "type": "value_error"}]}
