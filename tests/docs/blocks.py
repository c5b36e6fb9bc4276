"""Fenced blocks of the documentation, and a session that runs them in a folder of its own.

A comment right above a block says how to take it: ``<!-- not run: REASON -->``, ``<!-- seam -->`` (signatures),
``<!-- exit: CODE -->`` (of its last command), ``<!-- file: NAME -->`` (to be saved), ``<!-- output varies -->``,
``<!-- near -->`` (numbers count too, and may be off by a little), ``<!-- stand-in: chat 8000, images 8001 -->`` (in
this file, these ports lead to fake services), ``<!-- arithmetic -->`` (every line is a sum that must be right),
``<!-- walk -->`` (run in a copy of the repository, into which the section's blocks that name a file are written).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.fakes.batches import BatchServer
from tests.fakes.client import ChatServer, Server
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer
from tests.loaded import Copy
from tests.read_once.sitecustomize import FOLDER as READINGS
from tests.support import MAIN, environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOME = "/home/you/exams"
"""Stands in shown output for the folder the commands were run in."""
WIDTH = 160
NOTES = (
    "not run", "seam", "exit", "file", "stand-in", "output varies", "near", "arithmetic", "walk",
)  # fmt: skip
NOTE = re.compile(rf"<!-- ({'|'.join(NOTES)})(?:: (.+))? -->")
STAND_INS: dict[str, type[Server]] = {
    "chat": ChatServer,
    "images": ImageServer,
    "studio": StudioServer,
    "batches": BatchServer,
}
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SECONDS = 300


@dataclass(frozen=True)
class Block:
    """A fenced block: where it starts (the line after the fence), its language, lines and notes.

    Attributes:
        section: The heading of the second rank that it stands under.
        file: The file that it is, where the fence names one behind the language.
    """

    line: int
    language: str
    lines: tuple[str, ...]
    notes: dict[str, str] = field(default_factory=dict)
    section: str = ""
    file: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def runs(self) -> bool:
        return not self.file and not {"not run", "seam", "walk"} & self.notes.keys()

    def commands(self) -> list[Command]:
        """The commands of a console block with the output shown below each."""
        found: list[Command] = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append(Command(line[2:]))
            elif line.startswith("> ") and found and not found[-1].shown:
                found[-1] = Command(f"{found[-1].words}\n{line[2:]}")
            elif found:
                found[-1].shown.append(line)
        return found


@dataclass(frozen=True)
class Command:
    """A command line and what the page shows below it."""

    words: str
    shown: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[Block]:
    """The page's fenced blocks in order."""
    fence, info, section, start, kept = "", "", "", 0, list[str]()
    notes: dict[str, str] = {}
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if fence:
            if line.strip() == fence:
                language, _, name = info.partition(" ")
                yield Block(start, language or "text", tuple(kept), notes, section, name)
                fence, notes = "", {}
            else:
                kept.append(line)
        elif opened := re.match(r"(```+) *(.*)", line):
            fence, info, start, kept = opened[1], opened[2].strip(), number + 1, []
        elif note := NOTE.fullmatch(line.strip()):
            notes[note[1]] = note[2] or ""
        elif line.strip():
            notes = {}
            section = line[3:] if line.startswith("## ") else section


INTERRUPTED = 130
"""The exit code of what somebody stopped."""
TODAY = "2026-11-16"
"""The day on which the pages' commands are run: models come and go."""


LIMNER_ALONE = re.compile(r"limner [^|;&<>$`*~]*")
"""A command line of Limner that needs no shell."""


class Session:
    """Runs a page's blocks one after another in one folder, without any key and at a fixed width.

    Args:
        loaded: Whether Limner and Python run as copies of a process that has loaded them, which saves the loading.
    """

    def __init__(self, folder: Path, *, loaded: bool = False, **more: str) -> None:
        self.folder = folder
        self._loaded = loaded
        here = str(Path(sys.executable).parent)
        path = os.pathsep.join([here, os.environ.get("PATH", "")])
        self._env = environment(
            {"PATH": path, "COLUMNS": str(WIDTH), "PYTHONUTF8": "1", "NO_COLOR": "1", "LIMNER_TODAY": TODAY} | more
        )
        self._services = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._services.close()

    def save(self, block: Block) -> None:
        """Write a block to the file it names; where it has stand-ins, they are started."""
        text = block.text
        for service, port in re.findall(r"(\w+) (\d+)", block.notes.get("stand-in", "")):
            server = self._services.enter_context(STAND_INS[service]())
            text = text.replace(f"127.0.0.1:{port}/", f"127.0.0.1:{server.port}/")
        path = self.folder / block.notes["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, words: str) -> tuple[int, str]:
        """Exit code and everything printed, the folder's own name replaced by `HOME`."""
        if self._loaded and LIMNER_ALONE.fullmatch(words):
            return self._copy(MAIN, shlex.split(words.replace("\\\n", " "))[1:])
        return self._call(["bash", "-c", f"set -o pipefail\n{words}"])

    def python(self, code: str) -> tuple[int, str]:
        """The same for a Python block."""
        if self._loaded:
            return self._copy(code, [])
        return self._call([sys.executable, "-c", code])

    def follow(self, block: Block, place: str) -> None:
        """Run a console block; each command must end and print as is shown."""
        commands = block.commands()
        for command in commands:
            wanted = int(block.notes.get("exit", 0)) if command is commands[-1] else 0
            # What is to be interrupted must take its time: nothing comes to it that another test has read.
            before = f"unset {READINGS}\n" if wanted == INTERRUPTED else ""
            code, printed = self.run(before + command.words)
            assert code == wanted, f"{place}: {command.words}: exit code {code}\n{printed}"
            if "output varies" not in block.notes:
                same = near if "near" in block.notes else alike
                missing = [line for line in command.shown if not any(same(line, real) for real in printed.splitlines())]
                assert not missing, f"{place}: {command.words}: not printed:\n" + "\n".join([*missing, "but:", printed])

    def _call(self, words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        return done.returncode, self._at_home(done.stdout.decode("utf-8", "replace"))

    def _copy(self, code: str, words: list[str]) -> tuple[int, str]:
        done = Copy(code, words, self.folder, self._env).end(SECONDS)
        return done.returncode, self._at_home(done.stdout + done.stderr)

    def _at_home(self, printed: str) -> str:
        return printed.replace(str(self.folder.resolve()), HOME).replace(str(self.folder), HOME)


def plain(line: str) -> str:
    """A line as it is compared: numbers, hashes, blanks and the length of rules do not count."""
    line = re.sub(r"\b[0-9a-f]{12,64}\b", "#", line)
    line = re.sub(r"\d+(?:\.\d+)?", "#", line)
    return " ".join(re.sub(r"[━─]+", "─", line).split())


def alike(line: str, real: str) -> bool:
    """Whether two lines say the same, whatever their numbers."""
    return plain(line) == plain(real)


def near(line: str, other: str, share: float = 0.1) -> bool:
    """Whether two lines say the same, with numbers that differ by no more than this share."""
    if plain(line) != plain(other):
        return False
    ours, theirs = ([float(number.replace(",", "")) for number in NUMBER.findall(each)] for each in (line, other))
    return all(abs(a - b) <= share * max(a, b) for a, b in zip(ours, theirs, strict=True))
