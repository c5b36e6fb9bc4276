"""What a pipeline is called with: the options under the names that its own call has for them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...workers import WorkerUnfit
from .jobs import DrawSettings


def takes(pipe: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a pipeline's call."""
    return inspect.signature(pipe.__call__).parameters


def sides(how: DrawSettings, step: int) -> tuple[int, int]:
    """Width and height, cut down to multiples of what the pipeline can draw."""
    width, height = (max(step, side // step * step) for side in (how.width, how.height))
    return width, height


def arguments(pipe: Any, how: DrawSettings, prompts: Sequence[str], step: int) -> dict[str, Any]:
    """What to call a pipeline with; noise and pictures come on top.

    Raises:
        WorkerUnfit: It does not take an option that was given.
    """
    known = takes(pipe)
    by_true_guidance = _is_true_guided(known)
    negative = how.negative_prompt
    if negative is None and by_true_guidance:
        negative = " "  # Without one, these pipelines leave their guidance out.
    options = {
        "num_inference_steps": ("steps", how.steps),
        "true_cfg_scale": ("true_cfg_scale", how.true_cfg_scale),
        "negative_prompt": ("negative_prompt", None if negative is None else [negative] * len(prompts)),
        "max_sequence_length": ("max_sequence_length", how.max_sequence_length),
        "strength": ("strength", how.strength if how.editing else None),
    }
    if how.guidance is not None:
        true = by_true_guidance and how.true_cfg_scale is None
        options["true_cfg_scale" if true else "guidance_scale"] = ("guidance", how.guidance)
    given: dict[str, Any] = {"prompt": list(prompts)}
    for name, (option, value) in options.items():
        if value is None:
            continue
        if name not in known:
            raise WorkerUnfit(f"{type(pipe).__name__} takes no {option}")
        given[name] = value
    width, height = sides(how, step)
    # Some editors draw a million pixels whatever the sides, unless told otherwise.
    room = {"width": width, "height": height, "max_area": width * height}
    return given | {name: value for name, value in room.items() if name in known}


def _is_true_guided(known: Mapping[str, inspect.Parameter]) -> bool:
    """Whether classifier-free guidance goes by ``true_cfg_scale``, as with Qwen-Image, and is on by default."""
    default = known["true_cfg_scale"].default if "true_cfg_scale" in known else None
    return isinstance(default, int | float) and not math.isnan(default) and default > 1
