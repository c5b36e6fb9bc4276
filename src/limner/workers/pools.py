"""Who gets a worker: the pools of this process, one for each recipe, and workers for a single job."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from .hosts import Hosts, hosts
from .pool import Pool
from .process import Process
from .recipe import JobFailure, JobResult, Recipe


def once(recipe: Recipe, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float) -> JobResult:
    """One job by a worker of its own; raises what a future of `Pool.submit` would."""
    process = Process(recipe)
    try:
        process.load()
        for _, found in process.ask(given, bodies, seconds):
            if isinstance(found, JobResult):
                return found
            raise found
        raise JobFailure("error", "no answer")
    finally:
        process.finish()


_pools: dict[tuple[Recipe, Hosts], Pool] = {}
_lock = threading.Lock()


def pool_of(recipe: Recipe) -> Pool:
    """The one pool of this process for a recipe, where workers now stand."""
    place = hosts()
    with _lock:
        if (recipe, place) not in _pools:
            _pools[recipe, place] = Pool(recipe, hosts=place)
        return _pools[recipe, place]


def close_pools(place: Hosts) -> None:
    """End the pools there that `pool_of` has made."""
    with _lock:
        gone = [_pools.pop(key) for key in list(_pools) if key[1] is place]
    for pool in gone:
        pool.close()


# A forked process has none of the threads: it begins anew.
os.register_at_fork(after_in_child=_pools.clear)
