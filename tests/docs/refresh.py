"""Writes into the documentation what its commands print now: ``python -m tests.docs.refresh [PAGE …]``."""

from __future__ import annotations

import re
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from tests.docs.blocks import PAGES, Session, blocks, plain
from tests.docs.services import generated_tables
from tests.docs.tables import rewrite


def refresh(page: Path) -> None:
    """Run the page's commands and rewrite the output shown below each."""
    lines = page.read_text("utf-8").splitlines()
    written: list[str] = []
    done = 0
    with tempfile.TemporaryDirectory() as folder, Session(Path(folder)) as session:
        for block in blocks(page):
            if "file" in block.notes:
                session.save(block)
            if not block.runs or block.language not in ("console", "python"):
                continue
            if block.language == "python":
                session.python(block.text)
                continue
            written += lines[done : block.line - 1]
            for command in block.commands():
                code, printed = session.run(command.words)
                print(f"{page.name}:{block.line}: exit {code}: {command.words}")
                written.append("$ " + command.words.replace("\n", "\n> "))
                written += _nearest(command.shown, _tidy(printed))
            done = block.line - 1 + len(block.lines)
    page.write_text("\n".join([*written, *lines[done:]]) + "\n", "utf-8")


def _tidy(printed: str) -> list[str]:
    """The lines without blanks at their ends, and of a run's progress only the last word."""
    lines = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    progress = [n for n, line in enumerate(lines) if re.match(r"\d+/\d+ done", line)]
    return [line for n, line in enumerate(lines) if n not in progress[:-1]]


def _nearest(shown: list[str], printed: list[str]) -> list[str]:
    """Return the printed lines, or those most like the shown ones where the page shows only some of them."""
    if len(shown) >= len(printed):
        return printed if shown else []
    return [max(printed, key=lambda new: (_likeness(plain(old), plain(new)), _likeness(old, new))) for old in shown]


def _likeness(old: str, new: str) -> float:
    return SequenceMatcher(None, old, new).ratio()


if __name__ == "__main__":
    for table in generated_tables():
        rewrite(*table)
    for page in [Path(word) for word in sys.argv[1:]] or PAGES:
        refresh(page)
