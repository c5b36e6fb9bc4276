"""`limner build review` serves: links are told once, others come by name alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from limner.build.reviews import load_reviewers
from limner.store.store import open_store
from tests.build.review_page.desk import prepare

pytestmark = pytest.mark.slow
MAIN = "import sys; from limner.build.recipe import STEPS; from tests.build.review_page.desk import MADE; " \
    "STEPS['t-made'] = MADE; from limner.cli import main; main()"  # fmt: skip


def serve(place: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAIN, "build", "review", "mine", "--port", "0", "--store", str(place / "store")]
    return subprocess.Popen(
        [*command, *words], cwd=Path(__file__).parents[2], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def told(process: subprocess.Popen[str]) -> list[str]:
    """What it says until it serves; then it is ended by Ctrl-C."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if line.startswith("serving"):
            return lines
    raise AssertionError(f"{lines} {process.stderr.read() if process.stderr else ''}")


def ended(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)


def test_links_are_printed_and_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limner.build.recipe import STEPS
    from tests.build.review_page.desk import MADE

    monkeypatch.setitem(STEPS, "t-made", MADE)
    with open_store(str(tmp_path / "store"), create=True) as store:
        prepare(store, tmp_path)
    process = serve(tmp_path, "--reviewer", "dora", "--adjudicator", "emil", "--reviewer", "anna")
    lines = told(process)
    assert lines[0] == "anna already has a link; --new-links makes a new one"
    links = dict(line.split(": ", 1) for line in lines[1:3])
    assert links.keys() == {"dora", "emil"}
    page = urllib.request.urlopen(links["dora"], timeout=20).read().decode()
    assert "You are dora" in page
    assert "you decide where reviewers disagree" in urllib.request.urlopen(links["emil"], timeout=20).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(links["dora"][:-2] + "/", timeout=20)
    ended(process)
    with open_store(str(tmp_path / "store")) as store:
        assert {name: one.settles for name, one in load_reviewers(store, "mine").items()} == {
            "anna": False, "ben": False, "carla": True, "dora": False, "emil": True
        }  # fmt: skip
