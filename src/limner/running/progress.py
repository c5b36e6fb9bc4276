"""Where a run stands: as a whole, and for every painter, probe and judge. Nothing is shown here."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..calls import charged_to
from ..calls.usage import Tally
from ..core.faults import ASK_AGAIN, ASKED_AGAIN

SHOWN = 5
"""So many failures are told in words."""


@dataclass(repr=False)
class Progress:
    """Where a run stands. Counted in drawings and markings together.

    Attributes:
        cut: Drawings made now whose prompt the painter did not read to its end.
        submitted: Calls that stand in batches when a run ends before these are answered.
        waiting: What calls wait for, such as the budget or a service's turn, and how many of them.
        parts: The same for everyone who takes part, by what they do (``draw``, ``measure``, ``mark``) and their name.
            Their numbers are among the whole's.
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
        """How many steps ended in a stored fault."""
        return sum(self.failures.values())

    @property
    def asked_again(self) -> int:
        """How many of the failed steps the next run tries again without being asked to."""
        return sum(count for kind, count in self.failures.items() if kind in ASKED_AGAIN)

    def advice(self) -> list[str]:
        """Say what to do about the failures: those that the next run tries again, and those that are kept."""
        found: dict[bool, list[str]] = {}
        for kind, count in self.failures.most_common():
            found.setdefault(kind in ASKED_AGAIN, []).append(f"{count} {kind}")
        lines = []
        if True in found:
            lines.append(f"{_failures(self.asked_again)} not kept ({', '.join(found[True])}). {ASK_AGAIN}")
        if False in found:
            kept = _failures(self.failed - self.asked_again)
            lines.append(f"{kept} kept ({', '.join(found[False])}): --retry-failed asks again")
        return lines

    @property
    def settled(self) -> int:
        """How many steps have an outcome of whatever sort."""
        return self.done + self.stored + self.not_applicable + self.failed

    def rate(self, at: float) -> float:
        """Steps made in a second, what was found stored not counted."""
        return (self.done + self.failed) / max(1e-6, at - self.started)

    def seconds_left(self, at: float) -> float | None:
        """About how long the rest takes; None where nobody can say, or where there is none."""
        rate, left = self.rate(at), self.total - self.settled
        return left / rate if rate and left > 0 else None

    def part(self, does: str, name: str) -> Progress:
        """Where one of those stands who take part; there from now on."""
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
        """Count one step: ``done``, ``failed`` or ``not_applicable``; made now, or found `stored`; perhaps `of` one."""
        if of is not None:
            of.count(question, status, fault, detail, stored=stored)
        if status == "failed":
            self.failures[fault or "unknown"] += 1
            if len(self.details) < SHOWN:
                # The question's id is said once.
                said = detail if detail and detail.startswith(f"{question}: ") else f"{question}: {detail}"
                self.details.append(f"{fault}: {said}")
        elif status == "not_applicable":
            self.not_applicable += 1
        elif stored:
            self.stored += 1
        else:
            self.done += 1

    @contextmanager
    def paying(self) -> Iterator[None]:
        """What calls made inside cost is spent by this part."""
        account = Tally()
        try:
            with charged_to(account):
                yield
        finally:
            self.spent, self.unpriced = self.spent + account.spent, self.unpriced + account.unpriced
            self.doubted += account.doubted

    def account(self, tally: Tally) -> None:
        """Take over what a journal has counted so far."""
        self.spent, self.unpriced, self.doubted = tally.spent, tally.unpriced, tally.doubted

    def counts(self) -> list[str]:
        """Return what has come of the steps, in words."""
        told = [f"{self.settled}/{self.total} done"]
        if self.stored:
            told.append(f"{self.stored} from store")
        if self.not_applicable:
            told.append(f"{self.not_applicable} not applicable")
        return [*told, f"{self.failed} failed"]

    @property
    def money(self) -> str:
        """What was spent, and for how many calls nobody knows that."""
        told = f"${self.spent:.4f}"
        if self.unpriced:
            told += f" + {self.unpriced} unpriced"
        if self.doubted:
            told += f" ({self.doubted} at their bound: usage not credible)"
        return told

    def describe(self, at: float) -> str:
        """Done, failed, rate, spend, time left, in one line."""
        parts = [*self.counts(), f"{self.rate(at):.1f}/s", self.money]
        if (left := self.seconds_left(at)) is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)

    def __repr__(self) -> str:
        """Return what has come of it."""
        return f"<Progress: {' · '.join([*self.counts(), self.money])}>"


def _failures(count: int) -> str:
    return "1 failure is" if count == 1 else f"{count} failures are"


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(7.6), duration(125), duration(7325)
    ('8s', '2m05s', '2h02m')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
