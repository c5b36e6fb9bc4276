"""Writes into the documentation what its commands print now: ``python -m tests.docs.refresh [PAGE …]``."""

from __future__ import annotations

import re
import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path

from tests.docs.blocks import PAGES, Session, blocks
from tests.docs.tables import generated_tables, rewrite


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
                written += _cut_as(command.shown, _tidy(printed))
            done = block.line - 1 + len(block.lines)
    page.write_text("\n".join([*written, *lines[done:]]) + "\n", "utf-8")


def _cut_as(shown: list[str], printed: list[str]) -> list[str]:
    """Return the printed lines, or those most like the shown ones where the page shows only some of them."""
    if len(shown) >= len(printed):
        return printed
    return [closest[0] for line in shown if (closest := get_close_matches(line, printed, n=1, cutoff=0.5))]


def _tidy(printed: str) -> list[str]:
    """The lines without blanks at their ends, and of a run's progress only the last word."""
    lines = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    progress = [n for n, line in enumerate(lines) if re.match(r"\d+/\d+ done", line)]
    return [line for n, line in enumerate(lines) if n not in progress[:-1]]


if __name__ == "__main__":
    for table in generated_tables():
        rewrite(*table)
    for page in [Path(word) for word in sys.argv[1:]] or PAGES:
        refresh(page)
