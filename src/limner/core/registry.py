"""Registries of exams, painters, judges, strategies and probes, from Limner and other packages.

A package registers an object by an entry point, ``name = "module:thing"`` in a group such as ``limner.painters``.
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

OWN_PACKAGE = "limner"
MODULE_GROUPS = {"limner.services": ("limner.painters.services", "SERVICE")}
"""Group -> a package of Limner and the name of the object that each of its modules registers."""
FILE_GROUPS = {"limner.exams": ("exams", "exam.toml", "limner.exams.rubric")}
"""Group -> a folder of Limner, the file that a folder in it registers by, and the module that loads it by name."""
T = TypeVar("T")
Inputs = TypeVar("Inputs")


@dataclass(frozen=True)
class Opener(Generic[Inputs, T]):
    """A registered kind of painter, judge or the like, which users refer to by a word.

    Attributes:
        usage: Its form on the command line, such as ``folder/PATH``.
        about: A one-line description.
        open: Opens one; refuses invalid inputs, and loads nothing large yet.
    """

    usage: str
    about: str
    open: Callable[[Inputs], T]


@dataclass(frozen=True)
class Registration:
    """One registered name.

    Attributes:
        value: The location of the registered object: ``module:object``.
        package: The distribution that registers it.
    """

    name: str
    value: str
    package: str = OWN_PACKAGE
    version: str = ""

    @property
    def own(self) -> bool:
        """Whether Limner itself ships it."""
        return self.package == OWN_PACKAGE

    def load(self) -> Any:
        """Import and return the registered object."""
        return EntryPoint(self.name, self.value, "").load()

    def __str__(self) -> str:
        """Return the registration's package, version and location."""
        return f"{self.package} {self.version} ({self.value})"


@lru_cache
def entries(group: str) -> tuple[Registration, ...]:
    """Return all registrations in a group of entry points, ordered by name, without loading anything."""
    registrations = [_entry(point) for point in entry_points(group=group)]
    if (shelf := MODULE_GROUPS.get(group)) is not None:
        package, thing = shelf
        folder = Path(__file__).parents[2].joinpath(*package.split("."))
        modules = [module.name for module in pkgutil.iter_modules([str(folder)])]
        registrations += [Registration(module.replace("_", "-"), f"{package}.{module}:{thing}") for module in modules]
    if group in FILE_GROUPS:
        place, file, loader = FILE_GROUPS[group]
        paths = (path.parent for path in Path(__file__).parents[1].joinpath(place).glob(f"*/{file}"))
        names = {path.name for path in paths if not (path / "__init__.py").exists()}
        registrations += [Registration(name, f"{loader}:{name}") for name in names]
    return tuple(sorted(registrations, key=lambda entry: (entry.name, not entry.own, entry.package)))


def names(group: str) -> list[str]:
    """Return all names registered in a group, without loading anything."""
    return list(dict.fromkeys(entry.name for entry in entries(group)))


def _entry(point: EntryPoint) -> Registration:
    if point.dist is None:
        return Registration(point.name, point.value, "unknown")
    return Registration(point.name, point.value, point.dist.name.lower(), point.dist.version)


class Registry(Generic[T]):
    """The registered objects of one kind, by name."""

    def __init__(self, group: str, thing: str, kind: type[T], hint: str = "") -> None:
        """Create the registry; nothing is looked up yet.

        Args:
            group: The group of entry points.
            thing: The word for one of the objects in messages.
            kind: The type that the objects must have.
            hint: Advice in the message about an unknown name.
        """
        self.group, self.thing = group, thing
        self.kind, self._hint = kind, hint

    def entries(self) -> tuple[Registration, ...]:
        """Return all registrations, without loading anything."""
        return entries(self.group)

    def names(self) -> list[str]:
        """Return all names, without loading anything."""
        return names(self.group)

    def own(self) -> list[str]:
        """Return the names of the objects that Limner itself ships.

        Raises:
            UsageError: There are none: the installation is older than the source.
        """
        names = [entry.name for entry in self.entries() if entry.own]
        if not names:
            raise UsageError(f"Limner's own {self.group} are not registered; reinstall Limner: pip install -e .")
        return names

    def serves(self, name: str, providers: Container[str]) -> bool:
        """Return whether `name` is registered; providers take precedence over names from other packages."""
        return name in self.own() or (name not in providers and name in self.names())

    def get(self, name: str) -> T:
        """Return the object called `name`; Limner's own takes precedence.

        Raises:
            UsageError: There is none, it is broken, or two other packages register this name.
        """
        matches = [entry for entry in self.entries() if entry.name == name]
        if not matches:
            self.own()
            hint = f". {self._hint}" if self._hint else ""
            raise UsageError(f"no {self.thing} {name!r}; installed: {', '.join(self.names())}{hint}")
        if len(matches) > 1 and not matches[0].own:
            both = " and ".join(map(str, matches))
            raise UsageError(f"the {self.thing} {name!r} is registered twice, by {both}: uninstall one of them")
        return self._load(matches[0])

    def _load(self, entry: Registration) -> T:
        broken = f"the {self.thing} {entry.name!r} of {entry} is broken"
        try:
            loaded = entry.load()
        except (Exception, SystemExit) as error:
            raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error
        if not isinstance(loaded, self.kind):
            raise UsageError(f"{broken}: it is not a {self.kind.__module__}.{self.kind.__qualname__}")
        if (called := getattr(loaded, "name", entry.name)) != entry.name:
            raise UsageError(f"{broken}: it calls itself {called!r}")
        return loaded

    def usage(self, name: str) -> str:
        """Return its form on the command line; for a broken one, its name."""
        return self._attribute(name, "usage") or name

    def usages(self) -> list[str]:
        """Return the form of each on the command line."""
        return [self.usage(name) for name in self.names()]

    def about(self, name: str) -> str:
        """Return a one-line description; empty for a broken one."""
        return self._attribute(name, "about")

    def _attribute(self, name: str, what: str) -> str:
        try:
            return str(getattr(self.get(name), what, ""))
        except UsageError:
            return ""


def lazy_attributes(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that loads its modules on first use.

    Args:
        package: The package's name.
        homes: Exported name -> its module, followed by a colon and its name there if different.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, own = homes[name].partition(":")
        return getattr(import_module(f".{module}", package), own or name)

    def offered() -> list[str]:
        # Tab completion lists them before they are loaded.
        return sorted({*vars(sys.modules[package]), *homes})

    return get, offered
