"""Workers on a Ray cluster: each in an actor of its own, on whatever node has a core or a share of a GPU for it.

A pool's threads ask actors as they ask processes of this machine, one job at a time each. Results come back to this
process, which alone writes the store. What a lost node has left undone is given to others.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from ..core.errors import UsageError
from ..core.images import Preparer
from ..core.redaction import redacted
from .hosts import standing_on
from .preparing import prepare_by_worker
from .ray_cluster import RayCluster
from .ray_room import last_words

CONNECT_S = 10.0
"""Seconds that a cluster has to be heard of."""


def parse_gpus(words: Sequence[str]) -> dict[str, float]:
    """``N`` and ``WORKER=N`` as GPUs by label; ``""`` stands for all others.

    >>> parse_gpus(["0.5", "sam2-tiny=0"])
    {'': 0.5, 'sam2-tiny': 0.0}

    Raises:
        UsageError: A word is none, or no share that Ray can give.
    """
    found = {}
    for word in words:
        label, _, number = word.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not (0 <= share <= 1 or (share > 1 and share.is_integer())):
            raise UsageError(f"--ray-gpus {word}: it is a share of a GPU, such as 0.5, or a whole number of them")
        found[label] = share
    return found


@contextmanager
def cluster(address: str, gpus: Sequence[str] = (), workers: int | None = None) -> Iterator[RayCluster]:
    """Have all workers of this process on a Ray cluster, which this machine must belong to.

    Args:
        address: ``auto`` for the cluster that runs on this machine, or ``HOST:PORT``.
        gpus: GPUs that one worker takes: ``0.5``, or ``WORKER=0.5`` for one sort. By default 1 where there are any.
        workers: Workers of each sort; by default as many as the cluster has room for.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """
    shares = parse_gpus(gpus)
    ray = _connected(address)
    found = RayCluster(ray, shares, workers)
    try:
        with _told_beside(ray), standing_on(found):
            Preparer.elsewhere = prepare_by_worker
            yield found
    finally:
        Preparer.elsewhere = None
        found.leave()
        ray.shutdown()


def _connected(address: str) -> Any:
    if "://" in address:
        raise UsageError(f"--ray {address}: it is auto or HOST:PORT; start Ray on this machine too: `ray start`")
    # Ray reports how it is used unless told not to, and takes the signals that Limner ends by.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray: pip install 'limner[ray]'") from error
    if ray.is_initialized():
        raise UsageError("--ray: this process uses Ray already: shut that down first")
    _check_there(ray, address)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _quiet_entry(ray):
            ray.init(address=address, configure_logging=False, log_to_driver=False, namespace="limner")
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        with suppress(Exception):
            ray.shutdown()
        raise UsageError(f"--ray {address}: it cannot be joined: {last_words(error)}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)
    return ray


def _check_there(ray: Any, address: str) -> None:
    """Fail at once where nothing listens: Ray itself would try for many minutes."""
    known = (os.environ.get("RAY_ADDRESS") or ray._private.utils.read_ray_address()) if address == "auto" else address
    host, _, port = (known or "").rpartition(":")
    told = f"--ray {address}: no cluster is there; start one with `ray start --head --disable-usage-stats`"
    if not host or not port.isdecimal():
        raise UsageError(told)
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as error:
        raise UsageError(f"{told} ({known}: {error})") from error


@contextmanager
def _told_beside(ray: Any) -> Iterator[None]:
    """Ray tells of a lost node on standard output, among results: have it told beside them."""
    worker = ray._private.worker
    usual = worker.print_to_stdstream
    worker.print_to_stdstream = lambda data, **how: usual({**data, "is_err": True}, **how)
    try:
        yield
    finally:
        worker.print_to_stdstream = usual


@contextmanager
def _quiet_entry(ray: Any) -> Iterator[None]:
    """Ray tells the cluster by which command it was joined; a store's address may hold a password."""
    utils = ray._private.utils
    usual = utils.get_entrypoint_name
    utils.get_entrypoint_name = lambda: redacted(usual())
    try:
        yield
    finally:
        utils.get_entrypoint_name = usual
