"""The painter ``python/module:function``: the user's own function, in the working folder or installed.

The source of the function's module is part of a drawing's identity: when it changes, everything is drawn again.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ..calls import Attempt, Calls, Fault, Request, Result, canonical
from ..core.errors import UsageError
from ..core.faults import picture_faults
from ..core.images import MAX_BYTES, BadImage, check_whole, decode, encode_png, flatten
from .base import (
    MAX_PICTURES,
    FreePainter,
    ImageKeeper,
    PainterInputs,
    PainterKind,
    Painting,
    PaintRequest,
    call_for_image,
    refuse_pictures,
)

PASSED_NAMES = frozenset({"seed", "aspect", "question", "images"})
_source_hashes: dict[str, str] = {}
"""The source hash of each module when it was last loaded."""


class PythonPainter(FreePainter):
    """A function ``(prompt, **options)`` that returns the bytes of an image, a PIL image, or a path to one.

    ``seed``, ``aspect``, ``question`` (its id) and ``images`` (PIL images to start from) are passed if the function has
    parameters of these names. A plain function runs in a thread, one call at a time; an async one runs as often
    concurrently as the run allows. Either may raise `limner.calls.Fault`.
    """

    changeable = True  # It draws again after a change of the source; otherwise the journal has the result.

    def __init__(self, given: PainterInputs) -> None:
        self.name, self.spec, self.options, self._blobs = given.name, given.spec, dict(given.options), given.blobs
        self._function, self._source = load_function(self.spec)
        self._named = accepted_names(self.spec, self._function, PASSED_NAMES, self.options)
        self.most_pictures = MAX_PICTURES if "images" in self._named - self.options.keys() else 0
        self._plain = not inspect.iscoroutinefunction(self._function)
        self._turn, self._thread = asyncio.Lock(), ThreadPoolExecutor(1, thread_name_prefix=self.spec)

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request)
        given = {"seed": request.seed, "aspect": request.aspect, "question": request.question, "images": ()}
        passed = {name: given[name] for name in self._named} | dict(self.options)
        body = {"prompt": request.prompt, "seed": request.seed, "aspect": request.aspect, "options": self.options}
        body |= {"source": self._source} | ({"question": request.question} if "question" in self._named else {})
        body |= {"images": list(request.pictures)} if request.pictures else {}

        keeper = ImageKeeper(self._blobs)

        async def perform(_attempt: Attempt) -> Result:
            image = await self._call(request.prompt, passed | await asyncio.to_thread(self._pictures, request))
            return Result({"image": await asyncio.to_thread(self._keep, image, keeper)})

        # Wait for the thread before the call, so that the wait does not count towards the call's seconds.
        async with self._turn if self._plain else nullcontext():
            make = partial(calls.do, Request("paint", self.spec, body), perform)
            outcome, kept = await call_for_image(make, calls, keeper)
        return Painting(kept.data, request.prompt, (outcome.key,), outcome.cost, {"body": body}, kept)

    def _pictures(self, request: PaintRequest) -> dict[str, Any]:
        if not self.most_pictures:
            return {}
        with picture_faults("a picture to start from"):
            return {"images": [decode(self._blobs.get(sha256)) for sha256 in request.pictures]}

    async def _call(self, prompt: str, passed: Mapping[str, Any]) -> Any:
        def run() -> Any:
            with self._blame():
                return self._function(prompt, **passed)

        returned = run() if not self._plain else await asyncio.get_running_loop().run_in_executor(self._thread, run)
        with self._blame():
            return await returned if inspect.isawaitable(returned) else returned

    def _keep(self, returned: Any, keeper: ImageKeeper) -> str:
        with self._blame():
            data = _bytes(returned)
            info = check_whole(data)
        return keeper.put(data, info)

    @contextmanager
    def _blame(self) -> Iterator[None]:
        """Turn any error inside into the function's fault."""
        try:
            yield
        except Fault:
            raise
        except BadImage as error:
            raise Fault("image", f"{self.spec} did not return an image: {error}") from error
        except (Exception, SystemExit) as error:
            raise Fault("local", f"{self.spec}: {type(error).__name__}: {error}".rstrip(": ")) from error


def _bytes(returned: Any) -> bytes:
    from PIL.Image import Image

    if isinstance(returned, bytes | bytearray | memoryview):
        return bytes(returned)
    if isinstance(returned, Image):
        return encode_png(flatten(returned))
    if not isinstance(returned, str | Path):
        raise TypeError(f"it returned {type(returned).__name__}; expected bytes, a PIL image or a path")
    if (size := Path(returned).stat().st_size) > MAX_BYTES:
        raise BadImage(f"{returned} has {size:,} bytes; at most {MAX_BYTES:,} are allowed")
    return Path(returned).read_bytes()


def load_function(spec: str) -> tuple[Callable[..., Any], str]:
    """Return the function, and the sha256 of its module's source file.

    Raises:
        UsageError: The module or function does not exist, or it cannot be called.
    """
    module, colon, function = spec.removeprefix("python/").partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is not a function: write python/module:function")
    loaded, source = _load(spec, module)
    if not hasattr(loaded, function):
        raise UsageError(f"{spec}: no function {function!r} in {getattr(loaded, '__file__', None) or module}")
    painter = getattr(loaded, function)
    if not callable(painter):
        raise UsageError(f"{spec}: {function!r} is {type(painter).__name__}, which cannot be called")
    return painter, source


def accepted_names(
    spec: str, function: Callable[..., Any], given: frozenset[str], options: Mapping[str, Any]
) -> frozenset[str]:
    """Return the given names for which the function has a parameter, not counting the prompt.

    Raises:
        UsageError: It cannot be called with these and the options, or an option cannot be written as JSON.
    """
    try:
        signature = inspect.signature(function)
        _, *rest = signature.parameters.values()
        names = {each.name for each in rest if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
        signature.bind("", **(dict.fromkeys(given & names) | dict(options)))
        canonical(options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{spec} cannot be called with a prompt and the options given: {error}") from error
    return given & names


def _load(spec: str, name: str) -> tuple[ModuleType, str]:
    try:
        with working_folder():
            module = importlib.import_module(name)
            source = _hash(module)
            if _source_hashes.setdefault(name, source) != source:
                # It has changed since this process loaded it, and images are stored under the hash of the source.
                module, _source_hashes[name] = importlib.reload(module), source
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"{spec}: no module {name!r}, neither in the working folder nor installed") from error
        raise UsageError(f"{spec}: {name} cannot be imported: {type(error).__name__}: {error}") from error
    return module, source


def _hash(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()


@contextmanager
def working_folder() -> Iterator[None]:
    """Import modules from the working folder before all others."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(here)


def _takes(rest: str) -> list[str]:
    return list(inspect.signature(load_function(f"python/{rest}")[0]).parameters)


PYTHON = PainterKind("python/MODULE:FUNCTION", "calling your own function", PythonPainter, takes=_takes)
