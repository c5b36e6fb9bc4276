"""One way to print to a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ..core.redaction import printable

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 160
"""How wide tables are where there is no terminal, as in a file or a pipe."""
NARROWEST = 40


def escape(text: str) -> str:
    """Text from data or a model as it can stand on a terminal: no markup, no control characters, no keys."""
    from rich.markup import escape as plain

    return plain(printable(text))


def console() -> Console:
    """Standard output, as wide as the terminal or as COLUMNS says; elsewhere wide enough for tables."""
    from rich.console import Console

    class Quiet(Console):
        """Ends well when its reader has gone, as in ``limner show … | head``."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0)

    told = os.environ.get("COLUMNS", "")
    plain = max(NARROWEST, int(told)) if told.isdecimal() else PLAIN_WIDTH
    return Quiet(highlight=False, width=None if sys.stdout.isatty() else plain)
