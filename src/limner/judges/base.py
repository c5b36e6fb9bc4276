"""The interface of judges, and their registered kinds (``limner.judges``)."""

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
        round: Counts retries after unreadable replies.
    """

    exam: str
    question: Question[Any]
    painter: str
    image: str
    repeat: int = 0
    round: int = 0


@dataclass(frozen=True)
class JudgeResult:
    """The result of a judge: replies to be read, or marks.

    Attributes:
        replies: The request's name and the call's key of every reply.
        marks: The marks of judges that mark without replies; readings do not change them.
    """

    replies: tuple[tuple[str, str], ...] = ()
    marks: tuple[Mark, ...] | None = None
    cost: float | None = 0.0


class Judge(Protocol):
    """Anything that marks drawings.

    Attributes:
        name: Its name in tables.
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
        """Raise an error if it cannot work at all, for example without a key."""
        ...

    def unpriced(self) -> str | None:
        """Return why the cost of its calls is unknown, or None if it is known."""
        ...


@runtime_checkable
class Unseeing(Protocol):
    """A judge that can also be asked without a picture, to find out how it marks unseen drawings."""

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Mark as usual but without pictures; `subject.image` only identifies the marking."""
        ...


Weigh = Callable[[str, Sequence[Judge]], Sequence[float]]
"""A function that returns a weight for each of several judges, by ``certificate`` or ``study:NAME``."""


@dataclass(frozen=True)
class JudgeInputs:
    """The inputs from which a judge is made.

    Attributes:
        spec: The whole spec.
        args: The values of ``--judge-arg``.
        variant: How it is asked.
        images: Prepares pictures to be sent.
        weigh: Weighs the members of a panel by a certificate or a study; None without a store.
    """

    spec: str
    args: Mapping[str, Any]
    exam: Kind[Any]
    variant: Variant
    settings: Settings
    images: Preparer
    blobs: Blobs
    ocr: OcrProbe
    weigh: Weigh | None = None

    @property
    def rest(self) -> str:
        """The part of the spec after its first slash."""
        return self.spec.partition("/")[2]


@dataclass(frozen=True)
class JudgeKind(Opener[JudgeInputs, Judge]):
    """A kind of judge, named by the word before the first slash.

    A judge that may cost money has `limner.core.catalogue.Priced.price`, for estimates.
    """


JUDGES: Registry[JudgeKind] = Registry("limner.judges", "judge", JudgeKind)
