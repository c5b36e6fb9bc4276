"""How a worker is made, and what becomes of its jobs: an answer, or one of three ways to fail."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

START_S = 300.0
"""Seconds a worker may take to load, unless its recipe says otherwise."""


def cores() -> int:
    """How many workers can compute at once here, within reason."""
    return min(8, os.cpu_count() or 1)


@dataclass(frozen=True)
class Recipe:
    """How a worker is made.

    Attributes:
        label: What it is called where it is told of.
        factory: ``module:name`` or ``/path/of/file.py:name``; called once with `args`, it gives what does the jobs.
        args: The factory's arguments, as JSON text.
        python: Another Python to run it with; by default this one, with this one's modules.
        workers: How many there may be at once.
        start_s: Seconds one may take to load.
        single: Whether each is to keep to one core.
        variables: Environment variables handed on beside the usual ones.
        isolated: Whether it gets no environment, no modules but the standard library's, and is to do one job.
        most: Bytes of all that one answer may bring beside its JSON.
        careful: Whether deaths at work count like those while loading: too many in a row, and no further one is tried.
    """

    label: str
    factory: str
    args: str = "{}"
    python: str | None = None
    workers: int = field(default_factory=cores)
    start_s: float = START_S
    single: bool = True
    variables: tuple[str, ...] = ()
    isolated: bool = False
    most: int = 0
    careful: bool = False


@dataclass(frozen=True)
class JobResult:
    """What a worker made of one item: a value of plain JSON, and bytes."""

    value: Any
    bodies: tuple[bytes, ...] = ()


class JobFailure(Exception):
    """An item that a worker could not do, by its own account.

    Attributes:
        kind: In the worker's words; ``image`` where the image is to blame, ``error`` for any exception.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail


class WorkerDeath(Exception):
    """A worker that gave no proper answer and is gone; says what became of it.

    Attributes:
        loading: Whether it had not even been ready.
        late: Whether it was ended because it took too long.
        code: Its exit code, below zero for a signal.
        heard: The end of what it printed, without keys.
    """

    def __init__(
        self, said: str, *, loading: bool = False, late: bool = False, code: int | None = None, heard: str = ""
    ) -> None:
        super().__init__(said)
        self.loading, self.late, self.code, self.heard = loading, late, code, heard


class WorkerUnfit(Exception):
    """No worker can do any such job.

    Attributes:
        loading: Whether that was seen while it was loaded.
    """

    def __init__(self, said: str, *, loading: bool = False) -> None:
        super().__init__(said)
        self.loading = loading
