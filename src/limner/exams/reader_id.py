"""What identifies a reader of data: another one may make something else of the same files, or find fault with them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..core import ledger

PACKAGES = ("limner", "pydantic", "pydantic-core", "pillow", "polars")
"""Whose rows, images and files are taken or refused."""


@cache
def reader_id(read: Callable[..., Any]) -> str:
    """A hash over the programs that read: the folder of this reader, the core, and the packages they rest on."""
    told = [sys.version, read.__module__, read.__qualname__, *(f"{one} {_version(one)}" for one in PACKAGES)]
    found = hashlib.sha256("\n".join(told).encode())
    for module in (sys.modules[read.__module__], ledger):
        for source in sorted(Path(str(module.__file__)).parent.glob("*.py")):
            found.update(f"\n{source.name} {hashlib.sha256(source.read_bytes()).hexdigest()}".encode())
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
