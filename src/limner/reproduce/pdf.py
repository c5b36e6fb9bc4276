"""The document as PDF, printed by a Chromium that is on this machine.

The page is one HTML file with vector plots; a browser prints it as it shows it, so that there is one way of writing the
document and none of drawing tables twice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..core.errors import LimnerError

BROWSER = "LIMNER_BROWSER"
"""The variable that names a browser to be used."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SECONDS = 300
HELP = (
    "install Chromium or Chrome (such as `apt install chromium`, or `pip install 'limner[browser]'` and "
    f"`playwright install chromium`), or name a browser in {BROWSER}"
)


class NoPdf(LimnerError):
    """The document could not be printed; as HTML it is whole."""


def find_browser() -> str | None:
    """A browser that prints: the one that is named, one on the path, or playwright's own."""
    if named := os.environ.get(BROWSER):
        return shutil.which(named)
    on_path = next((path for path in map(shutil.which, NAMES) if path), None)
    return on_path or _playwright()


def _playwright() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as play:
        path = str(play.chromium.executable_path)
    return path if Path(path).is_file() else None


def write_pdf(page: Path, path: Path) -> None:
    """Print an HTML file.

    Raises:
        NoPdf: There is no browser, or it does not print; says what to do.
    """
    browser, lost = find_browser(), f"{path} is not written, {page} is whole"
    if browser is None:
        raise NoPdf(f"{lost}: no browser was found to print it; {HELP}")
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        made = Path(folder) / "document.pdf"
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-extensions", "--no-first-run"]
        # As root Chromium refuses its sandbox; what it prints is our own page, in which every word is escaped.
        words += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.resolve().as_uri()]
        try:
            ended = subprocess.run([browser, *words], capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoPdf(f"{lost}: {browser} did not print it: {error}; {HELP}") from error
        if not made.is_file() or not made.stat().st_size:
            said = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = said[0] if said else f"exit code {ended.returncode}"
            raise NoPdf(f"{lost}: {browser} did not print it: {why}; {HELP}")
        shutil.move(made, path)
