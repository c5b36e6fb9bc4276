"""A report as one page of its own: tables, then pictures with what was said about them. No script, nothing loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..core.errors import LostImage
from ..core.images import BadImage, prepare
from ..report.tables.model import Table
from ..report.tables.render.html import fragment
from ..store import Blobs
from .pages import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SIDE = 440
"""The longer side of a picture."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5em; }
figure { margin: 0; max-width: 440px; }
figure img { max-width: 100%; border: 1px solid #8888; }
figure table { border-collapse: collapse; font-size: 85%; width: 100%; }
figure td { border-top: 1px solid #8884; padding: .15em .4em; vertical-align: top; }
.wrong { color: #b3261e; font-weight: 600; }
body .limner-table td.words { white-space: normal; }
.said { color: #555; margin: .2em 0 .6em; max-width: 60em; }
"""


_REPLAYED = re.compile(r"replay/\S*/(?=[^/\s]+)")


def public_judge(name: str) -> str:
    """A judge's name as a page may show it: of a file of replies without the folders it lies in.

    >>> public_judge("replay//home/ann/replies.jsonl"), public_judge("openai/gpt-6-sol")
    ('replay/replies.jsonl', 'openai/gpt-6-sol')
    """
    return _REPLAYED.sub("replay/", name)


@dataclass(frozen=True)
class FigureRow:
    """What was said about one criterion: its words, what must become of it, what was given, the reason."""

    text: str
    must: str
    given: str
    wrong: bool = False
    reason: str = ""


@dataclass(frozen=True)
class PageFigure:
    """A picture with what was said about it.

    Attributes:
        image: Its content hash; None where nothing was shown.
        name: What it is, in a word.
        about: Whose it is, and what was done to it.
    """

    image: str | None
    name: str
    about: tuple[str, ...] = ()
    rows: tuple[FigureRow, ...] = ()


@dataclass(frozen=True)
class PageSection:
    """Figures that belong together; `said` stands above them."""

    title: str
    figures: tuple[PageFigure, ...]
    said: tuple[str, ...] = ()


def single_page(title: str, tables: Iterable[Table], head: str, about: str, sections: Sequence[PageSection],
                blobs: Blobs) -> str:  # fmt: skip
    """The whole page; `head` and `about` stand above the sections."""
    shown = "".join(fragment(table) for table in tables)
    pictures = "".join(_section(section, blobs) for section in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1><bdi>{text(title)}</bdi></h1>
{shown}
<h2>{text(head)}</h2>
<p>{text(about)}</p>
{pictures}
</body>
</html>
"""


def _section(section: PageSection, blobs: Blobs) -> str:
    said = "".join(f'<p class="said"><bdi>{text(line)}</bdi></p>' for line in section.said)
    figures = "".join(_figure(one, blobs) for one in section.figures)
    return f'<h3><bdi>{text(section.title)}</bdi></h3>{said}<div class="figures">{figures}</div>'


def _figure(one: PageFigure, blobs: Blobs) -> str:
    if one.image is None:
        shown = "<p>(nothing is shown)</p>"
    else:
        try:
            alt = one.about[-1] if one.about else one.name
            shown = f'<img alt="{text(alt)}" src="{prepare(blobs.get(one.image), SIDE).url}">'
        except (LostImage, BadImage) as error:
            shown = f"<p>{text(error)}</p>"
    told = " · ".join([f"<b>{text(one.name)}</b>", *(f"<bdi>{text(word)}</bdi>" for word in one.about)])
    rows = "".join(_row(row) for row in one.rows)
    return f"<figure>{shown}<figcaption>{told}</figcaption><table>{rows}</table></figure>"


def _row(row: FigureRow) -> str:
    given = text(row.given)
    mark = f'<span class="wrong">{given}</span>' if row.wrong else given
    cells = f"<td><bdi>{text(row.text)}</bdi></td><td>{text(row.must)}</td><td>{mark}</td>"
    return f'<tr title="{text(row.reason)}">{cells}</tr>'
