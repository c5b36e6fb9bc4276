"""Progress on a terminal: a bar for everyone who takes part, at any width, and nothing left behind."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from limner.cli.running import Bars
from limner.running.progress import Progress
from tests.support import environment

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def drawn(progress: Progress, width: int = 80, height: int = 24, *, ended: bool = False) -> list[str]:
    """The lines of the bars, 20 seconds after the start, as they are read."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=height, color_system=None)
    bars = Bars(progress, clock=lambda: progress.started + 20)
    bars.ended = ended
    console.print(bars)
    return [line.rstrip() for line in ESCAPE.sub("", out.getvalue()).splitlines()]


@pytest.fixture
def progress() -> Progress:
    """Two painters, one of which fails at times, and a judge."""
    found = Progress(total=60)
    for name in ("openai/gpt-image-1", "a-painter-with-quite-a-long-name"):
        found.part("draw", name).total = 20
    found.part("mark", "ocr").total = 20
    for n in range(12):
        part = found.part("draw", "openai/gpt-image-1")
        part.spent, found.spent = part.spent + 0.04, found.spent + 0.04
        found.count(f"q{n}", "failed" if n == 3 else "done", "refused" if n == 3 else None, "no", of=part)
    for n in range(4):
        found.count(f"q{n}", "done", of=found.part("mark", "ocr"))
    return found


@pytest.mark.parametrize("width", [60, 80, 140])
def test_everyone_has_a_bar_with_rate_spend_and_time_left(progress: Progress, width: int) -> None:
    lines = drawn(progress, width)
    assert max(map(len, lines)) <= width
    first, second, third, last = lines
    assert first.startswith("draw openai")
    assert [*first.split()[-7:]] == ["12/20", "1", "failed", "0.6/s", "$0.4800", "13s", "left"]
    assert second.split()[-4:] == ["0/20", "0.0/s", "$0.0000", "…"]
    assert third.split()[:2] == ["mark", "ocr"]
    assert last.split()[0] == "all"
    assert last.split()[-6:] == ["16/60", "1", "failed", "0.8/s", "$0.4800", "…"], "one painter has not begun"
    assert ("a-painter-with-quite-a-long-name" in second) == (width == 140)
    assert "━━" in first


def test_names_cannot_drive_the_terminal() -> None:
    found = Progress(total=1)
    found.part("draw", "evil\x1b[2J\nname[red]").total = 1
    (line, _) = drawn(found, 140)
    assert "evil\\u001b[2J name[red]" in line


def on_terminal(words: list[str], folder: Path, act: Callable[[int, str], None] = lambda _pid, _said: None) -> str:
    """What a command writes to a terminal of 80 columns; `act` sees it as it comes."""
    leader, follower = pty.openpty()
    os.set_blocking(leader, True)
    env = environment({"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PYTHONPATH": str(folder)})
    code = "from limner.cli import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=env,
        start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    said = b""
    try:
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # The other end is closed: the command has ended.
                break
            if not data:
                break
            said += data
            act(started.pid, said.decode(errors="replace"))
    finally:
        os.close(leader)
        started.wait(60)
    return said.decode(errors="replace") + f"\nexit {started.returncode}"


SLOW = """
import os, time
from PIL import Image

drawn = []

def draw(prompt):
    # The second waits until the command has been interrupted as often as it is to be.
    while len(drawn) == 1 and not os.path.exists("interrupted"):
        time.sleep(0.05)
    drawn.append(prompt)
    return Image.new("RGB", (64, 64), "white")
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [0, 1, 2])
def test_on_a_real_terminal(tmp_path: Path, times: int) -> None:
    """Run to its end, interrupted once, and twice: the cursor is back, and no mode is left on."""
    (tmp_path / "slow.py").write_text(SLOW, "utf-8")
    if not times:
        (tmp_path / "interrupted").touch()
    words = ["draw", "sample/genexam", "--painter", "mine=python/slow:draw", "--store", "s", "--concurrency", "1"]
    words += ["--limit", "3" if not times else "13"]
    sent: list[int] = []

    def act(pid: int, said: str) -> None:
        begun = re.search(r"[1-9]\d*/13", said) and len(sent) < 1
        again = sent and len(sent) < times and "stopping" in said
        if times and (begun or again):
            os.kill(pid, signal.SIGINT)
            sent.append(pid)
        if times and len(sent) == times and "stopping" in said:
            (tmp_path / "interrupted").touch()

    said = on_terminal(words, tmp_path, act)
    assert "draw mine" in ESCAPE.sub("", said)
    assert said.count("\x1b[?25l") <= said.count("\x1b[?25h"), "the cursor is hidden"
    assert said.rfind("\x1b[?25h") > said.rfind("\x1b[?25l")
    assert "\x1b[?1049h" not in said, "no other screen is used"
    assert said.endswith(f"exit {130 if times else 0}")
    if times == 0:
        assert "3/3" in said
    if times == 1:
        assert "interrupted; run the same command again to go on" in said
    if times == 2:
        assert len(sent) == 2


@pytest.mark.slow
def test_piped_lines_stay_plain(tmp_path: Path) -> None:
    from tests.cli.invoke import limner

    said = limner("draw", "sample/genexam", "--painter", "control/blank", "--limit", "2", "--store", tmp_path / "s")
    assert re.fullmatch(r"2/2 done · 0 failed · \d+\.\d/s · \$0\.0000\n", said.err)
