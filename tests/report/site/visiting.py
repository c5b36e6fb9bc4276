"""Looking at pages with a browser: whatever they complain of is a failure."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tests.browser import new_context, new_page

HERE = Path(__file__).parent
WATCH = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.refused.push(event.violatedDirective + " " + event.blockedURI);
});
"""


class Browser:
    """Opens pages from disk."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for context in self._contexts:
            for page in list(context.pages):
                self.leave(page)
        if kind is None:
            assert self.complaints == [], self.complaints

    def open(
        self,
        path: Path,
        after: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Literal["light", "dark"] = "light",
    ) -> Any:
        """The page, once it is ready."""
        context = new_context(self._chromium, width=width, height=height, color_scheme=scheme, offline=True)
        context.add_init_script(WATCH)
        self._contexts.append(context)
        page = new_page(context)
        page.on("console", lambda said: self._complain(page, f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self._complain(page, f"error: {error}"))
        page.on("requestfailed", lambda request: self._complain(page, f"not loaded: {request.url} {request.failure}"))
        page.on("dialog", lambda dialog: self._complain(page, f"dialog: {dialog.dismiss() or dialog.message}"))
        page.goto(path.as_uri() + after)
        page.wait_for_selector("html[data-ready=yes]")
        return page

    def leave(self, page: Any) -> None:
        """Close a page, once it has been asked what it was refused."""
        self.complaints += [f"{page.url}: refused {what}" for what in page.evaluate("window.refused || []")]
        page.context.close()

    def _complain(self, page: Any, what: str) -> None:
        if "net::ERR_ABORTED" not in what:  # A lazy picture that was no longer wanted.
            self.complaints.append(f"{page.url}: {what}")


def lies_over(page: Any) -> bool:
    """Whether the boxes of the drawing that is looked at have its picture's place, both read at one moment."""
    boxes = """["img", "svg"].map((what) => document.querySelector(`dialog .drawn .frame ${what}`))
      .map((one) => one?.getBoundingClientRect()).map((box) => box && [box.x, box.y, box.width, box.height])"""
    image, overlay = page.evaluate(boxes)
    return bool(image and overlay) and all(abs(a - b) < 1.5 for a, b in zip(image, overlay, strict=True))


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def faint(page: Any) -> list[str]:
    """Words with less contrast to their ground than WCAG's level AA asks for."""
    return list(page.evaluate((HERE / "contrast.js").read_text()))


def unnamed(page: Any) -> list[str]:
    """Controls and links that a screen reader could not name."""
    return list(page.evaluate((HERE / "unnamed.js").read_text()))
