"""Where local work is done: the options of commands that may have their workers on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from .options import together

F = TypeVar("F", bound=Callable[..., Any])


def _standing_there(function: F) -> F:
    """Have workers where ``--ray`` says while the command runs, unless it is a dry run."""

    @wraps(function)
    def run(*args: Any, ray: str | None, ray_gpus: tuple[str, ...], ray_workers: int | None, **given: Any) -> Any:
        if ray is None and (ray_gpus or ray_workers is not None):
            raise click.UsageError("--ray-gpus and --ray-workers go with --ray")
        if ray is None or given.get("dry_run"):
            return function(*args, **given)
        from ..workers.ray import cluster

        with cluster(ray, ray_gpus, ray_workers):
            return function(*args, **given)

    return cast(F, run)


on_cluster = together(
    click.option(
        "--ray", envvar="LIMNER_RAY", metavar="auto|HOST:PORT",
        help="Do local work (painters that run here, OCR, regions, aesthetics, preparing images) on this Ray cluster.",
    ),
    click.option(
        "--ray-gpus", multiple=True, metavar="[WORKER=]N",
        help="How much of a GPU one worker takes: 0.5, 1, 2; diffusers=1 for one sort. Repeatable; 1 by default.",
    ),
    click.option(
        "--ray-workers", type=click.IntRange(1), metavar="N",
        help="Workers of each sort; by default as many as the cluster has room for.",
    ),
    _standing_there,
)  # fmt: skip
"""What a command that does local work is decorated with; its function never sees these options."""
