"""The map in the docs is the house as it stands."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tools.house import PAGE, ROOT, law, parts
from tools.pages import written
from tools.size import modules
from tools.walk import by_room


def test_every_room_is_in_the_law() -> None:
    rooms = {module.room if module.room != "(top)" else module.file.stem for module in modules()} - {"__init__"}
    assert rooms == {room for layer in law() for room in layer}


def test_every_module_is_on_the_map() -> None:
    page = PAGE.read_text("utf-8")
    tree = page[page.index("<!-- tree -->") : page.index("<!-- end -->")]
    words = set(re.findall(r"\w+", tree))
    assert {module.file.stem for module in modules() if module.file.stem != "__init__"} <= words


def test_places_are_filled_once() -> None:
    page = "a\n<!-- tree -->\nold\n<!-- end -->\nb"
    assert written(page, {"tree": "new"}) == "a\n<!-- tree -->\nnew\n<!-- end -->\nb"
    with pytest.raises(ValueError, match="has 0 places for law"):
        written(page, {"law": "x"})


def test_files_by_room() -> None:
    assert by_room(["store/writer.py", "api.py", "calls/journal.py", "store/blobs.py"]) == (
        "api; calls (journal); store (blobs, writer)"
    )


@pytest.mark.slow
def test_the_page_is_as_the_script_writes_it() -> None:
    """Where this fails, run ``python -m tools.house`` and read what changed."""
    # In a process of its own: workers that other tests left warm would shorten the walk.
    done = subprocess.run([sys.executable, "-m", "tools.walk"], cwd=ROOT, capture_output=True, text=True, check=True)
    page = PAGE.read_text("utf-8")
    assert written(page, parts(done.stdout.strip())) == page
