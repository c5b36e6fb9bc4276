"""A painter of the user's own: what the function is given, what it may return, when it is called again."""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from PIL import Image

from limner.calls import Calls, Fault, Limits
from limner.core.errors import UsageError
from limner.painters import Painting, PaintRequest
from limner.painters.python import PythonPainter
from limner.store import Store
from limner.store.schema import calls as calls_table
from tests.painters.inputs import inputs

HEAD = """
import asyncio, io, threading
from PIL import Image

seen = []

def png(shade, size=(8, 8)):
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()
"""
_numbers = itertools.count()
Open = Callable[..., PythonPainter]


def png(shade: int, size: tuple[int, int] = (8, 8)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that is found in the working folder only."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    name = f"own_painter_{os.getpid()}_{next(_numbers)}"
    yield folder / f"{name}.py"
    sys.modules.pop(name, None)


@pytest.fixture
def open_own(module: Path, store: Store) -> Open:
    """Writes the module and opens the painter behind one of its functions."""

    def opened(source: str, function: str = "draw", **options: Any) -> PythonPainter:
        module.write_text(HEAD + textwrap.dedent(source), "utf-8")
        return PythonPainter(inputs("mine", f"python/{module.stem}:{function}", store.blobs, options))

    return opened


def paint(painter: PythonPainter, store: Store, *requests: PaintRequest, **more: Any) -> list[Painting]:
    async def run() -> list[Painting]:
        async with Calls(store, **more) as calls:
            return await asyncio.gather(*(painter.paint(request, calls) for request in requests))

    return asyncio.run(run())


def ask(seed: int = 0, prompt: str = "a cell", question: str = "q1", **more: Any) -> PaintRequest:
    return PaintRequest(question, prompt, seed, **more)


def fail(painter: PythonPainter, store: Store, **more: Any) -> Fault:
    with pytest.raises(Fault) as raised:
        paint(painter, store, ask(), **more)
    return raised.value


def seen(module: Path) -> list[Any]:
    found: list[Any] = sys.modules[module.stem].seen
    return found


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    "found",
    ["png(7)", "Image.open(io.BytesIO(png(7)))", "'drawn.png'"],
)
def test_function_kinds_and_image_types_are_supported(open_own: Open, store: Store, kind: str, found: str) -> None:
    Path("drawn.png").write_bytes(png(7))
    painter = open_own(f"{kind} draw(prompt):\n    seen.append(prompt)\n    return {found}")
    (painting,) = paint(painter, store, ask(prompt="a leaf"))
    assert painting.image == png(7)
    assert (painting.prompt_sent, painting.cost, painter.name) == ("a leaf", 0.0, "mine")
    assert painter.unpriced() is None


def test_callable_object_and_coroutine_function_are_supported(open_own: Open, store: Store) -> None:
    source = """
    class Painter:
        async def __call__(self, prompt):
            await asyncio.sleep(0)
            return png(8)
    draw = Painter()

    async def inner():
        return png(9)
    def outer(prompt):
        return inner()
    """
    assert paint(open_own(source), store, ask())[0].image == png(8)
    assert paint(open_own(source, "outer"), store, ask())[0].image == png(9)


def test_pictures_in_other_modes_become_png(open_own: Open, store: Store) -> None:
    painter = open_own("def draw(prompt):\n    return Image.new('CMYK', (4, 4))")
    with Image.open(io.BytesIO(paint(painter, store, ask())[0].image)) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (4, 4))


def test_function_gets_the_parameters_it_names(open_own: Open, store: Store, module: Path) -> None:
    source = """
    def all(prompt, question, *, seed, aspect, steps=1):
        seen.append((prompt, question, seed, aspect, steps))
        return png(1)
    def some(prompt, seed=5):
        seen.append((prompt, seed))
        return png(2)
    def rest(prompt, **options):
        seen.append((prompt, options))
        return png(3)
    """
    request = ask(4, "a map", "geo/1", aspect="portrait")
    paint(open_own(source, "all", steps=30), store, request)
    paint(open_own(source, "some"), store, request)
    paint(open_own(source, "rest", style="ink", steps=2), store, request)
    assert seen(module) == [
        ("a map", "geo/1", 4, "portrait", 30),
        ("a map", 4),
        ("a map", {"style": "ink", "steps": 2}),
    ]


def test_option_overrides_request_value(open_own: Open, store: Store, module: Path) -> None:
    painter = open_own("def draw(prompt, seed):\n    seen.append(seed)\n    return png(1)", seed=99)
    paint(painter, store, ask(4))
    assert seen(module) == [99]


def test_journal_holds_everything_that_affects_image(open_own: Open, store: Store, module: Path) -> None:
    painter = open_own("def draw(prompt, question, steps):\n    return png(1)", steps=3)
    (painting,) = paint(painter, store, ask(2, "a map", "geo/1", aspect="landscape"))
    with store.reading() as connection:
        (call,) = connection.execute(sa.select(calls_table))
    body = {
        "prompt": "a map",
        "seed": 2,
        "aspect": "landscape",
        "options": {"steps": 3},
        "question": "geo/1",
        "source": hashlib.sha256(module.read_bytes()).hexdigest(),
    }
    assert (call.kind, call.target, call.request["body"]) == ("paint", f"python/{module.stem}:draw", body)
    assert painting.calls == (call.key,)
    assert painting.notes["body"] == body


COUNTING = "def draw(prompt, seed):\n    seen.append(seed)\n    return png(10 * seed)"


def test_stored_drawing_is_not_drawn_again(open_own: Open, store: Store, module: Path) -> None:
    painter = open_own(COUNTING)
    first = paint(painter, store, ask(1), ask(2), ask(1))
    assert [p.image for p in first] == [png(10), png(20), png(10)]
    assert [p.image for p in paint(open_own(COUNTING), store, ask(2), ask(1))] == [png(20), png(10)]
    assert sorted(seen(module)) == [1, 2]


def test_changed_function_draws_again(open_own: Open, store: Store, module: Path) -> None:
    assert paint(open_own(COUNTING), store, ask(1))[0].image == png(10)
    changed = COUNTING.replace("10 * seed", "10 * seed + 111")
    assert paint(open_own(changed), store, ask(1))[0].image == png(121)
    # Back at the first version, its drawing is still there.
    again = open_own(COUNTING)
    assert paint(again, store, ask(1))[0].image == png(10)
    assert seen(module) == []


SLOW = """
import time
busy = []
def draw(prompt, seed, seconds):
    busy.append(seed)
    seen.append(len(busy))
    time.sleep(seconds)
    busy.remove(seed)
    return png(seed)
"""


def test_plain_functions_run_in_one_thread_sequentially(open_own: Open, store: Store, module: Path) -> None:
    source = SLOW.replace("seen.append(len(busy))", "seen.append((len(busy), threading.get_ident()))")
    paintings = paint(open_own(source, seconds=0.02), store, *(ask(seed) for seed in range(5)))
    assert [p.image for p in paintings] == [png(seed) for seed in range(5)]
    assert {count for count, _ in seen(module)} == {1}
    assert {thread for _, thread in seen(module)} != {threading.get_ident()}


@pytest.mark.slow
def test_waiting_for_thread_does_not_count_towards_timeout(open_own: Open, store: Store) -> None:
    requests = [ask(seed) for seed in range(8)]
    assert (
        len(paint(open_own(SLOW, seconds=0.1), store, *requests, tries=1, limits={"python": Limits(attempt_s=0.5)}))
        == 8
    )


def test_timed_out_call_does_not_overlap_next_call(
    open_own: Open, store: Store, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _: 0.0)
    fault = fail(open_own(SLOW, seconds=0.3), store, tries=3, limits={"python": Limits(attempt_s=0.05)})
    assert fault.kind == "timeout"
    assert set(seen(module)) == {1}


def test_async_functions_run_concurrently(open_own: Open, store: Store) -> None:
    source = """
    gate = []
    async def draw(prompt, seed):
        gate.append(seed)
        while len(gate) < 5:
            await asyncio.sleep(0.001)
        return png(seed)
    """
    assert len(paint(open_own(source), store, *(ask(seed) for seed in range(5)))) == 5


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("line", "fault", "words"),
    [
        ("raise ValueError('no such colour')", "local", "ValueError: no such colour"),
        ("raise SystemExit(3)", "local", "SystemExit: 3"),
        ("return None", "local", "it returned NoneType; expected bytes, a PIL image or a path"),
        ("return b'no image'", "image", "did not return an image: not an image"),
        ("return png(1, (64, 64))[:-30]", "image", "did not return an image: cannot be decoded"),
    ],
)
def test_failing_function_is_a_fault_and_not_an_outcome(
    open_own: Open, store: Store, module: Path, kind: str, line: str, fault: str, words: str
) -> None:
    painter = open_own(f"{kind} draw(prompt):\n    seen.append(1)\n    {line}")
    raised = fail(painter, store)
    assert raised.kind == fault
    assert f"python/{module.stem}:draw" in raised.detail
    assert words in raised.detail
    # The next run calls it again after an exception; with the same broken image only when asked for.
    assert fail(painter, store).kind == fault
    calls = 2 if fault == "local" else 1
    assert len(seen(module)) == calls
    fail(painter, store, retry_failed=True)
    assert len(seen(module)) == calls + 1


def test_function_can_raise_its_own_fault(open_own: Open, store: Store, module: Path) -> None:
    source = """
    from limner.calls import Fault
    def draw(prompt):
        seen.append(1)
        if len(seen) < 2:
            raise Fault("rate_limit", "slowly", retry_after=0.01)
        raise Fault("refusal", "not this")
    """
    fault = fail(open_own(source), store)
    assert (fault.kind, fault.detail, len(seen(module))) == ("refusal", "not this", 2)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("python/draw", "is not a function: write python/module:function"),
        ("python/../x:draw", "is not a function"),
        ("python/there_is_no_such_module:draw", "no module 'there_is_no_such_module'"),
    ],
)
def test_invalid_specs_are_usage_errors(store: Store, spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PythonPainter(inputs("mine", spec, store.blobs, {}))


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("", {}, r"no function 'draw' in .*own_painter_.*\.py"),
        ("draw = 3", {}, "'draw' is int, which cannot be called"),
        ("def draw(:", {}, "cannot be imported: SyntaxError"),
        ("def draw():\n    pass", {}, "cannot be called with a prompt"),
        ("def draw(prompt, seed):\n    pass", {"steps": 3}, "unexpected keyword argument 'steps'"),
        ("def draw(prompt, **rest):\n    pass", {"model": object()}, "not JSON serializable"),
    ],
)
def test_invalid_modules_are_usage_errors(open_own: Open, source: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        open_own(source, **options)


def test_working_folder_is_on_path_during_import_only(open_own: Open, module: Path, store: Store) -> None:
    (module.parent / f"{module.stem}_helper.py").write_text("SHADE = 77\n", "utf-8")
    before = list(sys.path)
    painter = open_own(f"from {module.stem}_helper import SHADE\ndef draw(prompt):\n    return png(SHADE)")
    assert sys.path == before
    assert paint(painter, store, ask())[0].image == png(77)
    sys.modules.pop(f"{module.stem}_helper")


EDITS = """
def draw(prompt, images, seed=0):
    seen.append([(image.mode, image.size, image.getpixel((0, 0))) for image in images])
    return png(len(images))
"""


def test_function_with_images_parameter_gets_pictures(open_own: Open, store: Store, module: Path) -> None:
    first, second = (store.blobs.put(png(shade, size))[0] for shade, size in ((50, (8, 8)), (90, (6, 4))))
    painter = open_own(EDITS)
    assert painter.most_pictures
    requests = [ask(), ask(images=(first,)), ask(images=(second,), inputs=(first,))]
    paintings = [paint(painter, store, request)[0] for request in requests]
    assert [painting.image for painting in paintings] == [png(0), png(1), png(2)]
    one, other = ("RGB", (8, 8), (50, 0, 0)), ("RGB", (6, 4), (90, 0, 0))
    assert seen(module) == [[], [one], [other, one]]
    assert [painting.notes["body"].get("images") for painting in paintings] == [None, [first], [second, first]]
    # Every one of them is in the journal by its pictures' hashes.
    assert [paint(painter, store, request)[0].calls for request in requests] == [each.calls for each in paintings]
    assert len(seen(module)) == 3
