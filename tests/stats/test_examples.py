"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import limner.compare
import limner.core
import limner.report.analyses
import limner.report.sheets
import limner.scoring
import limner.stats

MODULES = [
    *(f"limner.stats.{module.name}" for module in iter_modules(limner.stats.__path__)),
    *(f"limner.compare.{module.name}" for module in iter_modules(limner.compare.__path__)),
    *(f"limner.core.{module.name}" for module in iter_modules(limner.core.__path__)),
    *(f"limner.scoring.{module.name}" for module in iter_modules(limner.scoring.__path__)),
    "limner.store.records",
    "limner.report.sheets",
    "limner.report.analyses",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
