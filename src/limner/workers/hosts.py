"""Where workers stand: on this machine, or where the whole process has been told to have them, such as on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from .process import Process
from .recipe import JobFailure, JobResult, Recipe


class Worker(Protocol):
    """What a pool asks; see `limner.workers.process.Process`, which is one."""

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        ...

    def load(self) -> None:
        """Wait until it is ready."""
        ...

    def ask(
        self, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float, items: Sequence[Any] | None = None
    ) -> Iterator[tuple[int | None, JobResult | JobFailure]]:
        """Give it one job."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    def stop(self) -> None:
        """End it, and let go of all that was held for it."""
        ...


class Room(Protocol):
    """What one worker after another stands in."""

    @property
    def alive(self) -> bool:
        """Whether a worker can be started in it; a room on a machine that is gone is gone too."""
        ...

    def start(self) -> Worker:
        """A fresh worker, which is not loaded yet."""
        ...

    def leave(self) -> None:
        """Give it back."""
        ...


class Hosts(Protocol):
    """What has room for workers."""

    def count(self, recipe: Recipe) -> int:
        """How many workers of a recipe there may be at once."""
        ...

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        """The devices of a painter's workers, one each, where the user has named these; None is the best there is."""
        ...

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        """Room for one worker, waited for where there is none; None once it is not wanted any more."""
        ...

    def scarce(self, recipe: Recipe) -> bool:
        """Whether somebody waits for what an idle worker of this recipe holds."""
        ...


class ThisMachine:
    """Processes of this machine, as many as are asked for."""

    def count(self, recipe: Recipe) -> int:
        """As the recipe says."""
        return recipe.workers

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        """Those named."""
        return named

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        """There always is some."""
        return _RoomHere(recipe, args)

    def scarce(self, recipe: Recipe) -> bool:
        """Never: the system shares it out."""
        return False


class _RoomHere:
    alive = True

    def __init__(self, recipe: Recipe, args: Mapping[str, Any]) -> None:
        self._recipe, self._args = recipe, args

    def start(self) -> Worker:
        return Process(self._recipe, self._args)

    def leave(self) -> None:
        pass


_here = ThisMachine()
_chosen: list[Hosts] = []


def hosts() -> Hosts:
    """Where pools that are made from now on have their workers: the one place where that is decided."""
    return _chosen[-1] if _chosen else _here


@contextmanager
def standing_on(chosen: Hosts) -> Iterator[None]:
    """Have workers there instead of on this machine, in the whole process."""
    _chosen.append(chosen)
    try:
        yield
    finally:
        _chosen.remove(chosen)
