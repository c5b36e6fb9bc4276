"""What a package offers is loaded on first use: importing it must stay quick for the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loaded_on_use(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``.

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
