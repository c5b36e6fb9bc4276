"""What a package offers: there by name before it is loaded, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

import limner
from limner import api
from limner.scoring.groups import find_groups


def test_each_name_is_what_its_module_has() -> None:
    assert api.groups is find_groups
    assert limner.scores is api.scores
    for package in (limner, api):
        assert set(package.__all__) <= set(dir(package))
        assert all(getattr(package, name) is not None for name in package.__all__)


def test_other_names_are_missing_as_they_are_elsewhere() -> None:
    with pytest.raises(AttributeError, match=r"module 'limner\.api' has no attribute 'nothing'"):
        api.nothing  # noqa: B018


def test_scores_need_nothing_that_only_a_run_needs() -> None:
    code = "import sys, limner; limner.scores; print('limner.running' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
