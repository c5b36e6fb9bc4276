"""The nodes of a Ray cluster as hosts of workers: how many there may be, and room for one more."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..core.errors import UsageError
from .hosts import Room
from .pools import close_pools
from .ray_actor import ActorHost, differences, parted, this_limner
from .ray_room import LOOK_S, ActorRoom, lost_as_such
from .recipe import Recipe, WorkerLost, WorkerUnfit

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
        """An actor on a node that has room; None once it is not wanted any more.

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
        """What a worker takes of its node, and how much of it."""
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
        """What an actor says once it stands."""
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
