"""The progress of a run: as a whole, and for every painter, probe and judge. Nothing is printed here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..calls import charged_to
from ..calls.usage import Tally
from ..core.faults import ASKED_AGAIN, FIX_AND_RERUN

SHOWN = 5
"""The number of failures reported with their details."""


@dataclass(repr=False)
class Progress:
    """The progress of a run, counted in drawings and markings together.

    Attributes:
        cut: New drawings whose prompt was longer than the painter reads.
        submitted: Calls in batches that are unanswered when the run ends.
        waiting: The number of waiting calls by reason, such as the budget or a service's turn.
        parts: The progress of each participant, by task (``draw``, ``measure``, ``mark``) and name. Its numbers are
            included in those of the whole.
    """

    total: int = 0
    done: int = 0
    stored: int = 0
    not_applicable: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    details: list[str] = field(default_factory=list)
    cut: int = 0
    spent: float = 0.0
    unpriced: int = 0
    doubted: int = 0
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False
    submitted: int = 0
    waiting: Mapping[str, int] = field(default_factory=dict)
    parts: dict[tuple[str, str], Progress] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """The number of steps that ended in a stored fault."""
        return sum(self.failures.values())

    @property
    def asked_again(self) -> int:
        """The number of failed steps that the next run retries by itself."""
        return sum(count for kind, count in self.failures.items() if kind in ASKED_AGAIN)

    def advice(self) -> list[str]:
        """Return what to do about the failures: those that the next run retries, and those that are kept."""
        counts_by_retry: dict[bool, list[str]] = {}
        for kind, count in self.failures.most_common():
            counts_by_retry.setdefault(kind in ASKED_AGAIN, []).append(f"{count} {kind}")
        lines = []
        if True in counts_by_retry:
            lines.append(
                f"{_failures(self.asked_again)} not kept ({', '.join(counts_by_retry[True])}). {FIX_AND_RERUN}"
            )
        if False in counts_by_retry:
            kept = _failures(self.failed - self.asked_again)
            lines.append(f"{kept} kept ({', '.join(counts_by_retry[False])}): add --retry-failed to try again")
        return lines

    @property
    def settled(self) -> int:
        """The number of steps that have any outcome."""
        return self.done + self.stored + self.not_applicable + self.failed

    def rate(self, at: float) -> float:
        """Return the steps per second, without those found in the store."""
        return (self.done + self.failed) / max(1e-6, at - self.started)

    def seconds_left(self, at: float) -> float | None:
        """Return the approximate remaining time; None if unknown or if nothing is left."""
        rate, left = self.rate(at), self.total - self.settled
        return left / rate if rate and left > 0 else None

    def part(self, does: str, name: str) -> Progress:
        """Return the progress of one participant, created if necessary."""
        return self.parts.setdefault((does, name), Progress(started=self.started))

    def count(
        self,
        question: str,
        status: str,
        fault: str | None = None,
        detail: str | None = None,
        *,
        stored: bool = False,
        of: Progress | None = None,
    ) -> None:
        """Count one step: ``done``, ``failed`` or ``not_applicable``; new or `stored`; also in the part `of`."""
        if of is not None:
            of.count(question, status, fault, detail, stored=stored)
        if status == "failed":
            self.failures[fault or "unknown"] += 1
            if len(self.details) < SHOWN:
                # Name the question only once.
                text = detail if detail and detail.startswith(f"{question}: ") else f"{question}: {detail}"
                self.details.append(f"{fault}: {text}")
        elif status == "not_applicable":
            self.not_applicable += 1
        elif stored:
            self.stored += 1
        else:
            self.done += 1

    @contextmanager
    def paying(self) -> Iterator[None]:
        """Count the cost of calls made in this block as spent by this part."""
        account = Tally()
        try:
            with charged_to(account):
                yield
        finally:
            self.spent, self.unpriced = self.spent + account.spent, self.unpriced + account.unpriced
            self.doubted += account.doubted

    def account(self, tally: Tally) -> None:
        """Copy the totals of a journal."""
        self.spent, self.unpriced, self.doubted = tally.spent, tally.unpriced, tally.doubted

    def counts(self) -> list[str]:
        """Return the numbers of steps by outcome, as text."""
        texts = [f"{self.settled}/{self.total} done"]
        if self.stored:
            texts.append(f"{self.stored} from store")
        if self.not_applicable:
            texts.append(f"{self.not_applicable} not applicable")
        return [*texts, f"{self.failed} failed"]

    @property
    def money(self) -> str:
        """The amount spent, and the number of calls whose cost is unknown."""
        text = f"${self.spent:.4f}"
        if self.unpriced:
            text += f" + {self.unpriced} unpriced"
        if self.doubted:
            text += f" ({self.doubted} at their bound: usage not credible)"
        return text

    def describe(self, at: float) -> str:
        """Return counts, rate, spending and time left in one line."""
        parts = [*self.counts(), f"{self.rate(at):.1f}/s", self.money]
        if (left := self.seconds_left(at)) is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)

    def __repr__(self) -> str:
        """Return counts and spending."""
        return f"<Progress: {' · '.join([*self.counts(), self.money])}>"


def _failures(count: int) -> str:
    return "1 failure is" if count == 1 else f"{count} failures are"


def duration(seconds: float) -> str:
    """Return a time as text.

    >>> duration(7.6), duration(125), duration(7325)
    ('8s', '2m05s', '2h02m')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
