"""Milliseconds until the site's pages are ready in Chromium: ``python -m benchmarks.pages``.

A made-up exam of 20,000 drawings is filled into a store and its site built once. Each page is then opened several times
from disk, every time in a fresh context without a cache; shown are the median and the slowest of the times from the
start of the navigation until the page says that it is ready, and how much it has loaded by then.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.browser import started
from tests.report.site.reading import keys
from tests.report.tables import synthetic

from benchmarks.table import CannotRun, Table, told
from limner.report.site import build
from limner.store import Store

TIMES = 5
JUDGES = ("fake/judge", "ocr")


def addresses(home: Path) -> dict[str, str]:
    """The pages that are opened."""
    first = next(iter(keys(home / "data").values()))
    pages = {"leaderboard": "index.html", "compare": "compare.html", "questions": "questions.html"}
    pages |= {"gallery": "gallery.html", "painter": "painter.html", "judges": "judges.html"}
    pages |= {"differences": "differences.html", "failures": "failures.html"}
    found = {name: (home / file).as_uri() for name, file in pages.items()}
    return found | {"question": (home / "question.html").as_uri() + f"#q={first}"}


def ready(browser: Any, address: str) -> tuple[float, float]:
    """Milliseconds from the start of the navigation until the page is ready, and the KiB of all that it loads."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    # The time is taken in the page itself, when it says that it is ready, not when we hear of it.
    page.add_init_script(
        "new MutationObserver(() => { if (document.documentElement.dataset.ready && !window.readyAt) "
        "window.readyAt = performance.now(); }).observe(document, {attributes: true, subtree: true});"
    )
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_function("window.readyAt > 0")
    found = float(page.evaluate("window.readyAt"))
    context.close()
    files = [Path(unquote(urlsplit(each).path)) for each in asked]
    return found, sum(file.stat().st_size for file in files if file.is_file()) / 2**10


def rows(quick: bool = False, questions: int = 1000, painters: int = 20) -> Table:
    """Fill, build, open."""
    if find_spec("playwright") is None:
        raise CannotRun("pip install 'limner[browser]'")
    if shutil.which("chromium") is None:
        raise CannotRun("no Chromium here")
    questions, painters, times = (6, 2, 1) if quick else (questions, painters, TIMES)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "store") as store:
            synthetic.fill(store, "genexam", painters=painters, questions=questions, images=False, judges=JUDGES)
        build(folder / "site", store=folder / "store")
        with started() as browser:
            for page, address in addresses(folder / "site" / "exams" / "genexam").items():
                found[page] = [ready(browser, address) for _ in range(times)]
    note = f"{questions} questions, {painters} painters, {len(JUDGES)} judges; pages opened {times} times from disk."
    body = []
    for page, taken in found.items():
        ms, kib = zip(*taken, strict=True)
        body.append((page, median(ms), max(ms), max(kib)))
    figures = {"slowest page ms": max(row[1] for row in body), "most kib": max(row[3] for row in body)}
    return Table(("page", "median ms until ready", "slowest ms", "KiB loaded"), tuple(body), figures, note)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--painters", type=int, default=20)
    print(told(rows(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
