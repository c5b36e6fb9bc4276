"""The table of every table and figure in docs/exams.md: what `limner reproduce` makes of each on fake services.

``REFRESH_DOCS=1 pytest tests/report/reproduce/test_items.py`` writes the table.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from limner.report.reproduce.request import PaperItem, paper_list
from tests.docs.blocks import ROOT
from tests.end_to_end.shop import BilledImages
from tests.fakes.examiner import ExaminerServer
from tests.report.reproduce.test_end_to_end import PAPERS, reproduce, section, services, shop, slug
from tests.report.reproduce.test_end_to_end import items as cells_of

__all__ = ["services", "shop"]
PAGE = ROOT / "docs" / "exams.md"
HEAD = ["| item | command | state |", "|---|---|---|"]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", PAPERS)
def test_docs_list_what_is_made_of_every_item(
    kind: str, shop: tuple[BilledImages, ExaminerServer], tmp_path: Path
) -> None:
    more = ("--painter", "GPT-Image-1.5=drawing/two") if kind == "aibench" else ()
    words = ("--painter", "mine=drawing/one", *more, "--limit", "8", "--run", "--budget", "20", "-o", "paper")
    cells = cells_of(reproduce(kind, *words, "--format=json").json())
    # Every plot shows a row of the paper, not only the user's own.
    assert [
        item.name for item in items(kind) if item.plots and not item.people and not cells[item.name]["filled"]
    ] == []
    page = (tmp_path / "paper" / "index.html").read_text("utf-8")
    made: dict[tuple[str, str], list[str]] = {}
    for item in items(kind):
        made.setdefault((command(kind, item), state(item, tmp_path / "paper", page)), []).append(item.name)
    assert "not made" not in {how for _, how in made}
    made |= {("–", reason): names for reason, names in unmade(kind).items()}
    rows = [f"| {', '.join(names)} | {line} | {how} |" for (line, how), names in made.items()]
    text = PAGE.read_text("utf-8")
    start = f"<!-- items of {kind} -->\n"
    before, mark, rest = text.partition(start)
    assert mark, f"{PAGE} has no {start}"
    table, end, after = rest.partition("<!-- end -->")
    new = "\n".join(["", *HEAD, *rows, "", ""])
    if os.environ.get("REFRESH_DOCS"):
        PAGE.write_text(before + start + new + end + after, "utf-8")
    else:
        assert table == new


def items(kind: str) -> tuple[PaperItem, ...]:
    """The items that can be reproduced."""
    return tuple(item for item in paper_list(kind).items if not item.cannot)


def unmade(kind: str) -> dict[str, list[str]]:
    """The other items by the reason why they cannot."""
    reasons: dict[str, list[str]] = {}
    for item in paper_list(kind).items:
        if item.cannot:
            reasons.setdefault(item.cannot.partition(":")[0].partition(";")[0], []).append(item.name)
    return reasons


def command(kind: str, item: PaperItem) -> str:
    """What shows the item, once the store has its rows."""
    lines = []
    if item.layout:
        lines.append(f"limner table {kind}:{item.layout}")
    for plot in dict.fromkeys((plot.plot, plot.by) for plot in item.plots):
        lines.append(f"limner plot {plot[0]} {kind}" + (f" --by {plot[1]}" if plot[1] else ""))
    if item.page:
        lines.append(f"limner report {kind}")
    if item.categories:
        lines.append(f"limner reproduce {kind} --item {shlex.quote(item.name)}")
    return "<br>".join(f"`{line}`" for line in lines) or "–"


def state(item: PaperItem, folder: Path, page: str) -> str:
    """What came out of the run."""
    name, shown = slug(item.name), section(page, item.name)
    figures = set(re.findall(r'src="(figures/[^"]+)"', shown))
    parts = []
    if (folder / "tables" / f"{name}.html").is_file():
        parts.append("table")
    if figures and all(b"<svg" in (folder / figure).read_bytes() for figure in figures):
        parts.append("plots")
    if item.page and "site/index.html" in shown:
        parts.append("pages of the site")
    if item.people or item.by_hand:
        parts.append("needs people" if item.people else "further commands")
    return ", ".join(parts) or "not made"
