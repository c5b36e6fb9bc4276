"""How far a run is: bars on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .say import say

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from ..running.progress import Progress

OFTEN = 5
"""So often in a second bars are drawn anew."""
NARROW = 100
"""Below so many columns names get a quarter of the line, and otherwise a third."""
SHORTEST, LONGEST = 4, 40
"""Columns of a bar."""


@contextmanager
def shown(progress: Progress | None = None) -> Iterator[Callable[[Progress], None]]:
    """Shows how far a run is, and gives what is to be called after every step.

    Args:
        progress: Where it stands, if that is known before its first step ends.
    """
    if not sys.stderr.isatty():
        yield _Plain()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    if console.is_dumb_terminal:
        yield _Plain()
        return
    bars = Bars(progress)
    with Live(bars, console=console, refresh_per_second=OFTEN, transient=False, vertical_overflow="crop"):
        try:
            yield bars.watch
        finally:
            bars.ended = True


class _Plain:
    """A line every few seconds, and one at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + 5

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() >= self._next or progress.settled >= progress.total:
            self._next = time.monotonic() + 10
            say(progress.describe(time.monotonic()), err=True)


class Bars:
    """A bar for everyone who draws, measures and marks, and one for the whole; drawn from where the run stands now.

    Attributes:
        ended: Whether nothing more comes; there is no time left to be told then.
    """

    def __init__(self, progress: Progress | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress, self._clock, self.ended = progress, clock, False

    def watch(self, progress: Progress) -> None:
        """Where the run stands, from now on."""
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        progress = self._progress
        if progress is None or not progress.total:
            return
        room = max(3, console.size.height - 4)
        yield self._table(progress, options.max_width, room)
        if found := progress.counts()[1:-1]:
            yield Text(" · ".join(found), "dim")
        if self.ended:
            return
        if progress.waiting:
            told = ", ".join(f"{count} for {_printable(what)}" for what, count in progress.waiting.items())
            yield Text(f"calls wait: {told}", "yellow", no_wrap=True, overflow="ellipsis")
        if progress.interrupted:
            yield Text("stopping: what is in flight is finished; Ctrl-C again ends at once", "yellow")

    def _table(self, progress: Progress, width: int, room: int) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        at, parts = self._clock(), list(progress.parts.items())
        shown, folded = _chosen(parts, room)
        rows = [(does, _printable(name), part) for (does, name), part in shown]
        rows.append(("all" if parts else "", "", progress))
        numbers = [self._numbers(part, at) for _, _, part in rows]
        used = max(len(does) for does, _, _ in rows) + len(numbers[0]) + 2
        used += sum(max(map(len, column)) for column in zip(*numbers, strict=True))
        # Numbers stay whole: first the bars give way, then the names.
        longest = min(max(len(name) for _, name, _ in rows), width // (4 if width < NARROW else 3))
        names = max(0, min(longest, width - used - SHORTEST))
        bar = max(SHORTEST, min(LONGEST, width - used - names))
        table = Table.grid(padding=(0, 1), expand=False)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", width=names)
        table.add_column(width=bar)
        for _ in numbers[0]:
            table.add_column(no_wrap=True, justify="right")
        for (does, name, part), cells in zip(rows, numbers, strict=True):
            drawn = ProgressBar(
                total=max(1, part.total), completed=min(part.settled, part.total), width=bar,
                complete_style="yellow" if part.failed else "cyan", finished_style="yellow" if part.failed else "green",
            )  # fmt: skip
            style = "bold" if part is progress and parts else ""
            table.add_row(does, Text(name, style), drawn, *(Text(cell, _style(cell) or style) for cell in cells))
        if folded:
            done = sum(part.settled >= part.total for _, part in folded)
            table.add_row("", Text(f"… {len(folded)} more", "dim"), Text(f"{done} of them done", "dim"))
        return table

    def _numbers(self, part: Progress, at: float) -> tuple[str, ...]:
        """Settled steps, failures, rate, spend, time left."""
        failed = f"{part.failed} failed" if part.failed else ""
        return f"{part.settled}/{part.total}", failed, f"{part.rate(at):.1f}/s", _money(part), self._left(part, at)

    def _left(self, part: Progress, at: float) -> str:
        from ..running.progress import duration

        if part.settled >= part.total:
            return "done"
        # Steps of one sort may take a hundred times longer than others: the whole waits for whoever needs longest.
        open_parts = [one for one in part.parts.values() if one.settled < one.total] or [part]
        times = [one.seconds_left(at) for one in open_parts]
        left = None if None in times else max(seconds for seconds in times if seconds is not None)
        return "" if self.ended else "…" if left is None else f"{duration(left)} left"


def _style(cell: str) -> str:
    return "red" if cell.endswith(" failed") else "dim" if cell == "done" else ""


def _chosen(
    parts: list[tuple[tuple[str, str], Progress]], room: int
) -> tuple[list[tuple[tuple[str, str], Progress]], list[tuple[tuple[str, str], Progress]]]:
    """Those that fit on the screen, in their order, and the others; whoever is not done goes before who is."""
    if len(parts) <= room:
        return parts, []
    first = sorted(range(len(parts)), key=lambda n: (parts[n][1].settled >= parts[n][1].total, n))
    taken = set(first[: room - 1])
    return [parts[n] for n in sorted(taken)], [part for n, part in enumerate(parts) if n not in taken]


def _money(part: Progress) -> str:
    return f"${part.spent:.4f}" + (f" + {part.unpriced}?" if part.unpriced else "")


def _printable(text: str) -> str:
    from ..core.redaction import printable

    return " ".join(printable(text).split())
