"""A painter of the user's own: ``python/module:function``, found beside the working folder or installed.

What identifies a drawing is the source of the function's module: once it changes, everything is drawn anew.
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
from ..store import Blobs
from .base import (
    FreePainter,
    ImageKeeper,
    PainterInputs,
    PainterKind,
    Painting,
    PaintRequest,
    kept_image,
    refuse_pictures,
)

GIVEN = frozenset({"seed", "aspect", "question", "images"})
MOST_PICTURES = 16
_known: dict[str, str] = {}
"""The source hashes modules were last loaded at."""


class PythonPainter(FreePainter):
    """Calls a function ``(prompt, **options)`` that returns the bytes of an image, a PIL image, or a path to one.

    ``seed``, ``aspect``, ``question`` (its id) and ``images`` (PIL images to start from) are passed to a function that
    names them. A plain function runs in a thread, one call at a time; an async one as often at once as the run goes.
    Either may raise `limner.calls.Fault`.
    """

    changeable = True  # A changed source draws anew; the journal answers for an unchanged one.

    def __init__(self, name: str, spec: str, blobs: Blobs, options: Mapping[str, Any]) -> None:
        self.name, self.spec, self.options, self._blobs = name, spec, dict(options), blobs
        self._function, self._source = find(spec)
        self._named = accepted(spec, self._function, GIVEN, self.options)
        self.edits = "images" in self._named - self.options.keys()
        self._plain = not inspect.iscoroutinefunction(self._function)
        self._turn, self._thread = asyncio.Lock(), ThreadPoolExecutor(1, thread_name_prefix=spec)

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request, MOST_PICTURES)
        given = {"seed": request.seed, "aspect": request.aspect, "question": request.question, "images": ()}
        passed = {name: given[name] for name in self._named} | self.options
        body = {"prompt": request.prompt, "seed": request.seed, "aspect": request.aspect, "options": self.options}
        body |= {"source": self._source} | ({"question": request.question} if "question" in self._named else {})
        body |= {"images": list(request.images)} if request.images else {}

        keeper = ImageKeeper(self._blobs)

        async def perform(_attempt: Attempt) -> Result:
            found = await self._call(request.prompt, passed | await asyncio.to_thread(self._pictures, request))
            return Result({"image": await asyncio.to_thread(self._keep, found, keeper)})

        # The wait for the thread stands before the call, so that it is not counted among the seconds the call takes.
        async with self._turn if self._plain else nullcontext():
            make = partial(calls.do, Request("paint", self.spec, body), perform)
            outcome, kept = await kept_image(make, calls, keeper)
        return Painting(kept.data, request.prompt, (outcome.key,), outcome.cost, {"body": body}, kept)

    def _pictures(self, request: PaintRequest) -> dict[str, Any]:
        if not self.edits:
            return {}
        with picture_faults("a picture to start from"):
            return {"images": [decode(self._blobs.get(sha256)) for sha256 in request.images]}

    async def _call(self, prompt: str, passed: Mapping[str, Any]) -> Any:
        def run() -> Any:
            with self._blame():
                return self._function(prompt, **passed)

        found = run() if not self._plain else await asyncio.get_running_loop().run_in_executor(self._thread, run)
        with self._blame():
            return await found if inspect.isawaitable(found) else found

    def _keep(self, found: Any, keeper: ImageKeeper) -> str:
        with self._blame():
            data = _bytes(found)
            info = check_whole(data)
        return keeper.put(data, info)

    @contextmanager
    def _blame(self) -> Iterator[None]:
        """Whatever goes wrong inside is the function's doing."""
        try:
            yield
        except Fault:
            raise
        except BadImage as error:
            raise Fault("image", f"what {self.spec} returned is no image: {error}") from error
        except (Exception, SystemExit) as error:
            raise Fault("local", f"{self.spec}: {type(error).__name__}: {error}".rstrip(": ")) from error


def _bytes(found: Any) -> bytes:
    from PIL.Image import Image

    if isinstance(found, bytes | bytearray | memoryview):
        return bytes(found)
    if isinstance(found, Image):
        return encode_png(flatten(found))
    if not isinstance(found, str | Path):
        raise TypeError(f"it returned {type(found).__name__}; wanted are bytes, a PIL image or a path")
    if (size := Path(found).stat().st_size) > MAX_BYTES:
        raise BadImage(f"{found} has {size:,} bytes; at most {MAX_BYTES:,} are taken")
    return Path(found).read_bytes()


def find(spec: str) -> tuple[Callable[..., Any], str]:
    """Return the function, and the sha256 of its module's source file.

    Raises:
        UsageError: There is no such module or function, or it cannot be called.
    """
    module, colon, function = spec.removeprefix("python/").partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is not a function: write python/module:function")
    loaded, source = _load(spec, module)
    if not hasattr(loaded, function):
        raise UsageError(f"{spec}: no function {function!r} in {getattr(loaded, '__file__', None) or module}")
    found = getattr(loaded, function)
    if not callable(found):
        raise UsageError(f"{spec}: {function!r} is {type(found).__name__}, which cannot be called")
    return found, source


def accepted(
    spec: str, function: Callable[..., Any], given: frozenset[str], options: Mapping[str, Any]
) -> frozenset[str]:
    """Which of the given names the function has a parameter for, after its first one, the prompt.

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
            if _known.setdefault(name, source) != source:
                # Changed since this process loaded it: its images must be those of the source they are stored under.
                module, _known[name] = importlib.reload(module), source
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
    """Modules of the working folder are found, before all others."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(here)


def _takes(rest: str) -> list[str]:
    return list(inspect.signature(find(f"python/{rest}")[0]).parameters)


def _open(given: PainterInputs) -> PythonPainter:
    return PythonPainter(given.name, given.spec, given.blobs, given.options)


PYTHON = PainterKind("python/MODULE:FUNCTION", "calling a function of yours", _open, takes=_takes)
