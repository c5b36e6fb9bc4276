"""The function behind ``python/module:function``, and what it takes."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from ..calls import canonical
from ..errors import UsageError

_known: dict[str, str] = {}
"""The source hashes modules were last loaded at."""


def find(spec: str) -> tuple[Callable[..., Any], str]:
    """The function, and the sha256 of its module's source file.

    Raises:
        UsageError: There is no such module or function, or it cannot be called.
    """
    module, colon, function = spec.removeprefix("python/").partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is no function: write python/module:function")
    loaded, source = _load(spec, module)
    if not hasattr(loaded, function):
        raise UsageError(f"{spec}: no function {function!r} in {getattr(loaded, '__file__', None) or module}")
    found = getattr(loaded, function)
    if not callable(found):
        raise UsageError(f"{spec}: {function!r} is {type(found).__name__}, which cannot be called")
    return found, source


def accepted(
    spec: str, function: Callable[..., Any], given: frozenset[str], options: Mapping[str, Any]
) -> frozenset[str]:
    """Which of the given names the function has a parameter for, after its first one, the prompt.

    Raises:
        UsageError: It cannot be called with these and the options, or an option cannot be written as JSON.
    """
    try:
        signature = inspect.signature(function)
        _, *rest = signature.parameters.values()
        names = {each.name for each in rest if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
        signature.bind("", **(dict.fromkeys(given & names) | dict(options)))
        canonical(options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{spec} cannot be called with a prompt and the options given: {error}") from error
    return given & names


def _load(spec: str, name: str) -> tuple[ModuleType, str]:
    try:
        with _working_folder():
            module = importlib.import_module(name)
            source = _hash(module)
            if _known.setdefault(name, source) != source:
                # Changed since this process loaded it: its images must be those of the source they are stored under.
                module, _known[name] = importlib.reload(module), source
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"{spec}: no module {name!r}, neither in the working folder nor installed") from error
        raise UsageError(f"{spec}: {name} cannot be imported: {type(error).__name__}: {error}") from error
    return module, source


def _hash(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()


@contextmanager
def _working_folder() -> Iterator[None]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(here)
