"""The painter ``worker/MODULE:FACTORY``: a model of the user's own, opened by a function in a worker process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...calls import canonical
from ...core.errors import UsageError
from ...core.settings import PainterFacts
from ...store import Blobs
from ...workers import Pool
from ..base import PaintRequest, refuse_pictures
from ..batched.jobs import open_workers
from ..batched.painter import BatchPainter
from ..diffusers import options as readers
from ..diffusers.weights import REPOSITORY, Weights, file_hash, fingerprint, what_hub_said
from ..python import MOST_PICTURES, working_folder
from . import server
from .server import ModelSetup, SizeSettings

EXECUTION = ("batch_size", "devices", "timeout_s", "env")
SIZES = ("size", "width", "height")
OWN = (*EXECUTION, *SIZES, "weights", "edits")
"""Options that Limner reads; all others are the factory's."""


class WorkerPainter(BatchPainter[tuple[Weights, ...]]):
    """Draws with what a factory ``(device, **options)`` returns: a function from a batch to its images.

    What identifies a drawing is the source of the factory's module, the weights named, and the options.
    """

    changeable = True  # A changed source or folder draws anew; the journal answers for unchanged ones.

    def __init__(
        self,
        name: str,
        spec: str,
        blobs: Blobs,
        given: Mapping[str, Any],
        facts: PainterFacts | None = None,
        pool: Callable[..., Pool] = Pool,
    ) -> None:
        self._factory, self._source = find_factory(spec)
        own = {key: value for key, value in given.items() if readers.ALIASES.get(key, key) in (*EXECUTION, *SIZES)}
        super().__init__(name, spec, blobs, readers.parse(own, spec), facts, pool)
        self._passed = {key: value for key, value in given.items() if key not in (*own, *OWN)}
        self._places = _places(given.get("weights", []), spec)
        self.edits = _flag(given.get("edits", False), spec)
        self.options = {**self._passed, **self._chosen.drawing} | ({"weights": self._places} if self._places else {})
        try:
            canonical(self.options)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{spec}: an option cannot be written as JSON: {error}") from error

    def _find(self) -> tuple[Weights, ...]:
        return tuple(find(place) for place in self._places)

    def _model(self, found: tuple[Weights, ...]) -> str:
        return self.spec

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request, MOST_PICTURES)
        return SizeSettings(*self._chosen.size(request.aspect, self._facts.sizes))

    def _body(self, request: PaintRequest, how: Any, found: tuple[Weights, ...]) -> dict[str, Any]:
        body = {"prompt": request.prompt, "seed": request.seed, "source": self._source, "options": self._passed}
        body |= {"weights": [each.identity for each in found]} | asdict(how)
        return body | ({"images": list(request.images)} if request.images else {})

    def _open_pool(self, found: tuple[Weights, ...]) -> Pool:
        here = tuple(fetched(each) for each in found)
        load = ModelSetup(self._factory, str(Path.cwd()), here, self._passed)
        return open_workers("worker", server.FACTORY, load, self._chosen, self._make_pool)


def find_factory(spec: str) -> tuple[str, str]:
    """``module:function`` and the sha256 of the module's source; the module is not imported here.

    Raises:
        UsageError: There is no such module.
    """
    factory = spec.removeprefix("worker/")
    module, colon, function = factory.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is not a factory: write worker/module:function")
    try:
        with working_folder():
            found = find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise UsageError(f"{spec}: no module {module!r}, neither in the working folder nor installed")
    return factory, hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def _places(given: Any, spec: str) -> list[str]:
    words = given if isinstance(given, list) else str(given).split(",")
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise UsageError(f"{spec}: weights={given} makes no sense; it is folders, files or OWNER/NAME, with commas")
    places = [word.strip() for word in words]
    for place in places:
        is_here(place)
    return places


def _flag(given: Any, spec: str) -> bool:
    if not isinstance(given, bool):
        raise UsageError(f"{spec}: edits={given} makes no sense; it is true or false")
    return given


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


def find(place: str) -> Weights:
    """Return the weights behind a folder, a file, or ``OWNER/NAME`` or ``OWNER/NAME@REVISION`` of the hub."""
    if is_here(place):
        path = Path(place).expanduser().resolve()
        identity = {"files": fingerprint(path)} if path.is_dir() else {"file": file_hash(path)}
        return Weights(path.name, str(path), None, identity)
    repository, _, revision = place.partition("@")
    commit = _commit(repository, revision or "main")
    return Weights(repository, repository, commit, {"repository": repository, "commit": commit})


def fetched(found: Weights) -> str:
    """Where the weights lie on this machine; those of the hub are fetched here, for workers get no token."""
    return found.source if found.revision is None else _snapshot(found.source, found.revision)


def _commit(repository: str, revision: str) -> str:
    """Return the commit a revision stands for: the one in the cache, so that a run is not split by a moved branch."""
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
