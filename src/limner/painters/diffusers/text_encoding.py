"""Prompts as text encoders read them: FLUX's beyond what its pipeline takes, and what an encoder leaves unread.

All this needs of a pipeline is its tokenizers and encoders, so that training can use it as drawing does.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...workers import WorkerUnfit

USUAL, LONGEST = 512, 2048
"""Tokens of a prompt that a FLUX pipeline takes by itself, and that are encoded for it outside."""
SHOWN = 200
"""Of what was not read, so many characters are told."""
SEPARATOR = "=== DRAWING ==="
"""Stands between a chain of reasoning and the description it ends in."""


def reason_text(trace: str, description: str, most: int, count: Callable[[str], int]) -> str:
    """Return what FLUX-Reason's T5 reads, in training and in drawing: trace, separator, description.

    What does not fit is cut from the trace's end; a description that leaves no room for a trace stands alone.

    >>> reason_text("a b c d", "x y", 9, lambda text: len(text.split()))
    'a b\\n\\n=== DRAWING ===\\n\\nx y'
    """
    end = f"\n\n{SEPARATOR}\n\n{description.strip()}"
    # One more is the mark of the end, and one is lost where two texts meet.
    room = most - count(end) - 2
    words = trace.split(" ")
    kept = bisect_right(range(1, len(words) + 1), room, key=lambda n: count(" ".join(words[:n]))) if trace else 0
    before = " ".join(words[:kept]).strip()
    return f"{before}{end}" if before else description.strip()


def is_flux(pipe: Any) -> bool:
    """Whether T5 makes the sequence and CLIP the pooled vector, as in all of FLUX.1."""
    return _is(pipe, "text_encoder_2", "T5") and _is(pipe, "text_encoder", "CLIP")


def encode(pipe: Any, prompts: Sequence[str], most: int, shorts: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what a FLUX transformer is given for these prompts, under the names of the pipeline's arguments.

    T5's positions are relative, so that it reads on beyond what it was trained for. CLIP reads 77 tokens as ever; of it
    only one vector is used.

    Args:
        pipe: Whatever has FLUX's encoders and tokenizers.
        prompts: The texts, one for each drawing.
        most: How many tokens T5 reads; shorter texts are filled up to it, as FLUX does.
        shorts: What CLIP reads, where it is not the same.

    Raises:
        WorkerUnfit: It is more than there is any use for.
    """
    if most > LONGEST:
        raise WorkerUnfit(f"{type(pipe).__name__} reads at most {LONGEST} tokens, not max_sequence_length={most}")
    first = list(prompts if shorts is None else shorts)
    sequence, pooled, _ = pipe.encode_prompt(first, list(prompts), max_sequence_length=most)
    return {"prompt_embeds": sequence, "pooled_prompt_embeds": pooled}


def encoded(pipe: Any, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a call, with prompts encoded here where the pipeline itself would refuse their length."""
    most = given.get("max_sequence_length")
    if most is None or most <= USUAL or not is_flux(pipe):
        return given
    rest = {name: value for name, value in given.items() if name not in ("prompt", "prompt_2", "max_sequence_length")}
    if "prompt_2" in given:
        return rest | encode(pipe, given["prompt_2"], most, given["prompt"])
    return rest | encode(pipe, given["prompt"], most)


def unread(pipe: Any, prompt: str, most: int | None) -> dict[str, Any] | None:
    """What of a prompt no text encoder reads, as notes have it; None where all is read, or where that is not known.

    See `limner.store.records.PROMPT_CUT`.

    Args:
        pipe: The pipeline.
        prompt: The text.
        most: The ``max_sequence_length`` it is called with; None for its own.
    """
    tokenizer, room = _furthest(pipe, most)
    if tokenizer is None or room is None:
        return None
    tokens = tokenizer(prompt, truncation=False).input_ids
    if len(tokens) <= room:
        return None
    # The last token that is read is the mark of the end.
    rest = " ".join(tokenizer.decode(tokens[room - 1 :], skip_special_tokens=True).split())
    shown = rest if len(rest) <= SHOWN else f"{rest[:SHOWN]}…"
    return {"sent": len(tokens), "read": room, "unit": "tokens", "rest": shown}


def _furthest(pipe: Any, most: int | None) -> tuple[Any, int | None]:
    """Return the tokenizer of the encoder that reads the longest, and how many tokens that are."""
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
