"""The clock set back keeps no fault from being retried, and makes no fault be retried twice in one run."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from limner.calls import Attempt, Calls, Fault, Request, Result
from limner.store import Store

REQUEST = Request("chat", "service/model", {"n": 1})


class Service:
    """Down as long as it is told to be."""

    def __init__(self) -> None:
        self.down, self.asked = True, 0

    async def __call__(self, _attempt: Attempt) -> Result:
        self.asked += 1
        if self.down:
            raise Fault("server", "down")
        return Result({"text": "yes"})


def set_clock(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """From now on it is so many seconds since 1970 for whatever is stored."""
    patch.setattr("limner.store.store.now", lambda: seconds)


FAILING = """
import asyncio, sys
from limner.calls import Calls, Fault, Request
from limner.store import Store
from limner.store import store as store_module
store_module.now = lambda: 2_000_000.0
async def perform(_attempt):
    raise Fault("server", "down")
with Store(sys.argv[1]) as store:
    try:
        asyncio.run(Calls(store, tries=1).do(Request("chat", "service/model", {"n": 1}), perform))
    except Fault:
        pass
"""


@pytest.mark.parametrize("back", [10.0, 10**6])
@pytest.mark.slow
def test_fault_of_finished_run_is_retried_after_clock_is_set_back(
    store: Store, monkeypatch: pytest.MonkeyPatch, back: float
) -> None:
    subprocess.run([sys.executable, "-c", FAILING, str(store.file.parent)], check=True)  # type: ignore[union-attr]
    set_clock(monkeypatch, 2_000_000.0 - back)
    service = Service()
    service.down = False
    assert asyncio.run(Calls(store).do(REQUEST, service)).payload == {"text": "yes"}


@pytest.mark.parametrize("back", [10**6])
def test_fault_of_earlier_run_in_same_process_is_retried(
    store: Store, monkeypatch: pytest.MonkeyPatch, back: float
) -> None:
    service = Service()
    set_clock(monkeypatch, 2_000_000.0)
    with pytest.raises(Fault):
        asyncio.run(Calls(store, tries=1).do(REQUEST, service))
    set_clock(monkeypatch, 2_000_000.0 - back)
    service.down = False
    assert asyncio.run(Calls(store).do(REQUEST, service)).payload == {"text": "yes"}


def test_clock_set_back_during_run_does_not_retry_its_faults(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service()

    async def run() -> None:
        calls = Calls(store, tries=1)
        for moment in (2_000_000.0, 1_000_000.0, 1_000_001.0, 3_000_000.0):
            set_clock(monkeypatch, moment)
            with pytest.raises(Fault):
                await calls.do(REQUEST, service)

    set_clock(monkeypatch, 2_000_000.0)
    asyncio.run(run())
    assert service.asked == 1
