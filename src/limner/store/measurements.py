"""Evidence as rows: what was measured on an image, or brought in with a drawing."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .schema import evidence
from .store import Store, now


def evidence_row(subject: str, name: str, backend: str, value: Any) -> dict[str, Any]:
    """A row of the evidence table; `subject` is an image's hash or a drawing's id."""
    return {"subject": subject, "name": name, "backend": backend, "value": value, "created": now()}


@dataclass(frozen=True)
class Measurement:
    """One measured value: of an image by its hash, or of a drawing by its id."""

    subject: str
    name: str
    backend: str
    value: Any
    created: float


def load_evidence(store: Store, subjects: Iterable[str], skip: Iterable[str] = ()) -> list[Measurement]:
    """Everything that was measured on these subjects, by whatever backend, but for the names to `skip`."""
    query = sa.select(evidence).where(evidence.c.name.not_in(sorted(skip)))
    return [Measurement(**row._mapping) for row in store.rows(query, evidence.c.subject, subjects)]


def known_evidence(store: Store, names: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Return the subjects that have values under these names, by name and backend."""
    if not (wanted := sorted(set(names))):
        return {}
    query, found = sa.select(evidence.c.subject, evidence.c.name, evidence.c.backend), dict[tuple[str, str], set[str]]()
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=500).execute(query.where(evidence.c.name.in_(wanted))):
            found.setdefault((row.name, row.backend), set()).add(row.subject)
    return found


def save_evidence(store: Store, subject: str, name: str, backend: str, value: Any) -> Future[None]:
    """Keep a measured value; the future ends with the commit."""
    row = evidence_row(subject, name, backend, value)
    return store.submit(lambda connection: store.upsert(connection, evidence, row))
