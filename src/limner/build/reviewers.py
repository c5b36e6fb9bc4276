"""Who reviews a build: names, what they may do, and the hashes of their links' tokens."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..store import Store
from ..store.schema import builds

NAME = re.compile(r"[\w][\w .@-]{0,79}")


@dataclass(frozen=True)
class Reviewer:
    """One who reviews.

    Attributes:
        token: The hash of the link's token; the token itself is stored nowhere.
        settles: Whether this one decides where reviewers disagree.
    """

    name: str
    token: str
    settles: bool = False


def load_reviewers(store: Store, build: str) -> dict[str, Reviewer]:
    """Everybody who was invited, by name."""
    with store.reading() as connection:
        return _all(connection, build)


def save_reviewer(store: Store, build: str, reviewer: Reviewer) -> None:
    """Keep a reviewer; a link that this one had before no longer works.

    Raises:
        UsageError: The name is none.
    """
    if not NAME.fullmatch(reviewer.name):
        raise UsageError(f"{reviewer.name!r} names no reviewer: letters, digits, blanks, dots, dashes, @; at most 80")

    def operation(connection: sa.Connection) -> None:
        everybody = _all(connection, build) | {reviewer.name: reviewer}
        body: dict[str, Any] = connection.execute(sa.select(builds.c.body).where(builds.c.name == build)).scalar_one()
        kept = {name: {k: v for k, v in asdict(one).items() if k != "name"} for name, one in everybody.items()}
        connection.execute(builds.update().where(builds.c.name == build).values(body={**body, "reviewers": kept}))

    store.write(operation)


def _all(connection: sa.Connection, build: str) -> dict[str, Reviewer]:
    body = connection.execute(sa.select(builds.c.body).where(builds.c.name == build)).scalar_one()
    return {name: Reviewer(name, **given) for name, given in sorted(body.get("reviewers", {}).items())}
