"""Counting the regions of a drawing: masks of a segmentation model, and lines of text."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ...core.errors import UsageError
from .base import RegionCounter

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTERS = {
    "classical": "areas within edges, by OpenCV; no model",
    "sam2-tiny": "SAM 2 tiny under onnxruntime, on the CPU",
    "sam2.1-large": "SAM 2.1 large with the release's settings",
    "sam2.1:WEIGHTS": "the same with weights from a folder, or another repository",
}
"""The words for counters, with descriptions."""


def open_counter(word: str, **options: Any) -> RegionCounter:
    """Return the counter named by a word; nothing is loaded yet.

    Args:
        word: One of `COUNTERS`.
        options: Of a model, `limner.evidence.regions.boxes.MaskSettings` by name; ``batch``; for SAM 2.1 also
            ``device`` and ``precision``, for SAM 2 tiny ``threads``.

    Raises:
        UsageError: There is no such counter, or it has no such option.
    """
    from .boxes import RELEASE, mask_settings

    kind, _, place = word.partition(":")
    make: Callable[..., RegionCounter]
    given: dict[str, Any] = {}
    if word == "classical":
        from .base import ClassicalCounter

        make = ClassicalCounter
    elif kind == "sam2-tiny":
        from .sam import FAST, TinyCounter

        make, given = TinyCounter, {"folder": place or None, "settings": mask_settings(FAST, options)}
    elif word == "sam2.1-large" or (kind == "sam2.1" and place):
        from .sam import LARGE, SamCounter

        make, given = SamCounter, {"weights": place or LARGE, "settings": mask_settings(RELEASE, options)}
    else:
        raise UsageError(f"no region counter {word!r}; choose from: {', '.join(COUNTERS)}")
    unknown = options.keys() - (inspect.signature(make).parameters.keys() - given.keys())
    if unknown:
        raise UsageError(f"region counter {word}: no option {', '.join(sorted(unknown))}")
    return make(**given, **options)
