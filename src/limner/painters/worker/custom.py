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
from ..base import MAX_PICTURES, PaintRequest, refuse_pictures
from ..batched import BatchPainter, open_workers
from ..diffusers import options as readers
from ..diffusers.weights import REPOSITORY, Weights, file_hash, fingerprint, hub_error
from ..python import working_folder
from . import server
from .server import ModelSetup, SizeSettings

EXECUTION = ("batch_size", "devices", "timeout_s", "env")
SIZES = ("size", "width", "height")
OWN_OPTIONS = (*EXECUTION, *SIZES, "weights", "edits")
"""Options that Limner reads; all others go to the factory."""


class WorkerPainter(BatchPainter[tuple[Weights, ...]]):
    """A model opened by a factory ``(device, **options)``, which returns a function from a batch to its images.

    A drawing is identified by the source of the factory's module, the named weights and the options.
    """

    changeable = True  # It draws again after a change of source or folder; otherwise the journal has the result.

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
        self._passed = {key: value for key, value in given.items() if key not in (*own, *OWN_OPTIONS)}
        self._places = _places(given.get("weights", []), spec)
        self.most_pictures = MAX_PICTURES if _flag(given.get("edits", False), spec) else 0
        self.options = {**self._passed, **self._chosen.drawing} | ({"weights": self._places} if self._places else {})
        try:
            canonical(self.options)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{spec}: an option cannot be written as JSON: {error}") from error

    def _find(self) -> tuple[Weights, ...]:
        return tuple(find_weights(place) for place in self._places)

    def _model(self, weights: tuple[Weights, ...]) -> str:
        return self.spec

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request)
        return SizeSettings(*self._chosen.size(request.aspect, self._facts.sizes))

    def _body(self, request: PaintRequest, how: Any, weights: tuple[Weights, ...]) -> dict[str, Any]:
        body = {"prompt": request.prompt, "seed": request.seed, "source": self._source, "options": self._passed}
        body |= {"weights": [each.identity for each in weights]} | asdict(how)
        return body | ({"images": list(request.pictures)} if request.pictures else {})

    def _open_pool(self, weights: tuple[Weights, ...]) -> Pool:
        here = tuple(local_path(each) for each in weights)
        load = ModelSetup(self._factory, str(Path.cwd()), here, self._passed)
        return open_workers("worker", server.FACTORY, load, self._chosen, self._make_pool)


def find_factory(spec: str) -> tuple[str, str]:
    """Return ``module:function`` and the sha256 of the module's source, without importing the module.

    Raises:
        UsageError: The module does not exist.
    """
    factory = spec.removeprefix("worker/")
    module, colon, function = factory.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is not a factory: write worker/module:function")
    try:
        with working_folder():
            module_spec = find_spec(module)
    except (ImportError, ValueError):
        module_spec = None
    if module_spec is None or module_spec.origin is None or not Path(module_spec.origin).is_file():
        raise UsageError(f"{spec}: no module {module!r}, neither in the working folder nor installed")
    return factory, hashlib.sha256(Path(module_spec.origin).read_bytes()).hexdigest()


def _places(given: Any, spec: str) -> list[str]:
    words = given if isinstance(given, list) else str(given).split(",")
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise UsageError(f"{spec}: weights={given}: expected folders, files or OWNER/NAME, separated by commas")
    places = [word.strip() for word in words]
    for place in places:
        is_here(place)
    return places


def _flag(given: Any, spec: str) -> bool:
    if not isinstance(given, bool):
        raise UsageError(f"{spec}: edits={given}: expected true or false")
    return given


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


def find_weights(place: str) -> Weights:
    """Return the weights behind a folder, a file, or ``OWNER/NAME`` or ``OWNER/NAME@REVISION`` of the hub."""
    if is_here(place):
        path = Path(place).expanduser().resolve()
        identity = {"files": fingerprint(path)} if path.is_dir() else {"file": file_hash(path)}
        return Weights(path.name, str(path), None, identity)
    repository, _, revision = place.partition("@")
    commit = _commit(repository, revision or "main")
    return Weights(repository, repository, commit, {"repository": repository, "commit": commit})


def local_path(weights: Weights) -> str:
    """Return the path of the weights on this machine; the hub's are downloaded first, since workers get no token."""
    return weights.source if weights.revision is None else _snapshot(weights.source, weights.revision)


def _commit(repository: str, revision: str) -> str:
    """Return the commit of a revision: the cached one, so that a moved branch does not split a run."""
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
    except Exception as error:  # The hub's client raises dozens of kinds of errors.
        raise UsageError(f"{repository} at {revision}: {hub_error(error)}") from error
