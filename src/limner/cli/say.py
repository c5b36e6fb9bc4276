"""The one way the command line says a line; tables have their own in `limner.report.tables.render`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..running.progress import Progress


def say(text: str = "", *, err: bool = False, nl: bool = True, over: bool = False) -> None:
    """Print a text of whatever origin.

    Args:
        text: What to say.
        err: To standard error.
        nl: Whether the line ends.
        over: Whether to write over the line that stands there, as a terminal can.
    """
    from ..core.redaction import printable

    click.echo(("\r\033[K" if over else "") + printable(text), err=err, nl=nl)


def say_failures(progress: Progress) -> None:
    """Say what failed, and what to do about it."""
    for detail in progress.details:
        say(f"failed: {detail}", err=True)
    if progress.failed > len(progress.details):
        say(f"… and {progress.failed - len(progress.details)} more failures", err=True)
    for line in progress.advice():
        say(line, err=True)
