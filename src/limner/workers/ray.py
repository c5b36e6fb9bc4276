"""Workers on a Ray cluster: each in an actor of its own, on whatever node has a core or a share of a GPU for it.

A pool's threads ask actors as they ask processes of this machine, one job at a time each. Results come back to this
process, which alone writes the store. What a lost node has left undone is given to others.
"""

from __future__ import annotations

import asyncio
import base64
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
from ..core.images import MAX_BYTES, BadImage, ImageForm, PreparedImage, Preparer, prepare
from ..core.redaction import redacted
from .pool import close_pools, pool_of
from .process import Room, standing_on
from .ray_actor import LOOK_S, ActorHost, ActorRoom, differences, last_words, lost_as_such, parted, this_limner
from .recipe import JobFailure, Recipe, WorkerDeath, WorkerLost, WorkerUnfit

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


GONE_S = 120.0
"""Seconds that may pass while no node of the cluster could ever have room."""
END_S = 10.0
"""Seconds that threads have to see that the cluster was left."""
STARTS = 5
"""So many actors in a row that are lost before they stand, and no further one is tried."""


class RayCluster:
    """A cluster that this process belongs to.

    Args:
        ray: The package, connected.
        gpus: GPUs that one worker takes, by its label; under ``""`` for all others. By default 1 where there are any.
        workers: Workers of each sort; by default as many as the cluster has room for.
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
        """As many as its nodes have room for, but one a node where a worker uses all its cores."""
        if self._workers is not None:
            return self._workers
        (name, amount), whole = self._need(recipe), not recipe.single
        found = sum(min(1, room) if whole and name == "CPU" else room for room in self._capacity(name, amount))
        if not found:
            raise WorkerUnfit(self._no_node(recipe, name, amount), loading=True)
        return found

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        """Any that Ray gives, or the CPU where that was named.

        Raises:
            UsageError: GPUs of this machine were named, or no node has what a worker needs.
        """
        if any(device not in (None, "cpu") for device in named):
            told = ", ".join(str(device) for device in named)
            raise UsageError(
                f"{label}: devices={told} are this machine's; on a cluster Ray chooses them: leave devices out, and "
                "say with --ray-gpus how much of a GPU one worker takes"
            )
        try:
            return list(named[:1]) * self.count(Recipe(label, "", single=False, gpu=named[0] != "cpu"))
        except WorkerUnfit as error:
            raise UsageError(str(error)) from error

    def scarce(self, recipe: Recipe) -> bool:
        """Whether others wait for a core or a GPU."""
        return self._waiting[self._need(recipe)[0]] > 0

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        """Return an actor on a node that has room; None once it is not wanted any more.

        Raises:
            WorkerUnfit: No node has what it needs, or not the same Limner as here.
        """
        for _ in range(STARTS):
            with suppress(WorkerLost), self.calling():
                return self._enter(recipe, args, wanted)
        raise WorkerUnfit(f"{STARTS} actors in a row were lost before they stood", loading=True)

    def _enter(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        name, amount = self._need(recipe)
        need = {"num_gpus": amount, "num_cpus": 0} if name == "GPU" else {"num_cpus": amount}
        actor = self._actor.options(**need, max_restarts=0, scheduling_strategy="SPREAD").remote()
        room = ActorRoom(self, actor, recipe, args)
        with self._lock:
            self._rooms.add(room)
        try:
            told = self._await(actor.look.remote(), recipe, wanted)
            if told is not None:
                return self._same(room, told)
        except BaseException:
            room.leave()
            raise
        room.leave()
        return None

    @contextmanager
    def calling(self) -> Iterator[None]:
        """While a thread asks Ray, which does not bear that once it is shut down.

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
        """End all that stands there for this process, and wait until no thread asks Ray any more."""
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
        """Hold it no longer."""
        with self._lock:
            self._rooms.discard(room)

    def _need(self, recipe: Recipe) -> tuple[str, float]:
        """Return what a worker takes of its node, and how much of it."""
        if recipe.gpu:
            share = self._gpus.get(recipe.label, self._gpus.get("", self._usual))
            if share:
                return "GPU", share
        return "CPU", 1.0

    def _capacity(self, name: str, amount: float) -> list[int]:
        """How many workers each node could have."""
        alive = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if amount >= 1:
            return [int(node.get(name, 0) // amount) for node in alive]
        # A third of a GPU is a third of it, three times.
        return [int(node.get(name, 0)) * math.floor(1 / amount + 1e-6) for node in alive]

    def _no_node(self, recipe: Recipe, name: str, amount: float) -> str:
        hint = f"; say --ray-gpus {recipe.label}=0 to have it on CPUs" if name == "GPU" else ""
        return f"{recipe.label}: no node of the Ray cluster has {amount:g} {name}{hint}"

    def _await(self, ref: Any, recipe: Recipe, wanted: Callable[[], bool]) -> bytes | None:
        """Return what an actor says once it stands."""
        (name, amount), since, told = self._need(recipe), time.monotonic(), False
        try:
            while not self.ray.wait([ref], timeout=LOOK_S)[0]:
                if self.left or not wanted():
                    return None
                if not told:
                    told = self._wait_for(name, 1)
                if any(self._capacity(name, amount)) or self._workers is not None:
                    since = time.monotonic()
                elif time.monotonic() - since > GONE_S:
                    raise WorkerUnfit(self._no_node(recipe, name, amount), loading=True)
            with lost_as_such(self.ray):
                found: bytes = self.ray.get(ref)
                return found
        finally:
            if told:
                self._wait_for(name, -1)

    def _wait_for(self, name: str, change: int) -> bool:
        with self._lock:
            self._waiting[name] += change
        return True

    def _same(self, room: ActorRoom, looked: bytes) -> ActorRoom:
        header, _ = parted(looked)
        if others := differences(this_limner(), header["limner"]):
            raise WorkerUnfit(
                f"node {header['node']} has {'; '.join(others)}: install the same everywhere", loading=True
            )
        return room


SECONDS = 120.0
"""How long one image may take."""
RECIPE = Recipe("images", f"{__name__}:preparer", most=2 * MAX_BYTES)


def preparer() -> Callable[..., bytes]:
    """Return what a worker prepares with: a line with media type and size, and the image's bytes."""

    def make(data: bytes, max_side: int | None, form: ImageForm) -> bytes:
        found = prepare(data, max_side, form)
        media, image = found.parts
        return f"{media} {found.width} {found.height}\n".encode() + image

    return make


async def prepare_by_worker(data: bytes, max_side: int | None, form: ImageForm) -> PreparedImage:
    """Return the same as `limner.core.images.prepare`, by a worker; here, where workers are of no use.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    try:
        job = pool_of(RECIPE).submit({"max_side": max_side, "form": form}, (data,), seconds=SECONDS)
        (found,) = (await asyncio.wrap_future(job)).bodies
    except (JobFailure, WorkerDeath, WorkerUnfit) as error:
        if isinstance(error, JobFailure) and error.kind == "image":
            raise BadImage(error.detail) from error
        return await asyncio.to_thread(prepare, data, max_side, form)
    line, _, image = found.partition(b"\n")
    media, width, height = line.decode().split()
    url = f"data:{media};base64,{base64.b64encode(image).decode()}"
    return PreparedImage(url, int(width), int(height))
