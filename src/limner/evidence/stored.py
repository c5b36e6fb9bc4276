"""Which backend's values count, where several have measured the same drawings. Pure, and always the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.errors import UsageError
from ..core.evidence import is_paper, short
from ..store.records import Measurement

Subjects = tuple[str | None, str]
"""A drawing's image and its id."""
Chosen = dict[str, dict[str, Any]]
"""What is known of one drawing: name of the evidence -> value and backend."""


class BackendChoice:
    """Decides for each row of a table.

    The backend that has measured most of a row's drawings counts; of equals the one that has measured most of all
    drawings, then the paper's, then the newest. `wanted` names another one, by its full or its short name.
    """

    def __init__(
        self, found: Iterable[Measurement], drawings: Sequence[Subjects], wanted: Mapping[str, str] | None = None
    ) -> None:
        self._values: dict[tuple[str, str], dict[str, Measurement]] = {}
        for one in found:
            self._values.setdefault((one.name, one.backend), {})[one.subject] = one
        self._wanted = {name: self._named(name, word) for name, word in (wanted or {}).items()}
        self._overall = {key: self._covered(key, drawings) for key in self._values}

    def _named(self, name: str, word: str) -> frozenset[str]:
        there = sorted(backend for known, backend in self._values if known == name)
        fitting = [backend for backend in there if word in (backend, backend.partition(" ")[0], short(backend))]
        if not fitting:
            listed = ", ".join(sorted({short(backend) for backend in there})) or "none"
            raise UsageError(f"{name}={word}: these drawings have no such value; measured by: {listed}")
        return frozenset(fitting)

    def _covered(self, key: tuple[str, str], drawings: Sequence[Subjects]) -> int:
        return sum(_measured_on(self._values[key], drawing) is not None for drawing in drawings)

    def of(self, drawings: Sequence[Subjects]) -> list[Chosen]:
        """What counts for the drawings of one row, in their order."""
        best: dict[str, tuple[tuple[int, int, bool, float, str], dict[str, Measurement]]] = {}
        for (name, backend), values in self._values.items():
            covered = self._covered((name, backend), drawings)
            if not covered or backend not in self._wanted.get(name, {backend}):
                continue
            newest = max(one.created for one in values.values())
            rank = covered, self._overall[name, backend], is_paper(name, backend), newest, backend
            if name not in best or rank > best[name][0]:
                best[name] = rank, values
        rows: list[Chosen] = []
        for drawing in drawings:
            row: Chosen = {}
            for name in sorted(best):
                if (one := _measured_on(best[name][1], drawing)) is not None:
                    row[name] = {"value": one.value, "backend": one.backend}
            rows.append(row)
        return rows


def _measured_on(values: Mapping[str, Measurement], drawing: Subjects) -> Measurement | None:
    image, id = drawing
    return values.get(id) or values.get(image or "")
