"""The pages themselves: a few lines of HTML each, the same for every exam. What changes comes from data files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from .provenance import Foot, day, versions

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; object-src 'none'"
)
"""Nothing but the site's own files is ever loaded, and no script or style stands inside a page."""
VENDOR = ("preact", "hooks", "htm", "table-core")
SCRIPTS = ("base", "parts", "tables")
MORE = {"question": ("drawings", "closer"), "leaderboard": ("columns",)}
"""Scripts that one page alone is made of, before its own."""
PAGES = {
    "leaderboard": ("index.html", "Leaderboard"),
    "questions": ("questions.html", "Questions"),
    "gallery": ("gallery.html", "Gallery"),
    "differences": ("differences.html", "Differences"),
    "failures": ("failures.html", "Failures"),
    "painter": ("painter.html", ""),
    "question": ("question.html", ""),
}
"""The pages of an exam: file and name; those without a name are reached from others."""


def text(words: object) -> str:
    """Words from anywhere as they can stand in HTML, also within quotes, kept apart in their direction of writing."""
    plain = "".join("\N{REPLACEMENT CHARACTER}" if ord(c) < 32 and c not in "\t\n" else c for c in str(words))
    return escape(plain.encode("utf-8", "replace").decode(), quote=True)


def exam_page(page: str, foot: Foot, others: Sequence[tuple[str, str]], built: float, store: str) -> str:
    """A page of an exam; `others` are all exams of the site, as name and folder."""
    _, title = PAGES[page]
    links = []
    for name, (file, shown) in PAGES.items():
        if shown:
            here = ' aria-current="page"' if name == page else ""
            links.append(f'<li><a href="{file}"{here}>{shown}</a></li>')
    exams = '<a class="home" href="../../index.html">Limner</a><span class="sep" aria-hidden="true">/</span>'
    exams += f'<a class="exam" href="index.html"><bdi>{text(foot.exam)}</bdi></a>'
    switch = ""
    if len(others) > 1:
        items = "".join(
            f'<li><a href="../{text(folder)}/index.html"><bdi>{text(name)}</bdi></a></li>' for name, folder in others
        )
        switch = f'<details class="switch"><summary>Other exams</summary><ul>{items}</ul></details>'
    nav = f'<nav aria-label="This exam"><ul>{"".join(links)}</ul></nav>'
    head = f'<div class="crumbs">{exams}{switch}</div>{nav}'
    return _page(
        f"{title} · {foot.exam}" if title else foot.exam, page, "../../", built, head, _foot([foot], built, store)
    )


def index_page(feet: Sequence[Foot], built: float, store: str) -> str:
    """The first page: all exams of the site."""
    head = '<div class="crumbs"><a class="home" href="index.html" aria-current="page">Limner</a></div>'
    return _page("Limner: exams", "index", "", built, head, _foot(feet, built, store))


def _page(title: str, page: str, root: str, built: float, head: str, foot: str) -> str:
    version = format(int(built), "x")  # Files of two builds must not be mixed by a browser that remembers the older.
    scripts = [f"vendor/{name}" for name in VENDOR] + [*SCRIPTS, *MORE.get(page, ()), page]
    tags = "\n".join(f'<script defer src="{root}static/{name}.js?v={version}"></script>' for name in scripts)
    return f"""<!doctype html>
<html lang="en" data-page="{page}" data-root="{root}" data-built="{version}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{text(title)}</title>
<link rel="icon" href="{root}static/icon.svg">
<link rel="stylesheet" href="{root}static/site.css?v={version}">
{tags}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>{head}</header>
<main id="main" tabindex="-1"><p class="wait" role="status">Loading …</p>
<noscript><p>These pages need JavaScript, but no network: everything they load lies beside them. Without it,
<code>limner scores</code> and <code>limner show</code> tell the same.</p></noscript></main>
<footer>{foot}</footer>
</body>
</html>
"""


def _foot(feet: Sequence[Foot], built: float, store: str) -> str:
    made = versions()
    failed = sum(sum(foot.failures.values()) for foot in feet)
    drawings = sum(foot.drawings for foot in feet)
    readings = ", ".join(dict.fromkeys(foot.reading for foot in feet)) or "none"
    judges = len({way["id"] for foot in feet for way in foot.ways})
    said = [f"Limner {made['limner']}", f"made {day(built)}", _many(drawings, "drawing"), _many(judges, "judge")]
    said += [f"reading {readings}", f"coverage {_coverage(feet)}", _many(failed, "failure")]
    bodies = "".join(_exam_foot(foot) for foot in feet)
    more = f"<p>Python {text(made['python'])} · store {text(store)}</p>"
    return (
        f'<details class="provenance"><summary>Where this comes from: {text(" · ".join(said))}</summary>'
        f"{bodies}{more}</details>"
    )


def _coverage(feet: Sequence[Foot]) -> str:
    ends = [end for foot in feet if foot.coverage for end in foot.coverage]
    if not ends:
        return "none yet"
    least, most = f"{min(ends):.0%}", f"{max(ends):.0%}"
    return least if least == most else f"{least} to {most}"


def _exam_foot(foot: Foot) -> str:
    failures = ", ".join(f"{count} {kind}" for kind, count in foot.failures.items()) or "none"
    facts = [
        ("Exam", f"{foot.exam} ({foot.kind}), {_many(foot.questions, 'question')}"),
        (
            "Drawings",
            f"{foot.drawings} by {_many(foot.painters, 'painter')}, {day(foot.drawn[0])} to {day(foot.drawn[1])}",
        ),
        ("Reading", foot.reading),
        ("Coverage", _coverage([foot])),
        ("Failures", failures),
    ]
    told = "".join(f"<div><dt>{name}</dt><dd><bdi>{text(words)}</bdi></dd></div>" for name, words in facts)
    return f"<section><dl>{told}</dl>{''.join(_way(way) for way in foot.ways)}</section>"


def _way(way: Any) -> str:
    setup = dict(way["setup"])
    named = [("Variant", setup.get("variant")), ("Templates", setup.get("templates")), ("Setup", way["id"])]
    named += [("Markings", f"{way['markings']}, {day(way['first'])} to {day(way['last'])}")]
    told = "".join(f"<div><dt>{name}</dt><dd><bdi>{text(words)}</bdi></dd></div>" for name, words in named if words)
    body = text(json.dumps(setup, indent=1, ensure_ascii=False, sort_keys=True))
    return f"<h3>Judge <bdi>{text(way['name'])}</bdi></h3><dl>{told}</dl><pre>{body}</pre>"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
