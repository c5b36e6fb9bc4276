"""What identifies a reader of data or of replies: another one may make something else of them, or find fault."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core import ledger
from ..core.protocol import Protocol

PACKAGES = ("limner", "pydantic", "pydantic-core", "pillow")
"""Whose rows and images are taken or refused."""
FILES = ("polars",)
"""Whose files are; replies are in none of them."""


@cache
def reader_id(read: Callable[..., Any]) -> str:
    """A hash over the programs that read data: the folder of this reader, the core, and the packages they rest on."""
    return _identity((read.__module__,), read.__qualname__, (*PACKAGES, *FILES))


@cache
def marks_reader_id(protocol: type[Protocol[Any]]) -> str | None:
    """The same of the programs that read replies for a protocol, its beginning: it stands beside every marking.

    None for protocols from elsewhere: nobody knows which programs they call, and which of them change tomorrow.
    """
    modules = [each.__module__ for each in protocol.__mro__ if issubclass(each, Protocol)]
    if any(module.partition(".")[0] != "limner" for module in modules):
        return None
    return _identity((*modules, __package__), "marks", PACKAGES)[:16]


def _identity(modules: Iterable[str], name: str, packages: Iterable[str]) -> str:
    told = [sys.version, *modules, name, *(f"{one} {_version(one)}" for one in packages)]
    found = hashlib.sha256("\n".join(told).encode())
    folders = dict.fromkeys(Path(str(sys.modules[module].__file__)).parent for module in (*modules, ledger.__name__))
    for source in (path for folder in folders for path in sorted(folder.glob("*.py"))):
        found.update(f"\n{source.name} {hashlib.sha256(source.read_bytes()).hexdigest()}".encode())
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
