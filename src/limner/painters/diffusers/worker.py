"""The far end: opens a pipeline on one device and draws what it is asked for. Runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...workers import WorkerUnfit
from ..batched.jobs import DrawItem, Found, Sent, serve_jobs
from .jobs import DrawSettings, PipelineSetup

Drawing = Callable[[DrawSettings, Sequence[DrawItem]], Iterator[Found]]


def opened(**load: Any) -> Callable[..., Iterator[Sent]]:
    """What a worker draws with; see `limner.workers`."""
    from .pipeline import Pipeline

    try:
        return job_server(Pipeline.open(PipelineSetup(**load)).draw)
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error


def job_server(draw: Drawing) -> Callable[..., Iterator[Sent]]:
    """What answers jobs, by what draws them."""
    return serve_jobs(lambda how, items: draw(DrawSettings(**how), items))
