"""Printing lines of text; tables are printed by `limner.report.tables.render`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..running.progress import Progress


def say(text: str = "", *, err: bool = False, nl: bool = True, over: bool = False) -> None:
    """Print a text, made safe for the terminal.

    Args:
        text: The text, of any origin.
        err: Whether to print to standard error.
        nl: Whether to end the line.
        over: Whether to overwrite the current line of the terminal.
    """
    from ..core.redaction import printable

    click.echo(("\r\033[K" if over else "") + printable(text), err=err, nl=nl)


def say_failures(progress: Progress) -> None:
    """Print what failed, by cause, and what to do about it."""
    for line in progress.failure_lines():
        say(line, err=True)
