"""Identifies the programs that read replies: others may read something else from the same replies."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core.protocol import Protocol

PACKAGES = ("limner", "pydantic", "pydantic-core", "pillow")
"""The packages that the reading of replies rests on."""


@cache
def marks_reader_id(protocol: type[Protocol[Any]]) -> str | None:
    """Return the beginning of a hash over the programs that read replies for a protocol; it stands beside each marking.

    The programs are the folders of the protocol, of the exams and of the core, and the packages they rest on. None for
    protocols from elsewhere: nobody knows which programs they call, and which of them change tomorrow.
    """
    modules = [each.__module__ for each in protocol.__mro__ if issubclass(each, Protocol)]
    if any(module.partition(".")[0] != "limner" for module in modules):
        return None
    modules += [__package__]
    lines = [sys.version, *modules, *(f"{package} {_version(package)}" for package in PACKAGES)]
    folders = dict.fromkeys(Path(str(sys.modules[module].__file__)).parent for module in modules)
    for source in (path for folder in folders for path in sorted(folder.glob("*.py"))):
        lines.append(f"{source.name} {hashlib.sha256(source.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
