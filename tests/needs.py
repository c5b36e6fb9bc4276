"""What some tests need beyond a bare machine: they skip with a reason, or fail where LIMNER_REQUIRE names the need."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared"


def need(name: str, met: bool, reason: str) -> None:
    """Skip unless the need is met; where ``LIMNER_REQUIRE`` lists `name`, fail instead."""
    if met:
        return
    if name in os.environ.get("LIMNER_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(reason)


def full() -> bool:
    """Return whether everything is to be tried, as by ``make test-all PROFILE=full``, and not a part of it."""
    return settings().max_examples >= 300


def shared(*parts: str) -> Path:
    """A path in the material that lies beside the repository, which is for tests alone and not part of it."""
    path = SHARED.joinpath(*parts)
    need("shared", path.exists(), f"the material for tests, shared/{'/'.join(parts)}, is not beside the repository")
    return path


def released(exam: str) -> Path:
    """The exam's whole released data, which nobody may put into the repository.

    It is what the variable ``LIMNER_DATA_<EXAM>`` names, such as ``LIMNER_DATA_AIBENCH``, or ``shared/data/<exam>``.
    """
    variable = f"LIMNER_DATA_{exam.upper()}"
    path = Path(os.environ.get(variable) or SHARED / "data" / exam)
    need(f"{exam}-data", path.exists(), f"the released data of {exam} is not here: {variable} may say where it is")
    return path


def sdk(module: str, package: str) -> ModuleType:
    """A vendor's own package, which drives the fake of its service."""
    return _installed("sdks", module, package)


def oracle(module: str, package: str) -> ModuleType:
    """Another implementation, which ours is held against; it comes with ``limner[oracles]``."""
    return _installed("oracles", module, package)


def _installed(name: str, module: str, package: str) -> ModuleType:
    top = module.partition(".")[0]
    there = importlib.util.find_spec(top) is not None and importlib.util.find_spec(module) is not None
    need(name, there, f"needs the package {package}")
    return importlib.import_module(module)
