"""Which weights a model has: commits of the hub, and fingerprints of folders and files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import UsageError
from ..diffusers.weights import REPOSITORY, file_hash, fingerprint, what_hub_said


@dataclass(frozen=True)
class ModelWeights:
    """Where weights are, and what tells them from all others.

    Attributes:
        source: A folder, a file, or a repository of the hub.
        revision: The repository's commit; None for what lies here.
        identity: Goes into every call's key.
    """

    name: str
    source: str
    revision: str | None
    identity: dict[str, str]


def is_here(place: str) -> bool:
    """Whether a place is a folder or file of this machine, rather than a repository of the hub.

    Raises:
        UsageError: It is neither.
    """
    if Path(place).expanduser().exists():
        return True
    if REPOSITORY.fullmatch(place.partition("@")[0]) and not place.startswith("."):
        return False
    raise UsageError(f"{place}: there is no such folder or file, and repositories are written OWNER/NAME")


def find(place: str) -> ModelWeights:
    """The weights behind a folder, a file, or ``OWNER/NAME`` or ``OWNER/NAME@REVISION`` of the hub."""
    if is_here(place):
        path = Path(place).expanduser().resolve()
        identity = {"files": fingerprint(path)} if path.is_dir() else {"file": file_hash(path)}
        return ModelWeights(path.name, str(path), None, identity)
    repository, _, revision = place.partition("@")
    commit = _commit(repository, revision or "main")
    return ModelWeights(repository, repository, commit, {"repository": repository, "commit": commit})


def fetched(found: ModelWeights) -> str:
    """Where the weights lie on this machine; those of the hub are fetched here, for workers get no token."""
    return found.source if found.revision is None else _snapshot(found.source, found.revision)


def _commit(repository: str, revision: str) -> str:
    """The commit a revision stands for: the one in the cache, so that a run is not split by a moved branch."""
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, revision=revision, local_files_only=True)).name
    except LocalEntryNotFoundError:
        return Path(_snapshot(repository, revision)).name


def _snapshot(repository: str, revision: str) -> str:
    from huggingface_hub import snapshot_download

    try:
        return str(snapshot_download(repository, revision=revision))
    except Exception as error:  # The hub's client has dozens of kinds.
        raise UsageError(f"{repository} at {revision}: {what_hub_said(error)}") from error
