"""Workers on a Ray cluster, each in its own actor on a node with a free core or share of a GPU.

A pool's threads use actors like processes of this machine, one job at a time. Results come back to this process, the
only one that writes to the store. Unfinished jobs of a lost node are given to other nodes.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from ..core.errors import UsageError
from ..core.redaction import redact
from .pool import close_pools
from .process import Hosts, Room, standing_on
from .ray_actor import LOOK_S, ActorHost, ActorRoom, differences, last_words, lost_as_such, parted, this_limner
from .recipe import Recipe, WorkerLost, WorkerUnfit

CONNECT_S = 10.0
"""Seconds to wait for a connection to the cluster."""


def parse_gpus(words: Sequence[str]) -> dict[str, float]:
    """Return the GPUs per label from ``N`` and ``WORKER=N``; ``""`` means all other labels.

    >>> parse_gpus(["0.5", "sam2-tiny=0"])
    {'': 0.5, 'sam2-tiny': 0.0}

    Raises:
        UsageError: A word is not of this form, or not a share that Ray can assign.
    """
    shares = {}
    for word in words:
        label, _, number = word.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not (0 <= share <= 1 or (share > 1 and share.is_integer())):
            raise UsageError(f"--ray-gpus {word}: give a share of a GPU, such as 0.5, or a whole number of GPUs")
        shares[label] = share
    return shares


@contextmanager
def cluster(address: str, gpus: Sequence[str] = (), workers: int | None = None) -> Iterator[RayCluster]:
    """Run all workers of this process on a Ray cluster that this machine belongs to.

    Args:
        address: ``auto`` for the cluster that runs on this machine, or ``HOST:PORT``.
        gpus: GPUs per worker: ``0.5``, or ``WORKER=0.5`` for one kind. By default 1 if there are any.
        workers: Workers of each kind; by default as many as the cluster has room for.

    Raises:
        UsageError: Ray is not installed, or the cluster cannot be reached.
    """
    shares = parse_gpus(gpus)
    ray = _connected(address)
    opened = RayCluster(ray, shares, workers)
    try:
        with _replaced(ray._private.worker, "print_to_stdstream", _to_stderr), standing_on(opened):
            yield opened
    finally:
        opened.leave()
        ray.shutdown()


def _connected(address: str) -> Any:
    if "://" in address:
        raise UsageError(f"--ray {address}: give auto or HOST:PORT, and start Ray on this machine too: `ray start`")
    # By default Ray reports usage statistics, and replaces the signal handlers that stop Limner.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise UsageError("--ray needs Ray: pip install 'limner[ray]'") from error
    if ray.is_initialized():
        raise UsageError("--ray: this process already uses Ray; shut it down first")
    _check_there(ray, address)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _replaced(ray._private.utils, "get_entrypoint_name", _without_secrets):
            ray.init(address=address, configure_logging=False, log_to_driver=False, namespace="limner")
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        with suppress(Exception):
            ray.shutdown()
        raise UsageError(f"--ray {address}: cannot join the cluster: {last_words(error)}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)
    return ray


def _check_there(ray: Any, address: str) -> None:
    """Raise an error at once if no cluster listens; Ray itself would try for minutes."""
    head = (os.environ.get("RAY_ADDRESS") or ray._private.utils.read_ray_address()) if address == "auto" else address
    host, _, port = (head or "").rpartition(":")
    message = f"--ray {address}: no cluster found; start one with `ray start --head --disable-usage-stats`"
    if not host or not port.isdecimal():
        raise UsageError(message)
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as error:
        raise UsageError(f"{message} ({head}: {error})") from error


@contextmanager
def _replaced(module: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Replace a function of Ray's inside the block by what `make` returns for it."""
    usual = getattr(module, name)
    setattr(module, name, make(usual))
    try:
        yield
    finally:
        setattr(module, name, usual)


def _to_stderr(usual: Callable[..., None]) -> Callable[..., None]:
    """Return a function that prints Ray's messages about lost nodes to standard error instead of standard output."""
    return lambda data, **how: usual({**data, "is_err": True}, **how)


def _without_secrets(usual: Callable[[], str]) -> Callable[[], str]:
    """Return a function for the command line that Ray sends to the cluster, without secrets."""
    return lambda: redact(usual())


GONE_S = 120.0
"""Seconds to wait while no node of the cluster could have room."""
END_S = 10.0
"""Seconds to wait for threads to stop after leaving the cluster."""
STARTS = 5
"""Actors lost in a row while starting, after which no further one is tried."""


class RayCluster(Hosts):
    """A Ray cluster that this process belongs to.

    Args:
        ray: The package, connected.
        gpus: GPUs per worker by label, ``""`` for all others. By default 1 if there are any.
        workers: Workers of each kind; by default as many as the cluster has room for.
    """

    def __init__(self, ray: Any, gpus: Mapping[str, float] | None = None, workers: int | None = None) -> None:
        self.ray, self._gpus, self._workers = ray, dict(gpus or {}), workers
        self._actor = ray.remote(ActorHost)
        self._usual = 1.0 if any(self._capacity("GPU", 1.0)) else 0.0
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._calling = 0
        self._waiting: Counter[str] = Counter()
        self._rooms: set[ActorRoom] = set()
        self.left = False

    def count(self, recipe: Recipe) -> int:
        """Return the number of workers that fit on its nodes, one per node for a worker that uses all cores."""
        if self._workers is not None:
            return self._workers
        (name, amount), whole = self._need(recipe), not recipe.single
        number = sum(min(1, room) if whole and name == "CPU" else room for room in self._capacity(name, amount))
        if not number:
            raise WorkerUnfit(self._no_node(recipe, name, amount), loading=True)
        return number

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        """Return the devices: any that Ray assigns, or the CPU if it was named.

        Raises:
            UsageError: GPUs of this machine were named, or no node has what a worker needs.
        """
        if any(device not in (None, "cpu") for device in named):
            names = ", ".join(str(device) for device in named)
            raise UsageError(
                f"{label}: devices={names} are this machine's; on a cluster Ray chooses them: leave out devices, and "
                "set the share of a GPU per worker with --ray-gpus"
            )
        try:
            return list(named[:1]) * self.count(Recipe(label, "", single=False, gpu=named[0] != "cpu"))
        except WorkerUnfit as error:
            raise UsageError(str(error)) from error

    def scarce(self, recipe: Recipe) -> bool:
        """Return whether others wait for a core or a GPU."""
        return self._waiting[self._need(recipe)[0]] > 0

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        """Return an actor on a node that has room; None once it is no longer wanted.

        Raises:
            WorkerUnfit: No node has the resources, or a node has another version of Limner.
        """
        for _ in range(STARTS):
            with suppress(WorkerLost), self.calling():
                return self._enter(recipe, args, wanted)
        raise WorkerUnfit(f"{STARTS} actors in a row were lost while starting", loading=True)

    def _enter(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        name, amount = self._need(recipe)
        need = {"num_gpus": amount, "num_cpus": 0} if name == "GPU" else {"num_cpus": amount}
        actor = self._actor.options(**need, max_restarts=0, scheduling_strategy="SPREAD").remote()
        room = ActorRoom(self, actor, recipe, args)
        with self._lock:
            self._rooms.add(room)
        try:
            node_info = self._await(actor.look.remote(), recipe, wanted)
            if node_info is not None:
                return self._same(room, node_info)
        except BaseException:
            room.leave()
            raise
        room.leave()
        return None

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Guard a call to Ray, which must not be used after shutdown.

        Raises:
            WorkerUnfit: The cluster was left.
        """
        with self._lock:
            if self.left:
                raise WorkerUnfit("the cluster was left")
            self._calling += 1
        try:
            yield
        finally:
            with self._quiet:
                self._calling -= 1
                self._quiet.notify_all()

    def leave(self) -> None:
        """End all actors of this process, and wait until no thread calls Ray."""
        with self._lock:
            self.left = True
        close_pools(self)
        with self._lock:
            rooms = list(self._rooms)
        for room in rooms:
            room.leave()
        with self._quiet:
            self._quiet.wait_for(lambda: not self._calling, END_S)

    def forget(self, room: ActorRoom) -> None:
        """Drop a room from the list of held rooms."""
        with self._lock:
            self._rooms.discard(room)

    def _need(self, recipe: Recipe) -> tuple[str, float]:
        """Return the resource that a worker needs, and how much of it."""
        if recipe.gpu:
            share = self._gpus.get(recipe.label, self._gpus.get("", self._usual))
            if share:
                return "GPU", share
        return "CPU", 1.0

    def _capacity(self, name: str, amount: float) -> list[int]:
        """Return how many workers each node could have."""
        alive = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if amount >= 1:
            return [int(node.get(name, 0) // amount) for node in alive]
        # Three workers with a third of a GPU each share one GPU.
        return [int(node.get(name, 0)) * math.floor(1 / amount + 1e-6) for node in alive]

    def _no_node(self, recipe: Recipe, name: str, amount: float) -> str:
        hint = f"; add --ray-gpus {recipe.label}=0 to run it on CPUs" if name == "GPU" else ""
        return f"{recipe.label}: no node of the Ray cluster has {amount:g} {name}{hint}"

    def _await(self, ref: Any, recipe: Recipe, wanted: Callable[[], bool]) -> bytes | None:
        """Return the actor's first answer once it runs."""
        (name, amount), since, is_counted = self._need(recipe), time.monotonic(), False
        try:
            while not self.ray.wait([ref], timeout=LOOK_S)[0]:
                if self.left or not wanted():
                    return None
                if not is_counted:
                    is_counted = self._wait_for(name, 1)
                if any(self._capacity(name, amount)) or self._workers is not None:
                    since = time.monotonic()
                elif time.monotonic() - since > GONE_S:
                    raise WorkerUnfit(self._no_node(recipe, name, amount), loading=True)
            with lost_as_such(self.ray):
                answer: bytes = self.ray.get(ref)
                return answer
        finally:
            if is_counted:
                self._wait_for(name, -1)

    def _wait_for(self, name: str, change: int) -> bool:
        with self._lock:
            self._waiting[name] += change
        return True

    def _same(self, room: ActorRoom, looked: bytes) -> ActorRoom:
        header, _ = parted(looked)
        if others := differences(this_limner(), header["limner"]):
            raise WorkerUnfit(
                f"node {header['node']} has {'; '.join(others)}: install the same version everywhere", loading=True
            )
        return room
