"""The pages: a few lines of HTML each, the same for every exam; their content comes from data files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path
from string import Template

from ...core.plot_data import plural
from ...store import Store
from .chunks import without_folders
from .inventory import Inventory
from .leaderboard import JudgeTable

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; object-src 'none'"
)
"""The content security policy: pages load only the site's own files and contain no inline scripts or styles."""
VENDOR = ("preact", "hooks", "htm", "table-core")
SCRIPTS = ("base", "parts", "tables")
MORE = {
    "question": ("drawings", "viewer", "closer"),
    "leaderboard": ("columns",),
    "judges": ("agreement",),
    "compare": ("drawings", "viewer", "closer", "two"),
    "differences": ("agreement",),
}
"""Additional scripts of certain pages, loaded before the page's own script."""
STYLES = {"question": ("viewer",), "compare": ("viewer", "compare")}
"""Additional styles of certain pages."""
PAGES = {
    "leaderboard": ("index.html", "Leaderboard"),
    "painter": ("painter.html", "Painters"),
    "judges": ("judges.html", "Judges"),
    "questions": ("questions.html", "Questions"),
    "gallery": ("gallery.html", "Gallery"),
    "compare": ("compare.html", "Compare"),
    "differences": ("differences.html", "Differences"),
    "failures": ("failures.html", "Failures"),
    "question": ("question.html", ""),
}
"""The pages of an exam: file and name; a page without a name is only linked from others."""


@dataclass(frozen=True)
class Provenance:
    """The origin of the numbers on an exam's pages, shown in the footer.

    Attributes:
        tables: The judges' tables.
        failures: Failures of drawing and marking together, by kind.
        differences: The number of drawings on which judges or repeats differ.
    """

    inventory: Inventory
    tables: Sequence[JudgeTable]
    failures: Mapping[str, int]
    differences: int

    @property
    def name(self) -> str:
        """The exam's name in the store."""
        return self.inventory.name

    @property
    def drawings(self) -> int:
        """The number of finished drawings."""
        return sum(slot.status == "done" for slot in self.inventory.slots.values())

    @property
    def empty(self) -> set[str]:
        """The pages that would show nothing, and are not linked."""
        rows = {"judges": len(self.tables), "compare": len(self.inventory.painters) - 1 if self.tables else 0}
        rows |= {"differences": self.differences, "failures": sum(self.failures.values())}
        return {page for page, count in rows.items() if count < 1}


def day(time: float | None) -> str:
    """Format a time in UTC.

    >>> day(0), day(None)
    ('1970-01-01 00:00 UTC', '–')
    """
    return "–" if time is None else datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")


def store_name(store: Store) -> str:
    """Return the store's name for public pages, without folders, user, password or host."""
    if "://" not in store.url:
        return store.url.replace("\\", "/").rstrip("/").rpartition("/")[2] or store.url
    scheme, _, rest = store.url.partition("://")
    return f"{scheme} {rest.partition('?')[0].rpartition('/')[2]}"


def text(words: object) -> str:
    """Escape text from any source for HTML, including inside quotes."""
    plain = "".join("\N{REPLACEMENT CHARACTER}" if ord(c) < 32 and c not in "\t\n" else c for c in str(words))
    return escape(plain.encode("utf-8", "replace").decode(), quote=True)


def exam_page(page: str, foot: Provenance, others: Sequence[tuple[str, str]], built: float, store: str) -> str:
    """Return a page of an exam; `others` are the name and folder of every exam of the site."""
    _, title = PAGES[page]
    links = []
    for name, (file, shown) in PAGES.items():
        if shown and (name == page or name not in foot.empty):
            here = ' aria-current="page"' if name == page else ""
            links.append(f'<li><a href="{file}"{here}>{shown}</a></li>')
    exams = '<a class="home" href="../../index.html">Limner</a><span class="sep" aria-hidden="true">/</span>'
    exams += f'<a class="exam" href="index.html"><bdi>{text(foot.name)}</bdi></a>'
    switch = ""
    if len(others) > 1:
        items = "".join(
            f'<li><a href="../{text(folder)}/index.html"><bdi>{text(name)}</bdi></a></li>' for name, folder in others
        )
        switch = f'<details class="switch"><summary>Other exams</summary><ul>{items}</ul></details>'
    nav = f'<nav aria-label="This exam"><ul>{"".join(links)}</ul></nav>'
    head = f'<div class="crumbs">{exams}{switch}</div>{nav}'
    return _page(
        f"{title} · {foot.name}" if title else foot.name, page, "../../", built, head, _foot([foot], built, store)
    )


def index_page(feet: Sequence[Provenance], built: float, store: str) -> str:
    """Return the first page, with all exams of the site."""
    head = '<div class="crumbs"><a class="home" href="index.html" aria-current="page">Limner</a></div>'
    return _page("Limner: exams", "index", "", built, head, _foot(feet, built, store))


def _page(title: str, page: str, root: str, built: float, head: str, foot: str) -> str:
    build = format(int(built), "x")  # Prevents a browser from mixing cached files of an earlier build with new ones.
    scripts = [f"vendor/{name}" for name in VENDOR] + [*SCRIPTS, *MORE.get(page, ()), page]
    tags = "\n".join(f'<script defer src="{root}static/{name}.js?v={build}"></script>' for name in scripts)
    styles = "\n".join(
        f'<link rel="stylesheet" href="{root}static/{name}.css?v={build}">' for name in ("site", *STYLES.get(page, ()))
    )
    words = {"page": page, "root": root, "build": build, "policy": POLICY, "title": text(title), "styles": styles}
    return fill_template("page.html", **words, scripts=tags, head=head, foot=foot)


def fill_template(name: str, **words: str) -> str:
    """Return one of the templates of pages, with words in HTML in place of its names."""
    return Template((Path(__file__).parent / name).read_text(encoding="utf-8")).substitute(words)


def _foot(feet: Sequence[Provenance], built: float, store: str) -> str:
    failed = sum(sum(foot.failures.values()) for foot in feet)
    drawings = sum(foot.drawings for foot in feet)
    readings = ", ".join(dict.fromkeys(foot.inventory.terms.reading for foot in feet)) or "none"
    judges = len({table.id for foot in feet for table in foot.tables})
    parts = [f"Limner {version('limner')}", f"made {day(built)}", plural(drawings, "drawing"), plural(judges, "judge")]
    parts += [f"reading {readings}", f"coverage {_coverage(feet)}", plural(failed, "failure")]
    bodies = "".join(_exam_foot(foot) for foot in feet)
    more = f"<p>Python {text(platform.python_version())} · store {text(store)}</p>"
    return (
        f'<details class="provenance"><summary>Provenance: {text(" · ".join(parts))}</summary>{bodies}{more}</details>'
    )


def _coverage(feet: Sequence[Provenance]) -> str:
    ends = [row.coverage for foot in feet for table in foot.tables for row in table.rows]
    if not ends:
        return "none yet"
    least, most = f"{min(ends):.0%}", f"{max(ends):.0%}"
    return least if least == most else f"{least} to {most}"


def _exam_foot(foot: Provenance) -> str:
    inventory = foot.inventory
    failures = ", ".join(f"{count} {kind}" for kind, count in sorted(foot.failures.items())) or "none"
    painters, times = plural(len(inventory.painters), "painter"), _days([inventory.first, inventory.last])
    facts = {
        "Exam": f"{foot.name} ({inventory.kind.name}), {plural(len(inventory.questions), 'question')}",
        "Drawings": f"{foot.drawings} by {painters}, {times}",
        "Reading": inventory.terms.reading,
        "Coverage": _coverage([foot]),
        "Failures": failures,
    }
    return f"<section>{_facts(facts)}{''.join(map(_judge_foot, foot.tables))}</section>"


def _judge_foot(table: JudgeTable) -> str:
    setup = without_folders(table.evaluator.setup)
    facts = {key.title(): setup.get(key) for key in ("variant", "prompts", "templates")} | {"Setup": table.id[:12]}
    facts["Markings"] = f"{len(table.times)}, {_days(table.times)}"
    body = text(json.dumps(setup, indent=1, ensure_ascii=False, sort_keys=True))
    return f"<h3>Judge <bdi>{text(table.name)}</bdi></h3>{_facts(facts)}<pre>{body}</pre>"


def _facts(facts: Mapping[str, object]) -> str:
    items = (f"<div><dt>{name}</dt><dd><bdi>{text(value)}</bdi></dd></div>" for name, value in facts.items() if value)
    return f"<dl>{''.join(items)}</dl>"


def _days(times: Sequence[float | None]) -> str:
    known = [time for time in times if time is not None]
    return f"{day(min(known, default=None))} to {day(max(known, default=None))}"
