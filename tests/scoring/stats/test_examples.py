"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import limner.core
import limner.report.tables.analyses
import limner.report.tables.model
import limner.scoring
import limner.scoring.compare
import limner.scoring.stats

MODULES = [
    *(f"limner.scoring.stats.{module.name}" for module in iter_modules(limner.scoring.stats.__path__)),
    *(f"limner.scoring.compare.{module.name}" for module in iter_modules(limner.scoring.compare.__path__)),
    *(f"limner.core.{module.name}" for module in iter_modules(limner.core.__path__)),
    *(f"limner.scoring.{module.name}" for module in iter_modules(limner.scoring.__path__)),
    "limner.store.records",
    "limner.report.tables.model",
    "limner.report.tables.analyses",
    "limner.report.site.chunks",
    "limner.train.settings",
]


@pytest.mark.parametrize("name", MODULES)
def test_doctests_pass(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
