"""The seam behind which everything that marks stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..calls import Calls
from ..core.exam import Question
from ..core.marks import Mark


@dataclass(frozen=True)
class Subject:
    """A drawing to be marked.

    Attributes:
        image: The drawing's content hash.
        repeat: Counts deliberate repetitions of the same marking.
        round: Counts renewed tries after unreadable replies.
    """

    exam: str
    question: Question[Any]
    painter: str
    image: str
    repeat: int = 0
    round: int = 0


@dataclass(frozen=True)
class JudgeResult:
    """What a judge gave: replies to be read, or marks themselves.

    Attributes:
        replies: Ask name and call key of every reply.
        marks: Set by judges that mark without prose; readings change nothing about them.
    """

    replies: tuple[tuple[str, str], ...] = ()
    marks: tuple[Mark, ...] | None = None
    cost: float | None = 0.0


class Judge(Protocol):
    """What marks.

    Attributes:
        name: The name it gets in tables.
        setup: Everything that shapes its marks; scores never mix different setups.
    """

    name: str
    setup: dict[str, Any]

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Mark one drawing.

        Raises:
            limner.calls.Fault: It could not be marked.
        """
        ...

    def check(self) -> None:
        """Raise early when it cannot work at all, such as for want of a key."""
        ...

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None when that is known."""
        ...
