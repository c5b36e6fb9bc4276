"""Shards: a plan in parts for stores that cannot be shared; where a drawing belongs depends on its slot alone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from ..core.errors import UsageError

MOST = 100_000
"""So many shards at most."""


@dataclass(frozen=True)
class Shard:
    """The i-th of n parts of a plan, from 1.

    The parts have no slot in common and together have all. Other questions, painters or seeds in the plan move no slot
    to another part.
    """

    i: int
    n: int

    @classmethod
    def parse(cls, word: str) -> Shard:
        """From ``i/n``.

        Raises:
            UsageError: It is none.
        """
        found = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", word.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
            raise UsageError(f"--shard takes i/n, such as 1/4 for the first of four (n up to {MOST:,}), not {word!r}")
        return cls(int(found[1]), int(found[2]))

    def has(self, slot: str) -> bool:
        """Whether the slot of this id belongs here."""
        return int.from_bytes(hashlib.sha256(slot.encode()).digest()[:8]) % self.n == self.i - 1

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.i}/{self.n}"
