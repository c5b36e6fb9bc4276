"""Reads a generateContent request as strictly as Google does, and refuses it in Google's words.

Stricter in one thing: field names are taken as the documentation spells them, in camel case only.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from typing import Any

from tests.fakes.gemini_errors import invalid, refused
from tests.fakes.images import media_of, outline

Json = dict[str, Any]
REQUEST = frozenset(
    ["contents", "tools", "toolConfig", "safetySettings", "systemInstruction", "generationConfig", "cachedContent"]
)
CONTENT = frozenset(("parts", "role"))
PART = frozenset(("text", "inlineData", "fileData", "thought", "thoughtSignature"))
CONFIG = frozenset(
    (
        "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs",
        "maxOutputTokens", "mediaResolution", "presencePenalty", "responseJsonSchema", "responseLogprobs",
        "responseMimeType", "responseModalities", "responseSchema", "seed", "speechConfig", "stopSequences",
        "temperature", "thinkingConfig", "topK", "topP",
    )
)  # fmt: skip
THINKING = frozenset(("includeThoughts", "thinkingBudget", "thinkingLevel"))
LEVELS = ("minimal", "low", "medium", "high")
IMAGE = frozenset(("aspectRatio", "imageSize"))
RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
SIZES = ("1K", "2K", "4K")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request comes to."""

    shown: Json
    prompt: str
    seed: int | None
    ratio: str
    pictures: tuple[str, ...] = ()


def check(body: Any, model: str, models: list[str] | None, unsupported: list[str]) -> Ask:
    """Reads a decoded body; raises `RefusedError` where Google would."""
    if models is not None and model not in models:
        message = f"models/{model} is not found for API version v1beta, or is not supported for generateContent."
        raise refused(404, "NOT_FOUND", message)
    _known(body, REQUEST, "")
    contents = body.get("contents")
    if not (isinstance(contents, list) and contents):
        raise invalid("* GenerateContentRequest.contents: contents is not specified", "contents")
    read = [_content(content, f"contents[{n}]") for n, content in enumerate(contents)]
    texts = [part["text"] for parts in read for part in parts if "text" in part]
    pictures = tuple(part["inlineData"]["sha256"] for parts in read for part in parts if "inlineData" in part)
    shown = {**body, "contents": [{**content, "parts": parts} for content, parts in zip(contents, read, strict=True)]}
    config = body.get("generationConfig", {})
    _known(config, CONFIG - set(unsupported), "generation_config")
    if "IMAGE" not in config.get("responseModalities", []):
        raise invalid("This fake service draws only.", "generation_config.response_modalities")
    seed = config.get("seed")
    if not (seed is None or (type(seed) is int and abs(seed) < 2**31)):
        raise invalid(f"Invalid value at 'generation_config.seed' (TYPE_INT32), {seed!r}")
    _thinking(config.get("thinkingConfig", {}))
    return Ask(shown, "\n".join(texts), seed, _image(config.get("imageConfig", {})), pictures)


def _content(content: Any, at: str) -> list[Json]:
    """The parts, with pictures by their hashes."""
    _known(content, CONTENT, at)
    parts = []
    for n, part in enumerate(content.get("parts", [])):
        _known(part, PART, f"{at}.parts[{n}]")
        if "inlineData" in part:
            parts.append({"inlineData": _picture(part["inlineData"], f"{at}.parts[{n}].inline_data")})
            continue
        parts.append(part)
    return parts


def _picture(blob: Any, at: str) -> Json:
    _known(blob, frozenset(("mimeType", "data")), at)
    data = binascii.a2b_base64(blob.get("data", ""), strict_mode=True)
    if not data or blob.get("mimeType") != media_of(data):
        raise invalid("Unable to process input image. Please retry or report.")
    return outline(data, blob["mimeType"])


def _thinking(config: Any) -> None:
    at = "generation_config.thinking_config"
    _known(config, THINKING, at)
    if config.get("thinkingLevel", "low") not in LEVELS:
        raise invalid(f"Invalid value at '{at}.thinking_level'")
    if "thinkingLevel" in config and "thinkingBudget" in config:
        raise invalid("You can only set only one of thinking budget and thinking level.")


def _image(config: Any) -> str:
    at = "generation_config.image_config"
    _known(config, IMAGE, at)
    ratio = config.get("aspectRatio", "1:1")
    if ratio not in RATIOS:
        raise invalid(f"aspect_ratio must be one of {', '.join(map(repr, RATIOS))}.", f"{at}.aspect_ratio")
    if config.get("imageSize", "1K") not in SIZES:
        raise invalid(f"image_size must be one of {', '.join(map(repr, SIZES))}.", f"{at}.image_size")
    return str(ratio)


def _known(value: Any, known: frozenset[str], at: str) -> None:
    if not isinstance(value, dict):
        raise invalid("Invalid JSON payload received.", at)
    for name in value:
        if name not in known:
            place = f" at '{at}'" if at else ""
            raise invalid(f'Invalid JSON payload received. Unknown name "{name}"{place}: Cannot find field.', at)
