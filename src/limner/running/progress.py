"""The progress of a run: as a whole, and for every painter, probe and judge. Nothing is printed here."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..calls import charged_to
from ..calls.usage import Tally
from ..core.faults import ASKED_AGAIN, CURES

SHOWN = 5
"""The most lines about failures."""
OF_ONE_CAUSE = frozenset({"unreadable", "refusal", "truncated", "timeout", "rate_limit"})
"""Kinds whose failures have one cause, whatever their details say."""
LONGEST_DETAIL = 500
"""The most characters shown of one failure."""


@dataclass
class Cause:
    """Failures of one cause: the first of them, and their number."""

    kind: str
    detail: str
    count: int = 0

    def __str__(self) -> str:
        """Return what happened, how often, and what to do about it."""
        times = "" if self.count == 1 else f" {self.count} times, first"
        retry = "Run the same command again to retry." if self.kind in ASKED_AGAIN else "--retry-failed tries again."
        detail = self.detail if len(self.detail) <= LONGEST_DETAIL else f"{self.detail[:LONGEST_DETAIL]}…"
        end = "" if detail.endswith((".", "…")) else "."
        return " ".join(filter(None, [f"failed{times} ({self.kind}): {detail}{end}", CURES.get(self.kind), retry]))


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
    causes: dict[tuple[str, str], Cause] = field(default_factory=dict)
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

    def by_count(self) -> list[Cause]:
        """Return the causes of failures, the most frequent first."""
        return sorted(self.causes.values(), key=lambda cause: (-cause.count, cause.kind))

    def failure_lines(self) -> list[str]:
        """Return the failures by cause, the most frequent first, each with what to do about it."""
        causes = self.by_count()
        lines = [str(cause) for cause in causes[: SHOWN if len(causes) <= SHOWN else SHOWN - 1]]
        if rest := causes[len(lines) :]:
            kinds = ", ".join(dict.fromkeys(cause.kind for cause in rest))
            lines.append(f"… and {sum(cause.count for cause in rest)} failures of {len(rest)} other causes ({kinds})")
        return lines

    def add_causes(self, other: Progress) -> None:
        """Add the failures of another run."""
        self.failures.update(other.failures)
        for key, cause in other.causes.items():
            self.causes.setdefault(key, Cause(cause.kind, cause.detail)).count += cause.count

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
            kind, text = fault or "unknown", (detail or "no reason is known").removeprefix(f"{question}: ")
            self.failures[kind] += 1
            pattern = "" if kind in OF_ONE_CAUSE else _pattern(text, question)
            cause = self.causes.setdefault((kind, pattern), Cause(kind, f"{question}: {text}"))
            cause.count += 1
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
        text = spent_text(self.spent, self.unpriced)
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


def spent_text(spent: float, unpriced: int = 0) -> str:
    """Return an amount of dollars, and the number of calls that have no known price.

    >>> spent_text(0.4849), spent_text(0.0042), spent_text(0.48, 12)
    ('$0.48', '$0.0042', 'at least $0.48 (12 calls without a known price)')
    >>> spent_text(0, 1)
    '1 call without a known price'
    """
    amount = f"${spent:.2f}" if spent >= 0.01 or spent <= 0 else f"${spent:.2g}" if spent >= 0.0001 else "under $0.0001"
    if not unpriced:
        return amount
    calls = f"{unpriced} {'call' if unpriced == 1 else 'calls'} without a known price"
    return f"at least {amount} ({calls})" if spent else calls


_PARTICULAR = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w:/.])[\w.*-]+(?:/[\w.*-]+)+|\b[0-9a-f]{12,}\b|\d+")
"""What differs between failures of one cause: quotations, paths, hashes and numbers."""


def _pattern(detail: str, question: str) -> str:
    """Return what the details of failures of one cause have in common."""
    return _PARTICULAR.sub("*", detail.replace(question, "*"))[:200]


def duration(seconds: float) -> str:
    """Return a time as text.

    >>> duration(7.6), duration(125), duration(7325)
    ('8s', '2m05s', '2h02m')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
