"""The one Chromium of all tests: how it is started, how its windows are opened, how long they may take, how slow it is.

A page is looked at only through `expect` or `comes`, which wait for what a key or a click brings. To see whether it
does, run browser tests with ``LIMNER_THROTTLE=20``: every page's processor is then twenty times slower.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from tests.needs import need

THROTTLE = "LIMNER_THROTTLE"
"""Names by how much the processor of every page is slowed down; see the devtools' Emulation.setCPUThrottlingRate."""
PATIENCE = 30.0
"""Seconds for whatever a page is to show; a browser that is slowed down gets longer."""
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def slower() -> float:
    """How many times slower than it is the browser is to be."""
    return float(os.environ.get(THROTTLE) or 1)


def patience() -> float:
    """Seconds that a page is waited for."""
    return PATIENCE * max(1, slower() / 5)


@contextmanager
def started() -> Iterator[Any]:
    """A browser that fetches nothing by itself."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    need("chromium", found is not None, "there is no Chromium on this machine")
    need("chromium", find_spec("playwright") is not None, "playwright is not installed; pip install 'limner[browser]'")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=SWITCHES, timeout=1000 * 4 * PATIENCE)
        yield browser
        browser.close()


def new_context(browser: Any, *, width: int = 1280, height: int = 900, **more: Any) -> Any:
    """A window's own world, with nothing of any other's."""
    context = browser.new_context(viewport={"width": width, "height": height}, **more)
    context.set_default_timeout(1000 * patience())
    return context


def new_page(context: Any) -> Any:
    """An empty page, as slow as `THROTTLE` says."""
    page = context.new_page()
    if slower() > 1:
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower()})
    return page


def expect(what: Any) -> Any:
    """Playwright's assertions about a page or a part of it, which try again until they hold."""
    from playwright.sync_api import expect as assertions

    assertions.set_options(timeout=1000 * patience())
    return assertions(what)


def comes(page: Any, check: Callable[[], bool]) -> bool:
    """Whether something comes true that `expect` has no word for."""
    end = time.monotonic() + patience()
    while not check():
        if time.monotonic() > end:
            return False
        page.wait_for_timeout(50)
    return True
