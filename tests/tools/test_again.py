"""A second try for few failures, alone: it passes or fails as the tests do, and hides nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tools.again import FEW, failed, try_again

ONE = ["tests/test_x.py::test_y"]


def test_what_failed_last_is_read_from_pytest(tmp_path: Path) -> None:
    file = tmp_path / "lastfailed"
    assert failed(file) == []
    file.write_text(json.dumps({"b.py::two": True, "a.py::one": True}), "utf-8")
    assert failed(file) == ["a.py::one", "b.py::two"]


@pytest.mark.parametrize("code", [0, 1, 2, 5])
def test_it_ends_as_the_second_try_does(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    tried: list[Sequence[str]] = []

    def run(tests: Sequence[str]) -> int:
        tried.append(tests)
        return code

    assert try_again(ONE, run) == code
    assert tried == [ONE]
    assert (ONE[0] in capsys.readouterr().out) == (code == 0)


@pytest.mark.parametrize("count", [0, FEW + 1])
def test_none_and_many_are_not_tried(count: int) -> None:
    def run(_tests: Sequence[str]) -> int:
        raise AssertionError("not to be run")

    assert try_again(ONE * count, run) == 1
