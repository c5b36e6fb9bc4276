"""No page tells a folder of the machine that things were made on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from limner.site import build
from limner.site.private import no_folders, without_folders
from tests.cli.invoke import limner
from tests.conformance.verdicts import verdicts, write_replay
from tests.support import write_exam

name = st.text("abcxyz0189-_.", min_size=1, max_size=8)


@given(st.lists(name, min_size=2, max_size=5), st.sampled_from(["", "no file in ", "'", "replay/", "a=", "x: "]))
def test_of_a_path_its_last_name_is_left(parts: list[str], before: str) -> None:
    path = "/" + "/".join(parts)
    assert no_folders(f"{before}{path}") == f"{before}…/{parts[-1]}"
    assert without_folders({"a": [path, 1, None]}) == {"a": [f"…/{parts[-1]}", 1, None]}


def test_nothing_on_a_site_names_the_folders_of_its_machine(tmp_path: Path) -> None:
    """A painter and a judge that are named by where they lie, and a drawing that is not there."""
    small = write_exam(tmp_path, 3)
    first, second, _ = small.ids
    small.drawing(second).unlink()
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', {'one': verdicts(small.rows, 5)})}"
    place = tmp_path / "store"
    asked = ("--data", small.data, "--judge", judge, "--store", place)
    limner("run", "genexam", "--painter", f"one=folder/{small.drawings}", *asked, code=None)
    limner("run", "genexam", "--painter", f"folder/{small.drawings}", *asked, code=None)
    build(tmp_path / "site", store=place)
    files = [file for file in (tmp_path / "site").rglob("*") if file.suffix in (".html", ".js")]
    told = "".join(file.read_text("utf-8") for file in files)
    assert "no file" in told, "the failure itself is told"
    assert str(tmp_path) not in told
    assert tmp_path.as_posix().replace("/", "\\/") not in told
    assert first in told
