"""The OCR examiner's rules, by version; older ones are kept, so that a run can go on with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import UsageError
from ..evidence.lines import Line
from ..marks import Criterion, Mark
from .examine import examine

Examine = Callable[[Sequence[Criterion], Sequence[Line], frozenset[str], bool], list[Mark]]
"""Criteria, lines of text, the kinds of criteria that words can decide, whether mentions count -> marks."""

# Where the same lines would be marked differently, that is another version: the code of the old one is kept under a
# name of its own, and the new one is added at the end.
RULES: dict[str, Examine] = {"labels-2": examine}
"""Name of the rules, which is part of what identifies a marking -> what marks by them; the newest last."""


def choose(name: str | None = None) -> tuple[str, Examine]:
    """The rules called `name`, or the newest.

    Raises:
        UsageError: There are none of that name; says which there are.
    """
    chosen = name or list(RULES)[-1]
    if chosen not in RULES:
        raise UsageError(f"the OCR examiner has no rules {chosen!r}; there is: {', '.join(RULES)}")
    return chosen, RULES[chosen]
