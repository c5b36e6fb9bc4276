"""Reads a request for an image as strictly as a service does, and refuses it in the service's words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.fakes.checks import check
from tests.fakes.images_plan import ImagePlan
from tests.fakes.refusals import choice_message, need, refused

Json = dict[str, Any]
FORMATS = ("png", "jpeg", "webp")

ALWAYS = frozenset({"model", "prompt", "n", "size", "user"})
GPT = frozenset({"background", "complexity", "moderation", "output_compression", "output_format", "quality"})
DALL_E = frozenset({"quality", "response_format", "style"})
OPEN = frozenset(
    {"response_format", "seed", "negative_prompt", "num_inference_steps", "guidance_scale", "true_cfg_scale"}
)
CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt-image": {
        "background": ("transparent", "opaque", "auto"),
        "complexity": ("low", "medium", "high"),
        "moderation": ("low", "auto"),
        "output_format": FORMATS,
        "quality": ("low", "medium", "high", "xhigh", "max", "auto"),
    },
    "dall-e": {
        "quality": ("standard", "hd"),
        "response_format": ("url", "b64_json"),
        "size": ("1024x1024", "1792x1024", "1024x1792"),
        "style": ("vivid", "natural"),
    },
    "open": {"response_format": ("url", "b64_json")},
}
FIELDS = {"gpt-image": ALWAYS | GPT, "dall-e": ALWAYS | DALL_E, "open": ALWAYS | OPEN}

MOST_PICTURES, PICTURE_TOKENS = 16, 323
CHAT_ONLY = frozenset({"image_config", "provider", "reasoning"})
RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
CONFIG: dict[str, tuple[Any, ...] | None] = {
    "aspect_ratio": RATIOS,
    "image_size": ("1K", "2K", "4K"),
    "quality": ("low", "medium", "high", "auto"),
    "background": ("transparent", "opaque", "auto"),
    "moderation": ("low", "auto"),
    "output_format": FORMATS,
    "output_compression": None,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request comes to; `tokens` are those of pictures too."""

    model: str
    prompt: str
    seed: int | None
    size: str
    kind: str
    linked: bool
    shown: Json
    tokens: int
    pictures: tuple[str, ...] = ()
    picture_tokens: int = 0


def check_images(body: Any, plan: ImagePlan) -> Ask:
    """Reads a body of images/generations."""
    need(isinstance(body, dict), "We could not parse the JSON body of your request as an object.")
    model, prompt = body.get("model"), body.get("prompt")
    need(isinstance(model, str) and model != "", "you must provide a model parameter")
    _known(model, plan)
    family = next((name for name in ("gpt-image", "dall-e") if model.startswith(name)), "open")
    for name in sorted(set(body) - FIELDS[family] | set(body) & set(plan.unsupported)):
        raise refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    missing = "Missing required parameter: 'prompt'."
    need(isinstance(prompt, str) and prompt != "", missing, "prompt", "missing_required_parameter")
    for name, values in CHOICES[family].items():
        need(name not in body or body[name] in values, choice_message(body.get(name), values), name, "invalid_value")
    need(body.get("n") in (None, 1), "This fake service takes only n=1.", "n", "invalid_value")
    size = body.get("size", "auto")
    _size(size, steps=16 if family == "gpt-image" else 8)
    kind = body.get("output_format", "png")
    linked = body.get("response_format", "b64_json" if family != "dall-e" else "url") == "url"
    size = "1024x1024" if size == "auto" else size
    return Ask(model, prompt, body.get("seed"), size, kind, linked, dict(body), len(prompt) // 4 + 1)


def check_edits(body: Any, plan: ImagePlan) -> Ask:
    """Reads a form of images/edits: the fields are those of images/generations, as text."""
    pictures = body.get("image[]", [])
    missing = "Missing required parameter: 'image'."
    need(isinstance(pictures, list) and bool(pictures), missing, "image", "missing_required_parameter")
    need(len(pictures) <= MOST_PICTURES, f"Too many images: at most {MOST_PICTURES}.", "image", "invalid_value")
    family = "gpt-image" if str(body.get("model")).startswith("gpt-image") else "open"
    known = {"gpt-image": ALWAYS | GPT - {"moderation"} | {"input_fidelity"}, "open": ALWAYS | OPEN}[family]
    for name in sorted(set(body) - known - {"image[]"}):
        raise refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    plain = {name: value for name, value in body.items() if name not in ("image[]", "input_fidelity")}
    for name in ("n", "seed", "output_compression", "num_inference_steps"):
        if name in plain:
            need(str(plain[name]).isdecimal(), f"Invalid type for '{name}'.", name, "invalid_type")
            plain[name] = int(plain[name])
    ask = check_images(plain, plan)
    seen = PICTURE_TOKENS * len(pictures)
    hashes = tuple(picture["sha256"] for picture in pictures)
    return replace(ask, shown=body, tokens=ask.tokens + seen, pictures=hashes, picture_tokens=seen)


def check_chat(body: Any, plan: ImagePlan) -> Ask:
    """Reads a body of chat/completions that asks for an image."""
    need(isinstance(body, dict), "We could not parse the JSON body of your request as an object.")
    plain = {name: value for name, value in body.items() if name not in CHAT_ONLY}
    seen = check(plain, models=plan.models, unsupported=plan.unsupported)
    wanted, wrong = body.get("modalities"), "No endpoints found that support the requested output modalities."
    if wanted not in (["image", "text"], ["text", "image"], ["image"]):
        raise refused(wrong, "modalities", status=404)
    config = body.get("image_config", {})
    for name, value in config.items():
        need(name in CONFIG, f"Unknown parameter: 'image_config.{name}'.", "image_config", "unknown_parameter")
        values = CONFIG[name]
        good = value in values if values else type(value) is int
        need(good, choice_message(value, values or ()), f"image_config.{name}", "invalid_value")
    size, kind = config.get("aspect_ratio", "1:1"), config.get("output_format", "png")
    shown = {**body, "messages": seen.shown["messages"]}
    hashes = tuple(_hashes(shown["messages"]))
    return Ask(body["model"], seen.text, body.get("seed"), size, kind, plan.links, shown, seen.prompt_tokens, hashes)


def _hashes(messages: list[Json]) -> Iterator[str]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    for part in parts:
        if part["type"] == "image_url":
            yield part["image_url"]["url"]["sha256"]


def _known(model: str, plan: ImagePlan) -> None:
    if plan.models is not None and model not in plan.models:
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise refused(message, code="model_not_found", status=404)


def _size(size: Any, steps: int) -> None:
    sides = re.fullmatch(r"(\d+)x(\d+)", str(size))
    fits = sides is not None and all(int(side) % steps == 0 and int(side) > 0 for side in sides.groups())
    need(size == "auto" or fits, f"Invalid size {size!r}.", "size", "invalid_value")
