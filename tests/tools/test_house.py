"""The map in the docs is the house as it stands."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tools.house import PAGE, ROOT, law, parts
from tools.pages import written
from tools.size import modules


def test_every_room_is_in_the_law() -> None:
    rooms = {module.room if module.room != "(top)" else module.file.stem for module in modules()} - {"__init__"}
    assert rooms == {room for layer in law() for room in layer}


@pytest.mark.slow
def test_the_page_is_as_the_script_writes_it() -> None:
    """Where this fails, run ``python -m tools.house`` and read what changed."""
    # In a process of its own: workers that other tests left warm would shorten the walk.
    done = subprocess.run([sys.executable, "-m", "tools.walk"], cwd=ROOT, capture_output=True, text=True, check=True)
    page = PAGE.read_text("utf-8")
    assert written(page, parts(done.stdout.strip())) == page
