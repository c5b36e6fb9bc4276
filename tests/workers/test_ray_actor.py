"""Messages between driver and actor: frames, the same errors as on one machine, and no keys."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.workers import JobFailure, JobResult, Recipe, WorkerDeath, WorkerUnfit
from limner.workers.child import BadFrame
from limner.workers.ray_actor import (
    PACKAGE,
    ActorHost,
    differences,
    joined,
    packed_answer,
    packed_error,
    packed_recipe,
    parted,
    read_answer,
    this_limner,
)

CANARY = "sk-canary-0123456789abcdef"
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.none() | st.integers(0, 9), plain, st.lists(st.binary(max_size=20), max_size=3))
def test_results_round_trip_unchanged(place: int | None, value: Any, bodies: list[bytes]) -> None:
    answer, alive = read_answer(packed_answer((place, JobResult(value, tuple(bodies))), 60), 60)
    assert answer == (place, JobResult(value, tuple(bodies)))
    assert alive


@given(st.text(), st.text(alphabet="abc ", max_size=20))
def test_failures_round_trip_unchanged(kind: str, detail: str) -> None:
    answer, _ = read_answer(packed_answer((1, JobFailure(kind, detail)), 0), 0)
    assert answer is not None
    assert isinstance(answer[1], JobFailure)
    assert (answer[0], answer[1].kind, answer[1].detail) == (1, kind, detail)


@pytest.mark.parametrize(
    "error",
    [
        WorkerDeath("the worker died (exit code 3)", loading=True, code=3, heard="words"),
        WorkerDeath("no result within 1 s", late=True),
        WorkerUnfit("no weights", loading=True),
        BadFrame("too long"),
    ],
)
def test_errors_round_trip_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        read_answer(packed_error(error), 0)
    assert (str(caught.value), vars(caught.value)) == (str(error), vars(error))


@given(st.binary(max_size=200))
def test_invalid_frame_is_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        parted(data)
    with pytest.raises(BadFrame):
        parted(joined({"place": 1}, [b"abc"])[:-1])


def test_keys_of_driver_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    death = packed_error(WorkerDeath(f"said {CANARY}", heard=f"heard {CANARY}"))
    failure = packed_answer((0, JobFailure("error", f"401 for {CANARY}")), 0)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with pytest.raises(WorkerDeath) as caught:
        read_answer(death, 0)
    assert (str(caught.value), caught.value.heard) == ("said ***", "heard ***")
    answer, _ = read_answer(failure, 0)
    assert str(answer and answer[1]) == "401 for ***"


def test_actor_resolves_factories_in_its_own_package_folder() -> None:
    """A factory in Limner's package is loaded from the node's own copy, wherever that is installed."""
    host = ActorHost()
    recipe = Recipe("length", str(PACKAGE / "workers" / "child.py:load"), json.dumps({"factory": "builtins:len"}))
    setup, _ = parted(packed_recipe(recipe, {}))
    moved = {**setup["recipe"], "factory": "/elsewhere/limner/workers/child.py:load"}
    with pytest.raises(WorkerUnfit, match="FileNotFoundError"):
        read_answer(host.load(joined({**setup, "recipe": moved})), 0)
    assert read_answer(host.load(joined({**setup, "recipe": moved, "package": "/elsewhere/limner"})), 0) == (None, True)
    answers = [read_answer(frame, 0) for frame in host.ask(joined({"job": 1, "given": {}}, [b"abc"]), 60.0)]
    assert answers == [((0, JobResult(3)), True), (None, True)]
    host.unload()


def test_version_differences_of_node_are_listed() -> None:
    here = json.loads(this_limner())
    assert {"Python", "Limner's code", "Pillow", "numpy", "onnxruntime", "rapidocr"} <= here.keys()
    assert "pytest" not in here
    assert differences(this_limner(), this_limner()) == []
    there = {name: version for name, version in here.items() if name != "numpy"} | {"Pillow": "1.0"}
    assert differences(this_limner(), json.dumps(there)) == [f"Pillow 1.0, here {here['Pillow']}"]
