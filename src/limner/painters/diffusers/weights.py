"""Which weights a pipeline has: a commit of the hub, or a fingerprint of a folder. Torch is not needed for this."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ...calls import digest
from ...core.errors import UsageError
from ...core.redaction import redacted

INDEX = "model_index.json"
IDLE = frozenset({".md", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".log"})
"""Files of a folder that no pipeline reads."""
THREADS = 4
MOST_HEAD = 100 * 2**20
"""Bytes of a .safetensors file's head, at most; its own library allows as many."""
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


METADATA = "limner"
"""Under this name a file of weights that Limner has trained says how."""


@dataclass(frozen=True)
class Weights:
    """Where a pipeline is, and what tells its weights from all others.

    Attributes:
        name: What it is called, wherever it lies.
        identity: Goes into every call's key.
        loras: Files of LoRA weights, their hashes and scales.
        code: What tells a custom pipeline's code from all other.
    """

    name: str
    source: str
    revision: str | None
    identity: dict[str, str]
    loras: tuple[tuple[str, str, float], ...] = ()
    code: str | None = None


def folder_of(place: str) -> Path | None:
    """Return the folder a pipeline lies in; None when it is a repository of the hub.

    Raises:
        UsageError: It is neither.
    """
    folder = Path(place).expanduser()
    if folder.is_dir():
        if not (folder / INDEX).is_file():
            raise UsageError(f"{folder} has no {INDEX}: no diffusers pipeline was saved there")
        return folder
    if REPOSITORY.fullmatch(place) and not place.startswith("."):
        return None
    raise UsageError(f"diffusers/{place}: there is no such folder, and repositories are written OWNER/NAME")


def find(place: str, revision: str | None) -> Weights:
    """Return the weights behind a folder or repository; takes a while the first time."""
    folder = folder_of(place)
    if folder is not None:
        folder = folder.resolve()
        return Weights(folder.name, str(folder), None, {"files": fingerprint(folder)})
    commit = _commit(place, revision or "main")
    return Weights(place, place, commit, {"repository": place, "commit": commit})


def trained_on(file: Path) -> dict[str, Any]:
    """Return what a .safetensors file says of its training by Limner; nothing where it says nothing."""
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            head = json.loads(opened.read(min(size, MOST_HEAD)))
        found = json.loads(head["__metadata__"][METADATA])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def find_lora(place: str) -> tuple[Path, str]:
    """Return the file of a LoRA's weights and its hash: a file, a folder with one, or one of the hub, which is fetched.

    Raises:
        UsageError: There is none, or more than one.
    """
    path = Path(place).expanduser()
    if not path.exists() and (named := re.fullmatch(r"([\w.-]+/[\w.-]+)(?:/(.+\.safetensors))?", place)):
        from huggingface_hub import hf_hub_download, snapshot_download

        try:
            path = Path(
                hf_hub_download(named[1], named[2])
                if named[2]
                else snapshot_download(named[1], allow_patterns=["*.safetensors"])
            )
        except Exception as error:  # The hub's client has dozens of kinds.
            raise UsageError(f"lora={place}: there is no such file or folder; {what_hub_said(error)}") from error
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if len(files) != 1:
            raise UsageError(f"lora={place}: {len(files)} .safetensors files are there; name the one that is meant")
        path = files[0]
    if not path.is_file():
        raise UsageError(f"lora={place}: there is no such file")
    return path.resolve(), file_hash(path)


def code_identity(place: str) -> str:
    """What tells a custom pipeline's code from all other: a hash of a file or folder of one's own, or its name."""
    path = Path(place).expanduser()
    if path.is_file():
        return _hash(path)
    return fingerprint(path) if path.is_dir() else place


def in_cache(found: Weights, variant: str | None) -> Weights:
    """Return the same weights, in the hub's cache where a token may be needed to get them there: workers get none."""
    if found.revision is None or not any(os.environ.get(name) for name in TOKENS):
        return found
    diffusers: Any = import_module("diffusers")
    try:
        folder = diffusers.DiffusionPipeline.download(found.source, revision=found.revision, variant=variant)
    except Exception as error:
        raise _unreachable(found.source, found.revision, error) from error
    return replace(found, source=str(folder), revision=None)


def file_hash(file: Path) -> str:
    """Return a file's sha256, remembered like those of `fingerprint`."""
    stamp, known = _stamp(file), _remembered()
    if stamp not in known:
        known[stamp] = _hash(file)
        _remember(known)
    return known[stamp]


def fingerprint(folder: Path) -> str:
    """One hash over the contents of all files that a pipeline may read.

    A file is read anew only when its size or time has changed since it was last looked at on this machine.
    """
    files = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix.lower() not in IDLE and not _hidden(file.relative_to(folder))
    }
    known = _remembered()
    stamps = {name: _stamp(file) for name, file in files.items()}
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = pool.map(lambda name: known.get(stamps[name]) or _hash(files[name]), files)
        found = dict(zip(files, hashes, strict=True))
    fresh = {stamps[name]: sha256 for name, sha256 in found.items() if stamps[name] not in known}
    if fresh:
        _remember(known | fresh)
    return digest("diffusers-folder-1", found)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(file: Path) -> str:
    real = file.resolve()
    about = real.stat()
    return f"{real}|{about.st_size}|{about.st_mtime_ns}"


def _memory() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "limner" / "weights.json"


def _remembered() -> dict[str, str]:
    try:
        found = json.loads(_memory().read_text("utf-8"))
        return {str(stamp): str(sha256) for stamp, sha256 in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _remember(found: dict[str, str]) -> None:
    path = _memory()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(temporary, path)


def _commit(repository: str, revision: str) -> str:
    """Return the commit a revision stands for: the one in the cache, so that a run is not split by a moved branch."""
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(repository, INDEX, revision=revision)
        path = cached if isinstance(cached, str) else hf_hub_download(repository, INDEX, revision=revision)
    except Exception as error:  # The hub's client has dozens of kinds.
        raise _unreachable(repository, revision, error) from error
    return Path(path).parent.name


def _unreachable(repository: str, revision: str, error: Exception) -> UsageError:
    return UsageError(f"diffusers/{repository} at {revision}: {what_hub_said(error)}")


def what_hub_said(error: Exception) -> str:
    """Return an exception of the hub's client in a line, without keys."""
    return f"{type(error).__name__}: {redacted(' '.join(str(error).split()))[:300]}"
