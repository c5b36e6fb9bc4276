"""What painters are opened with, as far as tests need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limner.core.exam import Exam
from limner.core.settings import PainterFacts, Settings
from limner.evidence.probe import OcrProbe
from limner.painters import PainterInputs
from limner.store import Blobs


def inputs(
    name: str, spec: str, blobs: Blobs, options: Mapping[str, Any], facts: PainterFacts | None = None,
    exam: Exam[Any] | None = None,
) -> PainterInputs:  # fmt: skip
    """The inputs of a painter with these options; only controls need the exam."""
    settings = Settings(providers={}, painters={} if facts is None else {spec: facts})
    nothing: Any = exam
    return PainterInputs(
        name, spec, spec.partition("/")[2], options, nothing, blobs, settings, OcrProbe(), (1024, 1024)
    )
