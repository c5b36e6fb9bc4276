"""Reads requests to the fake job services field by field, and refuses them in each service's words."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.fakes.images import media_of, outline, read_data_url
from tests.fakes.refusals import RefusedError

Json = dict[str, Any]
Name = Literal["dashscope", "bfl"]
LARGEST_SEED = 2**31 - 1
ENDPOINTS = {
    "text2image/image-synthesis": r"wanx?2\.[0-5]-t2i-\w+|qwen-image(-plus.*)?",
    "image-generation/generation": r"wan2\.[6-9]-[\w-]+|qwen-image-3\.\d(-pro)?",
    "multimodal-generation/generation": r"wan2\.6-t2i|qwen-image(-plus|-max|-edit|-2\.0).*",
}
_PLAIN = "flux-3-image"
_SHAPED = {"flux-pro-1.1-ultra", "flux-kontext-pro", "flux-kontext-max", _PLAIN}
"""Models that take an aspect ratio in place of width and height."""
_ONLY = {
    "prompt_upsampling": {"flux-dev", "flux-pro", "flux-pro-1.1", "flux-2-flex", *_SHAPED - {_PLAIN}},
    "raw": {"flux-pro-1.1-ultra"},
    "steps": {"flux-2-flex"},
    "guidance": {"flux-2-flex"},
    "disable_pup": {"flux-2-pro", "flux-2-max"},
    "grounding": {_PLAIN},
    "resolution": {_PLAIN},
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked submission: what the picture depends on, and what the record shows."""

    service: Name
    shape: Literal["prompt", "messages", "at_once"]
    prompt: str
    seed: int | None
    size: str
    kind: str
    shown: Json
    pictures: tuple[str, ...] = ()


def admit(service: Name, headers: Mapping[str, str], key: str | None) -> None:
    """Lets in the one key, or anyone where there is none. Repeats a wrong key, as a careless service would."""
    given = headers.get("x-key") if service == "bfl" else headers.get("Authorization", "").removeprefix("Bearer ")
    other = headers.get("Authorization") if service == "bfl" else headers.get("x-key")
    if other is not None:
        raise RefusedError(400, {"message": "a key in a header of another service"})
    if key is None or given == key:
        return
    if service == "bfl":
        raise RefusedError(403, {"detail": f"Not authenticated: {given}"})
    raise _coded(401, "InvalidApiKey", f"Invalid API-key provided: {given}", request_id="r")


def check_dashscope(body: Any, endpoint: str, headers: Mapping[str, str]) -> Ask:
    """A submission to one of DashScope's three endpoints."""
    at_once, shown = endpoint.startswith("multimodal"), list[Json]()
    wanted = None if at_once else "enable"
    if headers.get("X-DashScope-Async") != wanted:
        raise _coded(403, "AccessDenied", "current user api does not support this kind of call")
    _need(isinstance(body, dict) and set(body) == {"model", "input", "parameters"}, "model, input, parameters")
    model, given, parameters = body["model"], body["input"], body["parameters"]
    if not re.fullmatch(ENDPOINTS[endpoint], model):
        raise _coded(404, "ModelNotFound", f"Model {model} does not exist.")
    rewrite = "thinking_mode" if model.startswith("wan2.7-image") else "prompt_extend"
    fields = {"size", "n", "seed", rewrite, "watermark"}
    if model.startswith("qwen-image-3."):
        fields.add("prompt_extend_mode")
        _need(parameters.get("prompt_extend_mode", "direct") in ("direct", "agent"), "prompt_extend_mode")
    if endpoint.startswith("text2image"):
        _need({"prompt"} <= set(given) <= {"prompt", "negative_prompt"}, "input")
        prompt, unwanted = given["prompt"], given.get("negative_prompt", "")
    else:
        _need(set(given) == {"messages"} and len(given["messages"]) == 1, "messages")
        (message,) = given["messages"]
        *pictures, words = message["content"]
        _need(message["role"] == "user" and set(words) == {"text"}, "content")
        files = [read_data_url(part["image"]) for part in pictures]
        shown = [outline(data, media) for media, data in files]
        prompt, unwanted = words["text"], parameters.get("negative_prompt", "")
        body = {**body, "input": {"messages": [{**message, "content": [*({"image": each} for each in shown), words]}]}}
        fields.add("negative_prompt")
    _need(set(parameters) <= fields, "parameters")
    _need(isinstance(prompt, str) and prompt != "" and isinstance(unwanted, str), "prompt")
    _need(parameters.get("n") == 1, "n")
    size, seed = parameters.get("size", "1024*1024"), parameters.get("seed")
    _need(isinstance(size, str) and re.fullmatch(r"\d+\*\d+", size) is not None, "size")
    _need(seed is None or (type(seed) is int and 0 <= seed <= LARGEST_SEED), "seed")
    _need(all(type(parameters.get(name)) is bool for name in (rewrite, "watermark")), "flags")
    shape: Any = "prompt" if "prompt" in given else "at_once" if at_once else "messages"
    size, hashes = size.replace("*", "x"), tuple(each["sha256"] for each in shown)
    return Ask("dashscope", shape, prompt, seed, size, "png", {"endpoint": endpoint, **body}, hashes)


def check_bfl(body: Any, model: str) -> Ask:
    """A submission to one of Black Forest Labs' models."""
    _valid(re.fullmatch(r"flux-[\w.-]+", model) is not None, "model", model)
    _valid(isinstance(body, dict) and isinstance(body.get("prompt"), str), "prompt", body)
    measures = {"aspect_ratio"} if model in _SHAPED else {"width", "height"}
    fields = {"prompt", "safety_tolerance", *measures} | (set() if model == _PLAIN else {"seed", "output_format"})
    fields |= {name for name, models in _ONLY.items() if model in models}
    shown = {}
    for name, value in body.items():
        if name.startswith("input_image") and model.startswith("flux-2"):
            data = binascii.a2b_base64(value, strict_mode=True)
            shown[name] = outline(data, media_of(data))
        else:
            _valid(name in fields, name, value)
    _valid(body.get("output_format", "jpeg") in ("jpeg", "png"), "output_format", body.get("output_format"))
    tolerance = body.get("safety_tolerance", 2)
    _valid(type(tolerance) is int and 0 <= tolerance <= 6, "safety_tolerance", tolerance)
    for name in ("width", "height"):
        side = body.get(name, 1024)
        _valid(type(side) is int and side >= 64 and side % 16 == 0, name, side)
    aspect = body.get("aspect_ratio", "1:1")
    _valid(isinstance(aspect, str) and re.fullmatch(r"\d+:\d+", aspect) is not None, "aspect_ratio", aspect)
    _valid(type(body.get("seed", 0)) is int, "seed", body.get("seed"))
    size = aspect if model in _SHAPED else f"{body.get('width', 1024)}x{body.get('height', 1024)}"
    kind = body.get("output_format", "jpeg")
    hashes = tuple(each["sha256"] for each in shown.values())
    return Ask("bfl", "prompt", body["prompt"], body.get("seed"), size, kind, {"model": model, **body, **shown}, hashes)


def check_poll(body: bytes, headers: Mapping[str, str]) -> None:
    """A question how a job stands."""
    if "X-DashScope-Async" in headers or body:
        raise _coded(400, "InvalidParameter", "a poll has no body and no wishes")


def _coded(status: int, code: str, message: str, **more: str) -> RefusedError:
    """A refusal in DashScope's shape."""
    return RefusedError(status, {"code": code, "message": message, **more})


def _need(good: bool, what: str) -> None:
    if not good:
        raise _coded(400, "InvalidParameter", f"{what} is wrong", request_id="r")


def _valid(good: bool, field: str, value: Any) -> None:
    if not good:
        detail = {"loc": ["body", field], "msg": "Input is not valid", "type": "value_error", "input": value}
        raise RefusedError(422, {"detail": [detail]})
