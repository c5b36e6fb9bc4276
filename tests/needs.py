"""What some tests need beyond a bare machine: they skip with a reason, or fail where LIMNER_REQUIRE names the need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def need(name: str, met: bool, reason: str) -> None:
    """Skip unless the need is met; where ``LIMNER_REQUIRE`` lists `name`, fail instead."""
    if met:
        return
    if name in os.environ.get("LIMNER_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(reason)


def shared(*parts: str) -> Path:
    """A path in the material that lies beside the repository, which is for tests alone and not part of it."""
    path = SHARED.joinpath(*parts)
    need("shared", path.exists(), f"the material for tests, shared/{'/'.join(parts)}, is not beside the repository")
    return path
