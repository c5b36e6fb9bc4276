"""The identity of a pipeline's weights: a commit of the hub, or a folder's fingerprint. It does not import torch."""

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
from ...core.redaction import redact

INDEX = "model_index.json"
IGNORED_SUFFIXES = frozenset({".md", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".log"})
"""Suffixes of files that no pipeline reads."""
THREADS = 4
MAX_HEADER_BYTES = 100 * 2**20
"""The most bytes in the header of a .safetensors file, as in the safetensors library."""
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


METADATA = "limner"
"""The key of the training record in weights that Limner has trained."""


@dataclass(frozen=True)
class Weights:
    """A model's weights: their location and their identity.

    Attributes:
        name: A name that does not depend on their location.
        source: A folder, a file, or a repository of the hub.
        revision: The repository's commit; None for local weights.
        identity: Their identity, which is part of every call's key.
        loras: Files of LoRA weights, their hashes and scales.
        code: The identity of a custom pipeline's code.
    """

    name: str
    source: str
    revision: str | None
    identity: dict[str, str]
    loras: tuple[tuple[str, str, float], ...] = ()
    code: str | None = None


def is_here(place: str) -> bool:
    """Return whether a place is a local folder or file, rather than a repository of the hub.

    Raises:
        UsageError: It is neither.
    """
    if Path(place).expanduser().exists():
        return True
    if REPOSITORY.fullmatch(place.partition("@")[0]) and not place.startswith("."):
        return False
    raise UsageError(f"{place}: no such folder or file; a repository of the hub is written OWNER/NAME")


def is_pipeline_here(place: str) -> bool:
    """Return whether a pipeline is in a local folder.

    Raises:
        UsageError: It is neither there nor a repository of the hub, or the folder has no pipeline.
    """
    here = is_here(place)
    if here and not (folder := Path(place).expanduser()).joinpath(INDEX).is_file():
        raise UsageError(f"{folder} has no {INDEX}: it is not a saved diffusers pipeline")
    return here


def find_pipeline(place: str, revision: str | None) -> Weights:
    """Return the weights behind a folder or repository; slow the first time."""
    is_pipeline_here(place)
    return find_weights(place, revision, INDEX)


def find_weights(place: str, revision: str | None = None, file: str | None = None) -> Weights:
    """Return the weights behind a folder, a file or a repository of the hub.

    Args:
        place: The path, or ``OWNER/NAME`` or ``OWNER/NAME@REVISION``.
        revision: The repository's revision, if `place` does not contain it.
        file: The file to fetch to find the repository's commit; None fetches the whole repository.
    """
    if is_here(place):
        path = Path(place).expanduser().resolve()
        identity = {"files": fingerprint(path)} if path.is_dir() else {"file": file_hash(path)}
        return Weights(path.name, str(path), None, identity)
    repository, _, own = place.partition("@")
    commit = _commit(repository, own or revision or "main", file)
    return Weights(repository, repository, commit, {"repository": repository, "commit": commit})


def local_path(weights: Weights) -> str:
    """Return the path of the weights on this machine; the hub's are downloaded first, since workers get no token."""
    return weights.source if weights.revision is None else str(_download(weights.source, weights.revision))


def load_t5_tokenizer(weights: Weights) -> Any:
    """Return the tokenizer of a pipeline's T5, as the pipeline loads it; None if it has no T5."""
    from huggingface_hub import hf_hub_download
    from transformers import AutoTokenizer  # type: ignore[import-not-found, import-untyped, unused-ignore]

    source, revision = weights.source, weights.revision
    try:
        path = hf_hub_download(source, INDEX, revision=revision) if revision else Path(source, INDEX)
        parts = json.loads(Path(path).read_text("utf-8"))
        for n in ("_3", "_2", ""):
            if "T5" in str(parts.get(f"text_encoder{n}")):
                return AutoTokenizer.from_pretrained(source, subfolder=f"tokenizer{n}", revision=revision)
    except Exception as error:  # The hub's client raises dozens of kinds of errors.
        raise UsageError(f"diffusers/{source}: its tokenizer cannot be loaded: {hub_error(error)}") from error
    return None


def training_metadata(file: Path) -> dict[str, Any]:
    """Return the record of training by Limner in a .safetensors file; empty if there is none."""
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            head = json.loads(opened.read(min(size, MAX_HEADER_BYTES)))
        metadata = json.loads(head["__metadata__"][METADATA])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


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
        except Exception as error:  # The hub's client raises dozens of kinds of errors.
            raise UsageError(f"lora={place}: no such file or folder, and not on the hub: {hub_error(error)}") from error
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if len(files) != 1:
            raise UsageError(f"lora={place}: the folder has {len(files)} .safetensors files; name one of them")
        path = files[0]
    if not path.is_file():
        raise UsageError(f"lora={place}: no such file")
    return path.resolve(), file_hash(path)


def code_identity(place: str) -> str:
    """Return an identity of a custom pipeline's code: the hash of a local file or folder, or its name."""
    path = Path(place).expanduser()
    if path.is_file():
        return _hash(path)
    return fingerprint(path) if path.is_dir() else place


def download_if_private(weights: Weights, variant: str | None) -> Weights:
    """Download weights to the hub's cache if a token may be needed, since workers get none."""
    if weights.revision is None or not any(os.environ.get(name) for name in TOKENS):
        return weights
    diffusers: Any = import_module("diffusers")
    try:
        folder = diffusers.DiffusionPipeline.download(weights.source, revision=weights.revision, variant=variant)
    except Exception as error:
        raise _unreachable(weights.source, weights.revision, error) from error
    return replace(weights, source=str(folder), revision=None)


def file_hash(file: Path) -> str:
    """Return a file's sha256, cached like those of `fingerprint`."""
    stamp, hashes = _stamp(file), _load_hashes()
    if stamp not in hashes:
        hashes[stamp] = _hash(file)
        _save_hashes(hashes)
    return hashes[stamp]


def fingerprint(folder: Path) -> str:
    """Return one hash of the contents of all files that a pipeline may read.

    A file is read again only if its size or time has changed since its hash was stored on this machine.
    """
    files = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix.lower() not in IGNORED_SUFFIXES and not _hidden(file.relative_to(folder))
    }
    remembered = _load_hashes()
    stamps = {name: _stamp(file) for name, file in files.items()}
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = pool.map(lambda name: remembered.get(stamps[name]) or _hash(files[name]), files)
        contents = dict(zip(files, hashes, strict=True))
    fresh = {stamps[name]: sha256 for name, sha256 in contents.items() if stamps[name] not in remembered}
    if fresh:
        _save_hashes(remembered | fresh)
    return digest("diffusers-folder-1", contents)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(file: Path) -> str:
    real = file.resolve()
    about = real.stat()
    return f"{real}|{about.st_size}|{about.st_mtime_ns}"


def _hash_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "limner" / "weights.json"


def _load_hashes() -> dict[str, str]:
    try:
        hashes = json.loads(_hash_cache().read_text("utf-8"))
        return {str(stamp): str(sha256) for stamp, sha256 in hashes.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _save_hashes(hashes: dict[str, str]) -> None:
    path = _hash_cache()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(hashes, file)
        os.replace(temporary, path)


def _commit(repository: str, revision: str, file: str | None) -> str:
    """Return the commit of a revision: the cached one, so that a moved branch does not split a run."""
    if re.fullmatch(r"[0-9a-f]{40}", revision):
        return revision
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, revision=revision, local_files_only=True)).name
    except LocalEntryNotFoundError:
        return _download(repository, revision, file).name


def _download(repository: str, revision: str, file: str | None = None) -> Path:
    """Download a repository, or one of its files, and return the snapshot's folder."""
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        if file is not None:
            return Path(hf_hub_download(repository, file, revision=revision)).parent
        return Path(snapshot_download(repository, revision=revision))
    except Exception as error:  # The hub's client raises dozens of kinds of errors.
        raise _unreachable(repository, revision, error) from error


def _unreachable(repository: str, revision: str, error: Exception) -> UsageError:
    return UsageError(f"{repository} at {revision}: {hub_error(error)}")


def hub_error(error: Exception) -> str:
    """Return an error of the hub's client in one line, without keys."""
    return f"{type(error).__name__}: {redact(' '.join(str(error).split()))[:300]}"
