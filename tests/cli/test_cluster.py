"""The options of commands that do local work: where they are, and what is told where they cannot be followed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.cli.invoke import limner
from tests.needs import need


@pytest.mark.parametrize(
    "command", ["run", "draw", "mark", "evidence", "build run", "examine-judge", "exam prove", "modes", "rate"]
)
def test_every_command_that_works_here_has_them(command: str) -> None:
    said = limner(*command.split(), "--help").out
    assert "--ray auto|HOST:PORT" in said
    assert "--ray-gpus" in said


def test_shares_without_a_cluster_are_a_mistake() -> None:
    said = limner("run", "sample/genexam", "--painter", "control/reference", "--ray-gpus", "0.5", code=2).err
    assert "--ray-gpus and --ray-workers go with --ray" in said


def test_a_dry_run_joins_no_cluster() -> None:
    words = ("run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--ray", "nowhere:1")
    assert "to do for" in limner(*words, "--dry-run").out
    assert limner(*words[:-1], "ray://x:1", code=2).err.count("--ray ray://x:1: it is auto or HOST:PORT") == 1


def test_a_cluster_that_is_not_running_is_an_error() -> None:
    need("ray", find_spec("ray") is not None, "pip install 'limner[ray]'")
    words = ("run", "sample/genexam", "--painter", "control/reference", "--limit", "1", "--ray", "nowhere:1")
    assert "no cluster is there" in limner(*words, code=2).err
