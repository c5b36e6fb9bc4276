"""What is registered: exams, painters, judges, strategies and probes, by Limner and by other packages alike.

A package registers a thing by an entry point, ``name = "module:thing"`` in a group such as ``limner.painters``.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from .errors import UsageError

OWN = "limner"
SHELVES = {
    "limner.services": ("limner.painters.services", "SERVICE"),
    "limner.steps": ("limner.build.steps", "STEP"),
}
"""Packages whose every module is registered too, by its name and as what it calls so: Limner's own, by group."""
T = TypeVar("T")
Inputs = TypeVar("Inputs")


@dataclass(frozen=True)
class Opener(Generic[Inputs, T]):
    """A sort of thing that users name by a word.

    Attributes:
        usage: How it is written: ``folder/PATH``.
        about: What it is or does, in a line.
        open: Makes one; it refuses what it cannot work with, and loads nothing large yet.
    """

    usage: str
    about: str
    open: Callable[[Inputs], T]


@dataclass(frozen=True)
class Registration:
    """One registered name.

    Attributes:
        value: Where the thing stands: ``module:thing``.
        package: The distribution that registers it.
    """

    name: str
    value: str
    package: str = OWN
    version: str = ""

    @property
    def own(self) -> bool:
        """Whether Limner itself ships it."""
        return self.package == OWN

    def load(self) -> Any:
        """Return the thing."""
        return EntryPoint(self.name, self.value, "").load()

    def __str__(self) -> str:
        """Who registers what."""
        return f"{self.package} {self.version} ({self.value})"


@lru_cache
def entries(group: str) -> tuple[Registration, ...]:
    """All that is registered under a group of entry points, ordered by name; nothing is loaded."""
    found = [_entry(point) for point in entry_points(group=group)]
    if (shelf := SHELVES.get(group)) is not None:
        package, thing = shelf
        folder = Path(__file__).parents[2].joinpath(*package.split("."))
        modules = [module.name for module in pkgutil.iter_modules([str(folder)])]
        found += [Registration(module.replace("_", "-"), f"{package}.{module}:{thing}") for module in modules]
    return tuple(sorted(found, key=lambda entry: (entry.name, not entry.own, entry.package)))


def names(group: str) -> list[str]:
    """Every name registered under a group; nothing is loaded."""
    return list(dict.fromkeys(entry.name for entry in entries(group)))


def _entry(point: EntryPoint) -> Registration:
    if point.dist is None:
        return Registration(point.name, point.value, "unknown")
    return Registration(point.name, point.value, point.dist.name.lower(), point.dist.version)


class Registry(Generic[T]):
    """The things of one sort, by name."""

    def __init__(self, group: str, thing: str, kind: type[T], hint: str = "") -> None:
        """Nothing is looked up yet.

        Args:
            group: The group of entry points.
            thing: What one of them is called in messages.
            kind: What an entry point must give.
            hint: What else a user can write, told where a name is not there.
        """
        self.group, self.thing = group, thing
        self.kind, self._hint = kind, hint

    def entries(self) -> tuple[Registration, ...]:
        """All that is registered; nothing is loaded."""
        return entries(self.group)

    def names(self) -> list[str]:
        """Every name; nothing is loaded."""
        return names(self.group)

    def own(self) -> list[str]:
        """Return the names of what Limner itself ships.

        Raises:
            UsageError: There is none: the installation is older than the source.
        """
        found = [entry.name for entry in self.entries() if entry.own]
        if not found:
            raise UsageError(f"Limner's own {self.group} are not registered; reinstall Limner: pip install -e .")
        return found

    def serves(self, name: str, providers: Container[str]) -> bool:
        """Whether a word's head names one of these: Limner's own, or another's where no provider is called so."""
        return name in self.own() or (name not in providers and name in self.names())

    def get(self, name: str) -> T:
        """Return the thing called `name`. Of two, Limner's own counts.

        Raises:
            UsageError: There is none, it is broken, or two other packages have one of this name.
        """
        found = [entry for entry in self.entries() if entry.name == name]
        if not found:
            self.own()
            hint = f". {self._hint}" if self._hint else ""
            raise UsageError(f"no {self.thing} {name!r}; installed: {', '.join(self.names())}{hint}")
        if len(found) > 1 and not found[0].own:
            both = " and ".join(map(str, found))
            raise UsageError(f"the {self.thing} {name!r} is registered twice, by {both}: uninstall one of them")
        return self._load(found[0])

    def _load(self, entry: Registration) -> T:
        broken = f"the {self.thing} {entry.name!r} of {entry} is broken"
        try:
            loaded = entry.load()
        except (Exception, SystemExit) as error:
            raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error
        if not isinstance(loaded, self.kind):
            raise UsageError(f"{broken}: it gives no {self.kind.__module__}.{self.kind.__qualname__}")
        if (called := getattr(loaded, "name", entry.name)) != entry.name:
            raise UsageError(f"{broken}: it calls itself {called!r}")
        return loaded

    def usage(self, name: str) -> str:
        """How it is written on a command line; of a broken one its name."""
        return self._told(name, "usage") or name

    def usages(self) -> list[str]:
        """How each is written on a command line."""
        return [self.usage(name) for name in self.names()]

    def about(self, name: str) -> str:
        """Return what it is, in a line; nothing of a broken one."""
        return self._told(name, "about")

    def _told(self, name: str, what: str) -> str:
        try:
            return str(getattr(self.get(name), what, ""))
        except UsageError:
            return ""


def loaded_on_use(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: Its name.
        homes: What it offers -> the module in it that has it, with a name of its own there after a colon.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, own = homes[name].partition(":")
        return getattr(import_module(f".{module}", package), own or name)

    def offered() -> list[str]:
        # By tab completion too, before it is loaded.
        return sorted({*vars(sys.modules[package]), *homes})

    return get, offered
