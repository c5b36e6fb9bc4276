"""Room on a node of a Ray cluster, and the near end of the worker in it: asked like a process of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..core.redaction import redacted
from . import frames
from .hosts import Worker
from .ray_actor import Answer, packed_recipe, read_answer
from .recipe import JobFailure, JobResult, Recipe, WorkerLost, WorkerUnfit

if TYPE_CHECKING:
    from .ray_cluster import RayCluster

LOOK_S = 1.0
"""How often one who waits for a node looks whether that is still wanted."""
SLACK_S = 120.0
"""What a job may take beyond its own limit, which the node keeps, until its node counts as lost."""


class ActorRoom:
    """An actor that stands on a node, in which one worker after another is started."""

    def __init__(self, cluster: RayCluster, actor: Any, recipe: Recipe, args: Mapping[str, Any]) -> None:
        self.cluster, self.actor, self.recipe, self.args = cluster, actor, recipe, args
        self.alive = True

    def start(self) -> Worker:
        """A fresh child in it."""
        return ActorWorker(self)

    def leave(self) -> None:
        """End the actor, and its child with it; once, for the cluster may have been left since."""
        if self.alive:
            self.alive = False
            with suppress(Exception):
                self.cluster.ray.kill(self.actor)
            self.cluster.forget(self)


class ActorWorker:
    """The near end of a worker in an actor: asked like a process of this machine, with the same errors."""

    def __init__(self, room: ActorRoom) -> None:
        self._room, self._ray, self._actor, self._most = room, room.cluster.ray, room.actor, room.recipe.most
        self._usable = False
        self._jobs = 0

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._usable and self._room.alive

    def load(self) -> None:
        """Wait until its child is ready; see `limner.workers.process.Process`."""
        recipe = self._room.recipe
        setup = packed_recipe(recipe, self._room.args)
        self._heard(self._get(self._begin(self._actor.load, setup), recipe.start_s))

    def ask(
        self, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float, items: Sequence[Any] | None = None
    ) -> Iterator[tuple[int | None, JobResult | JobFailure]]:
        """Give it one job; see `limner.workers.process.Process`.

        Raises:
            WorkerLost: Its node is gone, or does not answer.
        """
        self._jobs += 1
        job = {"job": self._jobs, "given": dict(given)} | ({} if items is None else {"items": items})
        frame = b"".join(frames.packed(job, bodies))
        answers = self._begin(self._actor.ask.options(num_returns="streaming"), frame, seconds)
        while (found := self._heard(self._get(answers, seconds))) is not None:
            yield found

    def kill(self) -> None:
        """End it, and the actor it stands in."""
        self._usable = False
        self._room.leave()

    def stop(self) -> None:
        """Nothing is held for it here; its actor ends it before it starts another."""
        self._usable = False

    def _heard(self, data: bytes) -> Answer | None:
        self._usable = False
        found, self._usable = read_answer(data, self._most)
        return found

    def _begin(self, method: Any, *given: bytes | float) -> Any:
        with self._gone():
            return method.remote(*given)

    def _get(self, source: Any, seconds: float) -> bytes:
        """The next answer; nodes keep time themselves, so that one who is far too late is lost."""
        end = time.monotonic() + seconds + SLACK_S
        with self._gone():
            while not self._ray.wait([source], timeout=LOOK_S)[0]:
                if not self._room.alive or time.monotonic() > end:
                    raise WorkerLost("its node did not answer")
            found: bytes = self._ray.get(next(source) if hasattr(source, "__next__") else source)
            return found

    @contextmanager
    def _gone(self) -> Iterator[None]:
        try:
            with self._room.cluster.calling(), lost_as_such(self._ray):
                yield
        except WorkerLost:
            self._room.leave()
            raise


@contextmanager
def lost_as_such(ray: Any) -> Iterator[None]:
    """What Ray says of actors, as our errors.

    Raises:
        WorkerLost: The node is gone, or cannot be reached.
        WorkerUnfit: Our own code cannot run there.
    """
    kinds = ray.exceptions
    try:
        yield
    except (kinds.RayTaskError, kinds.RuntimeEnvSetupError) as error:
        raise WorkerUnfit(f"Limner cannot run on a node: {last_words(error)}", loading=True) from None
    except kinds.RayActorError as error:
        if error.actor_init_failed:
            raise WorkerUnfit(f"Limner cannot run on a node: {last_words(error)}", loading=True) from None
        raise WorkerLost("its node was lost") from None
    except (kinds.RayError, StopIteration):
        raise WorkerLost("its node was lost") from None


def last_words(error: Exception) -> str:
    """What an error of Ray's says at its end, without keys: much stands before."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return redacted(lines[-1])[:300] if lines else type(error).__name__
