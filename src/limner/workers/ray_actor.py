"""The actor on a node of a Ray cluster, its child process, and the messages between driver and actor.

Driver and actor exchange only our frames as bytes: nothing of a job is pickled. The child gets the same reduced
environment as on one machine, from the node's own variables; the driver's variables are not sent.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.redaction import redact
from .child import BODIES, HEADER, BadFrame, packed, read
from .process import Process, Room, Worker
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerLost, WorkerUnfit

if TYPE_CHECKING:
    from .ray import RayCluster

PACKAGE = Path(__file__).resolve().parents[1]
EXTRAS = ("gpu", "metrics", "embed", "sentences", "quantize")
"""Extras whose packages, like the core's, decide what a worker makes of an image."""
THREADS = "OMP_NUM_THREADS"
Answer = tuple[int | None, JobResult | JobFailure]


def joined(header: Mapping[str, Any], bodies: Sequence[bytes] = (), most: int = BODIES) -> bytes:
    """Return a frame as one piece of bytes."""
    return b"".join(packed(dict(header), bodies, most))


def parted(data: bytes, most: int = BODIES) -> tuple[dict[str, Any], list[bytes]]:
    """Return a frame's header and bodies.

    Raises:
        BadFrame: It is not a frame.
    """
    frame = read(io.BytesIO(data).read, most)
    if frame is None:
        raise BadFrame("half a frame")
    return frame


def packed_recipe(recipe: Recipe, args: Mapping[str, Any]) -> bytes:
    """Return a recipe as bytes, with this machine's folders so that paths can be translated on the node."""
    return joined({"recipe": asdict(recipe), "args": dict(args), "package": str(PACKAGE), "folder": os.getcwd()})


def packed_answer(answer: Answer, most: int) -> bytes:
    """Return the answer for one item as bytes."""
    place, what = answer
    if isinstance(what, JobFailure):
        return joined({"place": place, "fault": what.kind, "detail": what.detail})
    # The value may be as long as a header, so it is sent as a body.
    value = json.dumps(what.value).encode()
    return joined({"place": place}, [value, *what.bodies], most + HEADER)


def packed_error(error: Exception) -> bytes:
    """Return the reason why a worker gave no answer as bytes."""
    facts = {name: getattr(error, name) for name in ("loading", "late", "code", "heard") if hasattr(error, name)}
    return joined({"error": type(error).__name__, "said": str(error), **facts})


def read_answer(data: bytes, most: int) -> tuple[Answer | None, bool]:
    """Return the answer (None at the end of a job), and whether the worker can be asked again.

    Raises:
        WorkerDeath: As on one machine.
        WorkerUnfit: As on one machine.
        BadFrame: It is not a frame, or the job itself was too long.
    """
    header, bodies = parted(data, most + HEADER)
    # The node redacted its own keys; here those of this environment are redacted.
    clean_fields = {name: redact(str(header[name])) for name in ("said", "detail", "heard") if header.get(name)}
    if "error" in header:
        message, loading = clean_fields.get("said", ""), bool(header.get("loading"))
        if header["error"] == "WorkerUnfit":
            raise WorkerUnfit(message, loading=loading)
        if header["error"] == "WorkerDeath":
            late, code, heard = bool(header.get("late")), header.get("code"), clean_fields.get("heard", "")
            raise WorkerDeath(message, loading=loading, late=late, code=code, heard=heard)
        raise BadFrame(message)
    if "end" in header:
        return None, bool(header["alive"])
    if "fault" in header:
        return (header["place"], JobFailure(str(header["fault"]), clean_fields.get("detail", ""))), True
    return (header["place"], JobResult(json.loads(bodies[0]), tuple(bodies[1:]))), True


@lru_cache(1)
def this_limner() -> str:
    """Return, as JSON, the versions that decide what a worker makes of an image."""
    root = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        root.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    versions = {"Python": ".".join(platform.python_version_tuple()[:2]), "Limner's code": root.hexdigest()[:12]}
    for line in importlib.metadata.requires("limner") or ():
        name, extra = re.split(r"[^\w.-]", line, maxsplit=1)[0], re.search(r"extra == .(\w+)", line)
        if extra is None or extra[1] in EXTRAS:
            with suppress(importlib.metadata.PackageNotFoundError):
                versions[name] = importlib.metadata.version(name)
    return json.dumps(versions, sort_keys=True)


def differences(here: str, node: str) -> list[str]:
    """Return what a node has in another version; missing packages are reported when they are needed."""
    ours, theirs = json.loads(here), json.loads(node)
    return [f"{name} {theirs[name]}, here {ours[name]}" for name in ours if theirs.get(name, ours[name]) != ours[name]]


class ActorHost:
    """An actor that keeps one child process, asks it with a time limit, and ends it.

    However the actor ends, the pipe to its child closes, and the child's guard ends the child.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._most = 0
        # Ray sets it by the number of CPUs requested; restore it for workers that may use all cores.
        with suppress(OSError):
            if f"{THREADS}=".encode() not in Path("/proc/self/environ").read_bytes():
                os.environ.pop(THREADS, None)

    def look(self) -> bytes:
        """Return the node's versions and name."""
        return joined({"limner": this_limner(), "node": platform.node()})

    def load(self, data: bytes) -> bytes:
        """Start a new child and wait until it is ready."""
        setup, _ = parted(data)
        self.unload()
        with suppress(OSError):
            os.chdir(setup["folder"])
        fields = setup["recipe"]
        fields["variables"] = tuple(fields["variables"])
        if fields["factory"].startswith(setup["package"] + os.sep):
            fields["factory"] = str(PACKAGE) + fields["factory"].removeprefix(setup["package"])
        recipe = Recipe(**fields)
        self._most = recipe.most
        try:
            self._process = Process(recipe, setup["args"], modules_path())
            self._process.load()
        except (WorkerDeath, WorkerUnfit) as error:
            self.unload()
            return packed_error(error)
        return joined({"end": True, "alive": True})

    def ask(self, data: bytes, seconds: float) -> Iterator[bytes]:
        """Give the child one job; yield the answer for each item as soon as it is done."""
        assert self._process is not None
        job, bodies = parted(data)
        try:
            for answer in self._process.ask(job["given"], bodies, seconds, job.get("items")):
                yield packed_answer(answer, self._most)
        except (WorkerDeath, WorkerUnfit, ValueError) as error:
            yield packed_error(error)
        else:
            yield joined({"end": True, "alive": self._process.alive})

    def unload(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            self._process.stop()
            self._process = None


def modules_path() -> list[str]:
    """Return the module path of a child: this process's, without Ray's own entries."""
    file = getattr(sys.modules.get("ray"), "__file__", None)
    own = os.path.dirname(file) + os.sep if file else "\0"
    return [place for place in sys.path if not os.path.abspath(place).startswith(own)]


LOOK_S = 1.0
"""Seconds between checks whether a wait for a node is still wanted."""
SLACK_S = 120.0
"""Seconds after a job's own time limit until its node counts as lost."""


class ActorRoom(Room):
    """An actor on a node, in which one worker after another is started."""

    def __init__(self, cluster: RayCluster, actor: Any, recipe: Recipe, args: Mapping[str, Any]) -> None:
        super().__init__(recipe, args)
        self.cluster, self.actor = cluster, actor

    def start(self) -> Worker:
        """Return a new child in the actor."""
        return ActorWorker(self)

    def leave(self) -> None:
        """End the actor and its child, once."""
        if self.alive:
            self.alive = False
            with suppress(Exception):
                self.cluster.ray.kill(self.actor)
            self.cluster.forget(self)


class ActorWorker:
    """A worker in an actor, used like a process of this machine and with the same errors."""

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
        frame = b"".join(packed(job, bodies))
        answers = self._begin(self._actor.ask.options(num_returns="streaming"), frame, seconds)
        while (answer := self._heard(self._get(answers, seconds))) is not None:
            yield answer

    def kill(self) -> None:
        """End it and its actor."""
        self._usable = False
        self._room.leave()

    def stop(self) -> None:
        """Mark it as unusable; its actor ends it before starting another."""
        self._usable = False

    def _heard(self, data: bytes) -> Answer | None:
        self._usable = False
        answer, self._usable = read_answer(data, self._most)
        return answer

    def _begin(self, method: Any, *given: bytes | float) -> Any:
        with self._gone():
            return method.remote(*given)

    def _get(self, source: Any, seconds: float) -> bytes:
        """Return the next answer; a node that is far too late counts as lost."""
        end = time.monotonic() + seconds + SLACK_S
        with self._gone():
            while not self._ray.wait([source], timeout=LOOK_S)[0]:
                if not self._room.alive or time.monotonic() > end:
                    raise WorkerLost("its node did not answer")
            data: bytes = self._ray.get(next(source) if hasattr(source, "__next__") else source)
            return data

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
    """Translate Ray's errors about actors into ours.

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
    """Return the last line of an error of Ray's, without keys."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return redact(lines[-1])[:300] if lines else type(error).__name__
