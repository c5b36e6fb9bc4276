"""Certificates as rows: one for each evaluator, exam and way of examining, and one for each time it was asked again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from .schema import certificates
from .store import Store, now

CERTIFICATE, DRIFT = "certificate", "drift"
HOW = ("kind", "seed", "selected", "every_dose", "session", "predecessor")
"""What of a body tells one row of an evaluator from another."""


@dataclass(frozen=True)
class CertificateRow:
    """A stored certificate, or a stored answer to whether the judge has moved since."""

    id: str
    setup: str
    exam: str
    body: dict[str, Any]
    created: float

    @property
    def day(self) -> str:
        """The day it was made, in universal time."""
        return datetime.fromtimestamp(self.created, UTC).date().isoformat()


def save_certificate(store: Store, setup: str, exam: str, body: Mapping[str, Any]) -> CertificateRow:
    """Keep a certificate; one that says the same as the one that is there keeps its date."""
    words = json.dumps([setup, exam, {name: body.get(name) for name in HOW}], sort_keys=True)
    id = hashlib.sha256(words.encode()).hexdigest()
    there = next((row for row in load_certificates(store, exam) if row.id == id), None)
    if there is not None and there.body == dict(body):
        return there
    made = CertificateRow(id, setup, exam, dict(body), now())
    store.write(lambda connection: store.upsert(connection, certificates, dict(vars(made))))
    return made


def load_certificates(store: Store, exam: str) -> list[CertificateRow]:
    """All of an exam, the oldest first."""
    query = sa.select(certificates).where(certificates.c.exam == exam)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(certificates.c.created, certificates.c.id)).all()
    return [CertificateRow(row.id, row.setup, row.exam, dict(row.body), row.created) for row in rows]


def newest_certificates(store: Store, exam: str) -> dict[str, CertificateRow]:
    """By evaluator, its newest certificate."""
    return {row.setup: row for row in load_certificates(store, exam) if row.body.get("kind") == CERTIFICATE}


def sessions(store: Store, exam: str, setup: str) -> int:
    """How often an evaluator was asked again."""
    return sum(row.setup == setup and row.body.get("kind") == DRIFT for row in load_certificates(store, exam))
