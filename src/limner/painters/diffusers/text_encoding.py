"""Text encoding: FLUX prompts that are longer than its pipeline accepts, and the unread part of a prompt.

Only a pipeline's tokenizers and encoders are needed, so that both training and drawing can use this module.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...workers import WorkerUnfit

USUAL_TOKENS, MAX_TOKENS = 512, 2048
"""The most tokens of a prompt that a FLUX pipeline itself accepts, and that can be encoded for it here."""
SHOWN_CHARS = 200
"""The most characters of the unread part that are shown."""
SEPARATOR = "=== DRAWING ==="
"""The line between a chain of reasoning and the final description."""


def reason_text(trace: str, description: str, most: int, count: Callable[[str], int]) -> str:
    """Return the text that FLUX-Reason's T5 reads, in training and in drawing: trace, separator, description.

    The trace is cut at its end to fit; if the description leaves no room for a trace, it is used without one.

    >>> reason_text("a b c d", "x y", 9, lambda text: len(text.split()))
    'a b\\n\\n=== DRAWING ===\\n\\nx y'
    """
    end = f"\n\n{SEPARATOR}\n\n{description.strip()}"
    # One token is the end mark, and joining two texts may cost another one.
    room = most - count(end) - 2
    words = trace.split(" ")
    kept = bisect_right(range(1, len(words) + 1), room, key=lambda n: count(" ".join(words[:n]))) if trace else 0
    before = " ".join(words[:kept]).strip()
    return f"{before}{end}" if before else description.strip()


def token_counter(tokenizer: Any) -> Callable[[str], int]:
    """Return a function that counts the tokens of a text, without the end mark."""
    return lambda text: len(tokenizer(text, truncation=False, add_special_tokens=False).input_ids)


def is_flux(pipe: Any) -> bool:
    """Return whether T5 makes the sequence and CLIP the pooled vector, as in all FLUX.1 pipelines."""
    return _is(pipe, "text_encoder_2", "T5") and _is(pipe, "text_encoder", "CLIP")


def encode(pipe: Any, prompts: Sequence[str], most: int, shorts: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the embeddings of these prompts under the names of the pipeline's arguments.

    T5's positions are relative, so it can read longer texts than it was trained on. CLIP always reads 77 tokens; only
    its pooled vector is used.

    Args:
        pipe: An object with FLUX's encoders and tokenizers.
        prompts: The texts, one for each drawing.
        most: The number of tokens that T5 reads; shorter texts are padded to it, as in FLUX.
        shorts: The texts for CLIP, if they differ.

    Raises:
        WorkerUnfit: `most` is larger than `MAX_TOKENS`.
    """
    if most > MAX_TOKENS:
        raise WorkerUnfit(f"{type(pipe).__name__} reads at most {MAX_TOKENS} tokens, not max_sequence_length={most}")
    first = list(prompts if shorts is None else shorts)
    sequence, pooled, _ = pipe.encode_prompt(first, list(prompts), max_sequence_length=most)
    return {"prompt_embeds": sequence, "pooled_prompt_embeds": pooled}


def encode_long_prompts(pipe: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, with prompts encoded if the pipeline itself would refuse their length."""
    most = given.get("max_sequence_length")
    if most is None or most <= USUAL_TOKENS or not is_flux(pipe):
        return given
    rest = {name: value for name, value in given.items() if name not in ("prompt", "prompt_2", "max_sequence_length")}
    if "prompt_2" in given:
        return rest | encode(pipe, given["prompt_2"], most, given["prompt"])
    return rest | encode(pipe, given["prompt"], most)


def find_unread(pipe: Any, prompt: str, most: int | None) -> dict[str, Any] | None:
    """Return the part of a prompt that no text encoder reads, as a note; None if all is read, or if unknown.

    See `limner.store.records.PROMPT_CUT`.

    Args:
        pipe: The pipeline.
        prompt: The text.
        most: The ``max_sequence_length`` of the call; None for the pipeline's own.
    """
    tokenizer, room = _furthest(pipe, most)
    if tokenizer is None or room is None:
        return None
    tokens = tokenizer(prompt, truncation=False).input_ids
    if len(tokens) <= room:
        return None
    # The last token that is read is the end mark.
    rest = " ".join(tokenizer.decode(tokens[room - 1 :], skip_special_tokens=True).split())
    shown = rest if len(rest) <= SHOWN_CHARS else f"{rest[:SHOWN_CHARS]}…"
    return {"sent": len(tokens), "read": room, "unit": "tokens", "rest": shown}


def _furthest(pipe: Any, most: int | None) -> tuple[Any, int | None]:
    """Return the tokenizer of the encoder that reads the most tokens, and their number."""
    for n in ("_3", "_2", ""):
        if _is(pipe, f"text_encoder{n}", "T5"):
            usual = inspect.signature(pipe.__call__).parameters.get("max_sequence_length")
            own = usual.default if usual is not None and isinstance(usual.default, int) else None
            return getattr(pipe, f"tokenizer{n}", None), most or own
    if _is(pipe, "text_encoder", "CLIP"):
        tokenizer = getattr(pipe, "tokenizer", None)
        return tokenizer, getattr(tokenizer, "model_max_length", None)
    return None, None


def _is(pipe: Any, part: str, family: str) -> bool:
    return family in type(getattr(pipe, part, None)).__name__
