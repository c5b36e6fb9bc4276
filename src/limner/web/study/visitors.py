"""Who a link belongs to: raters by their token, visitors of a panel by the place they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from starlette.exceptions import HTTPException

from ...core.redaction import new_token, same, token_hash
from ...store import Store, now
from ...store.schema import study_raters
from ...study.records import StudyRater, load_raters

PANEL = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
"""What Prolific adds to a link."""
LINKS = 8
"""So many links by which a panel's visitor came stay good: each time they come by the panel they get a new one."""


def find_rater(store: Store, study: str, token: str) -> StudyRater:
    """The rater a token belongs to.

    Raises:
        HTTPException: 404; there is none.
    """
    hash = token_hash(token)
    query = sa.select(study_raters).where(study_raters.c.study == study, study_raters.c.token == hash)
    with store.reading() as connection:
        row = connection.execute(query).first()
    if row is not None:
        return StudyRater(**row._mapping)
    for rater in load_raters(store, study):
        if any(same(hash, other) for other in rater.body.get("tokens", [])):
            return rater
    raise HTTPException(404)


def join(store: Store, study: str, given: Mapping[str, str]) -> str:
    """A panel's visitor takes the first free place, or finds the one taken before; returns a new token for it.

    Raises:
        HTTPException: The visitor has no id (400), or no place is free (409).
    """
    panel = {name: given[name][:200] for name in PANEL if given.get(name)}
    if PANEL[0] not in panel:
        raise HTTPException(400, f"This link is to be opened from the panel: {PANEL[0]} is missing in it.")
    token = new_token()

    def operation(connection: sa.Connection) -> bool:
        query = sa.select(study_raters).where(study_raters.c.study == study).order_by(study_raters.c.rater)
        raters = [StudyRater(**row._mapping) for row in connection.execute(query)]
        known = [one for one in raters if one.body.get("panel", {}).get(PANEL[0]) == panel[PANEL[0]]]
        free = [one for one in raters if "panel" not in one.body and "consent" not in one.body]
        if not known and not free:
            return False
        found = (known or free)[0]
        # Links of before stay good, so that a page that is still open elsewhere can send what it has.
        tokens = [*found.body.get("tokens", []), found.token][-LINKS:] if known else []
        body = {**found.body, "panel": panel, "tokens": tokens}
        changed = replace(found, token=token_hash(token), body=body, updated=now())
        store.upsert(connection, study_raters, dict(changed.__dict__))
        return True

    if not store.write(operation):
        raise HTTPException(409, "All places in this study are taken. Thank you for your interest.")
    return token


def agree(store: Store, rater: StudyRater) -> None:
    """Keep when a rater consented."""
    row: dict[str, Any] = {**rater.__dict__, "body": {**rater.body, "consent": now()}, "updated": now()}
    store.write(lambda connection: store.upsert(connection, study_raters, row))
