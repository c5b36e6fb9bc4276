"""The environment of workers: only listed variables, never a key; and their output, without keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from limner.core.redaction import redact
from limner.core.settings import Provider
from limner.evidence.backends import RegionsProbe
from limner.evidence.probe import LocalProbe, OcrProbe
from limner.workers import JobFailure, Pool, Recipe, WorkerDeath, WorkerUnfit, environment
from tests.workers import faulty, plain

CANARY = "sk-canary-0123456789abcdef"
NAMES = (
    "OPENAI_API_KEY",
    "HF_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "PGPASSWORD",
    "TORCH_KEY",
    "SOME_VARIABLE",
)
LONG = 60.0


@pytest.fixture(autouse=True)
def _canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, CANARY)


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(Recipe("faulty", "tests.workers.faulty:obedient", workers=1))
    yield made
    made.close()


def said(pool: Pool, word: str, **given: Any) -> str:
    error = pool.submit(given, (word.encode(),), seconds=LONG).exception(LONG)
    assert isinstance(error, WorkerDeath | JobFailure | WorkerUnfit)
    assert not isinstance(error, WorkerDeath) or CANARY not in error.heard
    return str(error)


@pytest.mark.parametrize("probe", [OcrProbe(), RegionsProbe("classical", {}, OcrProbe())], ids=["ocr", "regions"])
def test_no_key_reaches_a_probe(probe: LocalProbe) -> None:
    """Uses the probe's own recipe, with another factory."""
    made = Pool(replace(probe._recipe, factory=f"{plain.__file__}:environ", workers=1))
    environ = made.submit({}, (), seconds=LONG).result(LONG).value
    made.close()
    assert environ["OMP_NUM_THREADS"] == "1"
    assert CANARY not in json.dumps(environ)


def test_listed_variables_are_passed_to_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"HF_HOME": "/hub", "CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "3", "LC_ALL": "C", "TMPDIR": "/tmp"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MY_DEVICE", "7")
    assert kept.items() <= environment().items()
    assert "MY_DEVICE" not in environment()
    assert environment(["MY_DEVICE"])["MY_DEVICE"] == "7"
    assert environment(single=True)["OMP_NUM_THREADS"] == "1"


def test_keys_are_not_passed_even_if_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:password@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "localhost")
    monkeypatch.setenv("TMPDIR", f"/tmp/{CANARY}")
    environ = environment([*NAMES])
    assert not environ.keys() & {*NAMES, "HTTPS_PROXY", "TMPDIR"}
    assert environ["NO_PROXY"] == "localhost"


def test_key_in_custom_variable_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_WAY_IN", "a-way-in-0123456789")
    assert redact("with a-way-in-0123456789") == "with a-way-in-0123456789"
    Provider(base_url="http://lab.example", key_env="LAB_WAY_IN")
    assert redact("with a-way-in-0123456789") == "with ***"


def test_keys_are_redacted_from_last_output_of_dead_worker(pool: Pool) -> None:
    message = "the worker died (exit code 5): cannot reach the service with ***"
    assert said(pool, "secret", secret=CANARY) == message
    login = "postgresql://me:password@host/store"
    assert said(pool, "secret", secret=login).endswith("with postgresql://***@host/store")
    assert said(pool, "secret", secret=f"sk-can***def and {CANARY}{CANARY}").endswith("with *** and ***")


def test_cut_message_contains_no_partial_key(pool: Pool) -> None:
    message = said(pool, "secret", secret=CANARY + "x" * 280)
    assert len(message) < 400
    assert not any(CANARY[n : n + 8] in message for n in range(len(CANARY) - 8))


def test_keys_are_redacted_from_loading_errors() -> None:
    made = Pool(Recipe("faulty", f"{faulty.__file__}:unloadable", json.dumps({"secret": CANARY}), workers=1))
    assert said(made, "x") == "ImportError('no entry with ***')"
    made.close()
