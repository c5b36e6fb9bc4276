"""Printing lines of text; tables are printed by `limner.report.tables.render`."""

from __future__ import annotations

import shutil
import sys
from textwrap import fill
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..running.progress import Progress


def say(text: str = "", *, err: bool = False, nl: bool = True, over: bool = False) -> None:
    """Print a text, made safe for the terminal; there, long messages are wrapped between words.

    Args:
        text: The text, of any origin.
        err: Whether to print to standard error.
        nl: Whether to end the line.
        over: Whether to overwrite the current line of the terminal.
    """
    from ..core.redaction import printable

    shown = printable(text)
    if err and not over and sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        shown = "\n".join(
            fill(line, width, break_long_words=False, break_on_hyphens=False) for line in shown.split("\n")
        )
    click.echo(("\r\033[K" if over else "") + shown, err=err, nl=nl)


def say_failures(progress: Progress) -> None:
    """Print what failed, by cause, and what to do about it."""
    for line in progress.failure_lines():
        say(line, err=True)
