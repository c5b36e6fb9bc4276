"""How an exam sorts what painters got wrong into a few modes of failure; a chat model says which. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from .asks import Ask
from .exam import Question, R
from .marks import Mark
from .prompts import Prompts

UNREAD = "unread"
"""In place of a mode: the model named none for this criterion, three times."""


@dataclass(frozen=True)
class FailureModes(Generic[R]):
    """What an exam says of its modes of failure.

    Attributes:
        names: The modes, by the words that the model uses for them -> what tables call them.
        about: Whose classification this is, in a line.
        prompts: The folder with the wording.
        wrong: Of a drawing's marks those that are sorted.
        ask: The one call that sorts these marks; `image` is the drawing's content hash.
        read: Criterion -> mode, as far as a reply names them.
    """

    names: Mapping[str, str]
    about: str
    prompts: Path
    wrong: Callable[[Sequence[Mark]], list[Mark]]
    ask: Callable[[Question[R], Sequence[Mark], str, Prompts], Ask]
    read: Callable[[str, Sequence[Mark]], dict[str, str]]
