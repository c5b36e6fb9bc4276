"""Small tools: what a terminal is shown, masked keys, names that load late, loops."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import sys
import threading
import unicodedata
from concurrent.futures import Future
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import limner
from limner import api
from limner.core import redaction
from limner.core.loops import run_to_end
from limner.core.redaction import MASK, escape_controls, printable, redact, register_key, without_key, without_secrets
from limner.scoring.groups import find_groups

BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ODD = st.text(st.one_of(st.characters(max_codepoint=0xFF), st.sampled_from(sorted(BIDI)), st.characters()))


def controls(text: str) -> set[str]:
    """What of a text drives a terminal."""
    return {one for one in text if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in BIDI}


@given(ODD)
def test_control_characters_are_escaped(text: str) -> None:
    assert not controls(escape_controls(text))
    assert controls(printable(text)) <= {"\n", "\t"}
    assert escape_controls(escape_controls(text)) == escape_controls(text)


@given(ODD)
def test_printable_json_keeps_its_value(text: str) -> None:
    shown = printable(json.dumps({"id": text}, ensure_ascii=False))
    assert not controls(shown)
    assert json.loads(shown) == {"id": text}


def test_ordinary_text_is_unchanged() -> None:
    words = "naïve 学术 \N{ZERO WIDTH JOINER} – “ok” 👩‍🔬"
    assert printable(f"{words}\n\t{words}") == f"{words}\n\t{words}"


@pytest.mark.parametrize("path", sorted(Path(limner.__file__).parent.rglob("*.py")), ids=lambda path: path.name)
def test_all_output_passes_through_printable(path: Path) -> None:
    """Whoever prints wraps it in `printable`, or goes through `say`; only `say` itself echoes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in ("click.echo", "click.secho", "print"):
            first = ast.unparse(node.args[0]) if node.args else ""
            assert "printable(" in first, f"{path}:{node.lineno}: {called}({first})"


PLAIN = re.compile(r"[\w.-]*\*{3,}[\w-]*")
"""What a masked word is; it takes time with the square of the length, so that it stands here alone."""


@given(st.text(st.sampled_from("ab.-_* é\n"), max_size=40))
def test_masking_matches_reference_pattern(text: str) -> None:
    assert without_key(text, None) == PLAIN.sub(MASK, text)


@pytest.mark.slow
def test_redaction_time_is_linear() -> None:
    """The plain rule would take hours for these."""
    long = "x." * 2**20
    assert redact(long) == long
    assert redact(f"{long}***{long}") == MASK + long[1:]
    login = "https://" + "a:" * 2**20
    assert redact(login) == login
    assert redact("https://me:pass:word@host/x") == f"https://{MASK}@host/x"


def test_key_is_redacted_only_while_set(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"told": "it was first-value-1, then other-value-2"}
    assert without_secrets(record) == record
    monkeypatch.setenv("SOME_API_KEY", "first-value-1")
    assert without_secrets(record) == {"told": "it was ***, then other-value-2"}
    monkeypatch.setenv("SOME_API_KEY", "other-value-2")
    assert without_secrets(record) == {"told": "it was first-value-1, then ***"}
    monkeypatch.delenv("SOME_API_KEY")
    assert without_secrets(record) == record


def test_registered_variable_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_key_variables", set())
    monkeypatch.setenv("PLAIN_NAME", "value-of-mine")
    assert redact("value-of-mine") == "value-of-mine"
    register_key("PLAIN_NAME")
    assert redact("value-of-mine") == "***"


def test_lazy_names_resolve_to_module_attributes() -> None:
    assert api.groups is find_groups
    assert limner.scores is api.scores
    for package in (limner, api):
        assert set(package.__all__) <= set(dir(package))
        assert all(getattr(package, name) is not None for name in package.__all__)


def test_unknown_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'limner\.api' has no attribute 'nothing'"):
        api.nothing  # noqa: B018


def test_scores_do_not_import_run_modules() -> None:
    code = "import sys, limner; limner.scores; print('limner.running' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


async def here() -> tuple[int, str]:
    await asyncio.sleep(0)
    return 1, threading.current_thread().name


def test_coroutine_runs_in_current_thread_without_event_loop() -> None:
    assert run_to_end(here()) == (1, threading.current_thread().name)


def test_coroutine_runs_in_own_thread_inside_event_loop() -> None:
    async def cell() -> tuple[int, str]:
        return run_to_end(here())

    assert asyncio.run(cell()) == (1, "limner-run")


def test_exception_is_raised_in_caller() -> None:
    async def wrong() -> None:
        raise ValueError("no")

    async def cell() -> None:
        run_to_end(wrong())

    with pytest.raises(ValueError, match="no"):
        asyncio.run(cell())


@pytest.mark.parametrize("gently", [True, False])
def test_interrupt_stops_gracefully_or_cancels(gently: bool) -> None:
    """The stop button of a notebook: what is in flight is finished; where nothing can be asked, it is cancelled."""
    stops: list[int] = []
    seen: list[bool] = []
    waiting, cancelled = threading.Event(), threading.Event()

    class Interrupted(Future[str]):
        """Its first reader is interrupted while the work goes on."""

        def result(self, timeout: float | None = None) -> str:
            if not seen:
                seen.append(waiting.wait(60))
                raise KeyboardInterrupt
            return super().result(timeout)

    async def work() -> str:
        waiting.set()
        try:
            while not stops:
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "whole"

    async def cell() -> str:
        return run_to_end(work(), (lambda: stops.append(1)) if gently else None)

    with mock.patch("limner.core.loops.Future", Interrupted):
        if gently:
            assert asyncio.run(cell()) == "whole"
        else:
            with pytest.raises(KeyboardInterrupt):
                asyncio.run(cell())
            assert cancelled.wait(60)
