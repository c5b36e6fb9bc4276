"""Garbage collection, made seldom where very many objects are made of which none is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (200_000, 100, 1000)
"""New objects before the young, the older and all are looked through."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside, cycles of objects are seldom looked for: with millions of them alive that takes long."""
    usual = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
