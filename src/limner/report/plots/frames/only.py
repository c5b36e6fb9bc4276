"""Plots that only some exams have data for."""

from __future__ import annotations

from ....errors import UsageError
from ..source import Source


def only(source: Source, plot: str, kind: str) -> None:
    """Refuse an exam of another kind.

    Raises:
        UsageError: The exam is not of this kind.
    """
    if source.kind != kind:
        raise UsageError(f"{plot} shows exams of the kind {kind}; {source.exam} is of the kind {source.kind}")
