"""The seam behind which everything that marks stands, and the sorts of it, registered under ``limner.judges``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..calls import Calls
from ..calls.keys import setup_id as setup_id
from ..core.asks import Variant
from ..core.exam import Question
from ..core.images import Preparer
from ..core.marks import Mark
from ..core.registry import Opener, Registry
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..exams import Kind
from ..store import Blobs


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


@runtime_checkable
class Unseeing(Protocol):
    """A judge that can also be asked without a picture, to see what it says when it cannot look."""

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Mark as usual, but with nothing to look at; `subject.image` only names the marking."""
        ...


Weigh = Callable[[str, Sequence[Judge]], Sequence[float]]
"""Gives each of several judges a weight, by ``certificate`` or ``study:NAME``."""


@dataclass(frozen=True)
class JudgeInputs:
    """What a judge is made from.

    Attributes:
        spec: The word, and what stands behind its first slash.
        args: The ``--judge-arg`` given.
        variant: How it is asked.
        images: Prepares pictures to be sent.
        weigh: Weighs the members of a panel by a certificate or a study; None where there is no store.
    """

    spec: str
    rest: str
    args: Mapping[str, Any]
    exam: Kind[Any]
    variant: Variant
    settings: Settings
    images: Preparer
    blobs: Blobs
    ocr: OcrProbe
    weigh: Weigh | None = None


@dataclass(frozen=True)
class JudgeKind(Opener[JudgeInputs, Judge]):
    """A sort of judge, found by the word before the first slash.

    A judge that may cost money has `limner.core.catalogue.Priced.price`, for estimates.
    """


JUDGES: Registry[JudgeKind] = Registry("limner.judges", "judge", JudgeKind)
