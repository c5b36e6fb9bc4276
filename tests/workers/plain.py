"""A backend of plain Python, for workers that have no other modules."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def made(**_: Any) -> Callable[..., bytes]:
    """Repeats what it is given."""
    return lambda data, times: data * times


def environ(**_: Any) -> Callable[..., dict[str, str]]:
    """Tells its environment."""
    return lambda *_, **__: dict(os.environ)
