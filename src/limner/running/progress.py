"""Where a run stands."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

SHOWN = 5
"""So many failures are told in words."""


@dataclass
class Progress:
    """Where a run stands. Counted in drawings and markings together.

    Attributes:
        cut: Drawings made now whose prompt the painter did not read to its end.
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

    @property
    def failed(self) -> int:
        """How many steps ended in a stored fault."""
        return sum(self.failures.values())

    @property
    def settled(self) -> int:
        """How many steps have an outcome of whatever sort."""
        return self.done + self.stored + self.not_applicable + self.failed

    def count(
        self, question: str, status: str, fault: str | None = None, detail: str | None = None, *, stored: bool = False
    ) -> None:
        """Count one step: ``done``, ``failed`` or ``not_applicable``; made now, or found `stored`."""
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
