"""The far end: opens a pipeline on one device and draws what it is asked for. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...workers import WorkerUnfit
from .jobs import DrawFailure, DrawItem, DrawSettings, PipelineSetup, RawDrawing

Drawing = Callable[[DrawSettings, Sequence[DrawItem]], Iterator[RawDrawing | DrawFailure]]
Sent = tuple[dict[str, Any], tuple[bytes, ...]]


def opened(**load: Any) -> Callable[..., Iterator[Sent]]:
    """What a worker draws with; see `limner.workers`."""
    from .pipeline import Pipeline

    try:
        return job_server(Pipeline.open(PipelineSetup(**load)).draw)
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error


def job_server(draw: Drawing) -> Callable[..., Iterator[Sent]]:
    """What answers jobs, by what draws them."""

    def serve(items: Sequence[tuple[dict[str, Any], Sequence[bytes]]], how: dict[str, Any]) -> Iterator[Sent]:
        for found in draw(DrawSettings(**how), [DrawItem(**words, images=tuple(images)) for words, images in items]):
            if isinstance(found, RawDrawing):
                yield {"place": found.place, "value": {"size": found.size, "about": found.about}}, (found.pixels,)
            else:
                yield {"place": found.place, "fault": found.kind, "detail": found.detail}, ()

    return serve
