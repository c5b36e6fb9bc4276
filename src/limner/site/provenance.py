"""What stands at the foot of every page: where its numbers come from."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ..store import Store
from .inventory import Survey
from .judge_data import Way


@dataclass(frozen=True)
class Foot:
    """An exam's provenance; `to_json` feeds the index page.

    Attributes:
        ways: Every judge with how it was asked and what it marked.
        failures: What went wrong, by kind, in drawing and marking together.
        coverage: The least and the most coverage in any table.
    """

    exam: str
    kind: str
    reading: str
    questions: int
    painters: int
    drawings: int
    drawn: tuple[float | None, float | None]
    ways: Sequence[Mapping[str, Any]] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    coverage: tuple[float, float] | None = None


def foot(survey: Survey, ways: Sequence[Way], failures: Counter[str]) -> Foot:
    """The provenance of one exam's pages."""
    covered = [row.coverage for way in ways for row in way.rows]
    return Foot(
        survey.name,
        survey.kind.name,
        survey.terms.reading,
        len(survey.questions),
        len(survey.painters),
        sum(slot.status == "done" for slot in survey.slots.values()),
        (survey.first, survey.last),
        [
            {"judge": way.evaluator.judge, "name": way.evaluator.name,
             "setup": dict(way.evaluator.setup), "id": way.id[:12], "markings": way.markings,
             "first": way.first, "last": way.last}
            for way in ways
        ],
        dict(sorted(failures.items())),
        (min(covered), max(covered)) if covered else None,
    )  # fmt: skip


def versions() -> dict[str, str]:
    """What made the site."""
    return {"limner": version("limner"), "python": platform.python_version()}


def day(time: float | None) -> str:
    """A time as a reader takes it, in UTC.

    >>> day(0), day(None)
    ('1970-01-01 00:00 UTC', '–')
    """
    return "–" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")


def place(store: Store) -> str:
    """The store as a public page may name it: without the folders it lies in, user, password or host."""
    if "://" not in store.url:
        return store.url.replace("\\", "/").rstrip("/").rpartition("/")[2] or store.url
    scheme, _, rest = store.url.partition("://")
    return f"{scheme} {rest.partition('?')[0].rpartition('/')[2]}"
