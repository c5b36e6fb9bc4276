"""The shipped wordings of an exam's prompts, by version; older ones are kept, so that a run can go on with them.

The newest stands in the exam's folder of prompts, version N that came before it under ``vN/`` in there, and
``versions.toml`` lists all of them with the hash of each set of templates that is asked together.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.asks import Variant
from ..core.errors import DataError, UsageError
from ..core.prompts import Prompts

if TYPE_CHECKING:
    from . import Kind

LIST = "versions.toml"
SHORTEST = 4
"""As many letters of a hash at least tell a wording."""


@dataclass(frozen=True)
class Wording:
    """One shipped wording.

    Attributes:
        hashes: Templates that are asked together, by `joined`, -> the hash of their texts.
        folder: Where its templates stand.
    """

    version: int
    date: datetime.date | None
    hashes: Mapping[str, str]
    folder: Path

    def hash(self, templates: Sequence[str]) -> str:
        """The hash of these templates: as listed, or of their texts."""
        return self.hashes.get(joined(templates)) or Prompts(self.folder).hash(*templates)


def joined(templates: Sequence[str]) -> str:
    """The name of a set of templates in the list of versions."""
    return " ".join(sorted(templates))


def wordings(kind: Kind[Any]) -> tuple[Wording, ...]:
    """All shipped wordings, the newest last; an exam without a list has one."""
    return _listed(kind.prompts)


@lru_cache(maxsize=64)
def _listed(folder: Path) -> tuple[Wording, ...]:
    path = folder / LIST
    if not path.exists():
        return (Wording(1, None, {}, folder),)
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["version"]
        *older, newest = [
            Wording(row["number"], row["date"], row["hashes"], folder / f"v{row['number']}") for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(f"no list of wordings: {type(error).__name__}: {error}", file=path) from error
    found = (*older, replace(newest, folder=folder))
    if [one.version for one in found] != list(range(1, len(found) + 1)):
        raise DataError("versions must be numbered 1, 2, 3 …", file=path)
    return found


def choose(kind: Kind[Any], word: str, templates: Sequence[str]) -> Wording:
    """The shipped wording of these templates that a word stands for: its version, or the first letters of its hash.

    Raises:
        UsageError: There is none; says which there are.
    """
    found = wordings(kind)
    for wording in found:
        if word == str(wording.version):
            return wording
    for wording in reversed(found):
        if len(word) >= SHORTEST and wording.hash(templates).startswith(word.lower()):
            return wording
    there = ", ".join(f"{one.version} ({one.hash(templates)})" for one in found)
    raise UsageError(f"{kind.name} has no wording {word!r}; there is: {there}")


def versions(kind: Kind[Any], setup: Mapping[str, Any]) -> tuple[int, ...]:
    """The versions in which this wording was shipped, none where it is the user's own or a judge has no wording."""
    asked = setup.get("templates")
    if asked is None:
        return ()
    return tuple(one.version for one in wordings(kind) if asked in _hashes(kind, one, setup))


def _hashes(kind: Kind[Any], wording: Wording, setup: Mapping[str, Any]) -> set[str]:
    if wording.hashes:
        return set(wording.hashes.values())
    variant = Variant(str(setup.get("variant")), Prompts(wording.folder), setup.get("options") or {})
    try:
        return {wording.hash(kind.protocol.templates(variant))}
    except (UsageError, KeyError):
        return set()  # A variant that the exam no longer has.


def wording_name(kind: Kind[Any], setup: Mapping[str, Any]) -> str | None:
    """What the wording of a way of asking is called, the same for ever; None where it has none, as imported replies.

    ``1`` is the first version that was shipped so; ``own 3f2a`` a user's, by its hash; ``release 3f2a`` that of a clone
    of the release; ``labels-2`` the OCR examiner's rules.
    """
    if "rules" in setup:
        return str(setup["rules"])
    if "templates" not in setup:
        return None
    shipped = versions(kind, setup)
    return str(shipped[0]) if shipped else f"{setup.get('prompts', 'own')} {str(setup['templates'])[:SHORTEST]}"


def wording_names(kind: Kind[Any], setup: Mapping[str, Any]) -> tuple[str, ...]:
    """All that the wording of a way of asking can be called: its name, every version it was shipped in, ``release``."""
    names = [wording_name(kind, setup), *map(str, versions(kind, setup)), setup.get("prompts")]
    return tuple(dict.fromkeys(name for name in names if name))
