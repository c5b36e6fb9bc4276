"""The options of ``diffusers/…``: those that change a drawing, and those that affect only how it is computed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.errors import UsageError
from ...core.redaction import is_key
from ..base import Aspect

SIZES: dict[Aspect, str] = {"square": "1024x1024", "landscape": "1216x832", "portrait": "832x1216"}
"""The default size for each aspect: about a million pixels, which current models are made for."""
DTYPES = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16"} | {
    "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"
}  # fmt: skip
OFFLOADS = ("none", "model", "sequential")
QUANTIZATIONS = ("bitsandbytes-4bit", "bitsandbytes-8bit", "torchao-float8", "torchao-int8")
ALIASES = {"num_inference_steps": "steps", "guidance_scale": "guidance", "device": "devices"}
"""Other names of the options, used in the papers' presets and elsewhere."""
ABSENT: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Options:
    """Checked options.

    Attributes:
        drawing: The given options that change a drawing.
        devices: The devices, with one worker on each; None means the best one.
        timeout_s: Seconds allowed for one drawing.
        env: Environment variables that workers get in addition to the usual ones.
        split: Whether one worker distributes the pipeline over all GPUs that it sees.
    """

    drawing: Mapping[str, Any]
    batch_size: int = 1
    devices: tuple[str | None, ...] = (None,)
    offload: str = "none"
    timeout_s: float = 3600.0
    env: tuple[str, ...] = ()
    split: bool = False

    @property
    def loras(self) -> list[tuple[str, float]]:
        """The path or repository of each LoRA, and its scale."""
        return [(word.rpartition(":")[0], float(word.rpartition(":")[2])) for word in self.drawing.get("lora", ())]

    @property
    def dtype(self) -> str:
        """The number format of the loaded weights; equal on every device, since it affects the drawing."""
        return str(self.drawing.get("dtype", "bfloat16"))

    def size(self, aspect: Aspect, sizes: Mapping[Any, str] = ABSENT) -> tuple[int, int]:
        """Return width and height for an aspect: as requested, else as known for the painter, else the default."""
        if "width" in self.drawing:
            return self.drawing["width"], self.drawing["height"]
        asked = self.drawing.get("size")
        if isinstance(asked, Mapping):
            asked = asked.get(aspect)
        size = asked or sizes.get(aspect) or SIZES[aspect]
        try:
            return _sides(size)
        except ValueError as error:
            raise UsageError(f"the size {size!r} in limner.toml is not valid; {READERS['size'][1]}") from error


def parse(given: Mapping[str, Any], spec: str, readers: Mapping[str, Reader] | None = None) -> Options:
    """Return the checked options from ``--painter-arg`` values.

    Args:
        given: The values by name.
        spec: The painter, for messages.
        readers: The options that exist, if not those of a pipeline.

    Raises:
        UsageError: An option is unknown or its value is not valid.
    """
    readers = READERS if readers is None else readers
    options: dict[str, Any] = {}
    for name, value in given.items():
        own = ALIASES.get(name, name)
        if own not in readers:
            raise UsageError(f"{spec} has no option {name!r}; it has: {', '.join(sorted(readers))}")
        if own in options:
            raise UsageError(f"{spec}: {own} is given twice, once as {name}")
        read, meaning = readers[own]
        try:
            options[own] = read(value)
        except (TypeError, ValueError, KeyError) as error:
            raise UsageError(f"{spec}: {name}={value} is not valid; {meaning}") from error
    if ("width" in options) != ("height" in options) or ("width" in options and "size" in options):
        raise UsageError(f"{spec}: give width and height together, or size alone")
    if "custom_pipeline" in options and not options.get("trust_remote_code"):
        raise UsageError(
            f"{spec}: custom_pipeline runs code that comes with the weights; to trust it, add trust_remote_code=true"
        )
    if options.get("split") and ("devices" in options or options.get("offload", "none") != "none"):
        raise UsageError(
            f"{spec}: split uses all GPUs of one worker; choose them with CUDA_VISIBLE_DEVICES, "
            "and leave out devices and offload"
        )
    how = {name: options.pop(name) for name in EXECUTION if name in options}
    return Options(options, **how)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or int(value) != float(value) or int(value) < 1:
        raise ValueError
    return int(value)


def _number(fits: Callable[[float], bool]) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not fits(float(value)):
            raise ValueError
        return float(value)

    return read


def _text(value: Any) -> str:
    if isinstance(value, bool | list | dict) or value is None:
        raise ValueError
    return str(value)


def _sides(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)[x*]([1-9]\d*)", value)
    if match is None:
        raise ValueError
    return int(match[1]), int(match[2])


def _size(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return "{}x{}".format(*_sides(value))
    if not value or not set(value) <= set(SIZES):
        raise ValueError
    return {aspect: "{}x{}".format(*_sides(size)) for aspect, size in value.items()}


def _words(value: Any) -> list[str]:
    words = [str(word).strip() for word in (value if isinstance(value, list) else str(value).split(","))]
    if not all(words):
        raise ValueError
    return words


def _devices(value: Any) -> tuple[str, ...]:
    """Parse ``0,1``, ``cuda:0,cuda:1`` or ``cpu``."""
    names = tuple(f"cuda:{word}" if word.isdecimal() else word for word in _words(value))
    if not all(re.fullmatch(r"[a-z]+(:\d+)?", name) for name in names) or len(set(names)) < len(names):
        raise ValueError
    return names


def _variables(value: Any) -> tuple[str, ...]:
    """Parse ``NAME,NAME``; workers get no keys."""
    names = tuple(_words(value))
    if not all(re.fullmatch(r"[A-Za-z_]\w*", name) and not is_key(name) for name in names):
        raise ValueError
    return names


def _loras(value: Any) -> list[str]:
    """Parse ``PATH``, ``PATH:SCALE`` or several of them; the scale is a number after the last colon."""
    loras = []
    for word in _words(value):
        path, colon, scale = word.rpartition(":")
        if not colon or not re.fullmatch(r"-?\d+(\.\d+)?", scale):
            path, scale = word, "1"
        if not path:
            raise ValueError
        loras.append(f"{path}:{float(scale):g}")
    return loras


def _scheduler(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z]\w*", value):
        raise ValueError
    return value.removesuffix("Scheduler") + "Scheduler"


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _offload(value: Any) -> str:
    return OFFLOADS[OFFLOADS.index(value)]


Reader = tuple[Callable[[Any], Any], str]
WHOLE: Reader = (_whole, "it is a whole number from 1")
NUMBER: Reader = (_number(lambda number: 0 <= number < math.inf), "it is a number from 0")
POSITIVE: Reader = (_number(lambda number: 0 < number < math.inf), "it is a number above 0")
TEXT: Reader = (_text, "it is text")
FLAG: Reader = (_flag, "it is true or false")
PLACES: Reader = (_words, "it is folders, files or OWNER/NAME, separated by commas")
READERS: dict[str, Reader] = {
    "dtype": (DTYPES.__getitem__, "it is bfloat16, float16 or float32"),
    "steps": WHOLE,
    "guidance": NUMBER,
    "true_cfg_scale": NUMBER,
    "negative_prompt": TEXT,
    "max_sequence_length": WHOLE,
    "size": (_size, 'it is WIDTHxHEIGHT, or one by aspect: {"landscape": "1216x832", …}'),
    "width": WHOLE,
    "height": WHOLE,
    "strength": (_number(lambda number: 0 < number <= 1), "it is above 0 and at most 1"),
    "lora": (_loras, "it is PATH or PATH:SCALE, several with commas between them"),
    "scheduler": (_scheduler, "it is a scheduler of diffusers, such as DPMSolverMultistep"),
    "quantize": (lambda value: QUANTIZATIONS[QUANTIZATIONS.index(value)], f"it is {', '.join(QUANTIZATIONS)}"),
    "custom_pipeline": TEXT,
    "trust_remote_code": FLAG,
    "variant": TEXT,
    "revision": TEXT,
    "batch_size": WHOLE,
    "devices": (_devices, "it is numbers of GPUs, such as 0,1, or cpu"),
    "offload": (_offload, f"it is {', '.join(OFFLOADS)}"),
    "split": FLAG,
    "timeout_s": (POSITIVE[0], "it is a number of seconds above 0"),
    "env": (
        _variables, "it is names of environment variables, such as NAME,NAME; keys are not passed on",
    ),
}  # fmt: skip
"""The function that parses the value of each option, and a description of valid values for the error message."""
EXECUTION = ("batch_size", "devices", "offload", "split", "timeout_s", "env")
"""Options that change no drawing; they are not part of keys and labels."""
