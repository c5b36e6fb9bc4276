"""A judge's certificate as a page of its own: no script, nothing loaded, pictures inside."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ..core.errors import LostImage
from ..core.images import BadImage, prepare
from ..store import Blobs
from ..store.certificates import CertificateRow
from ..tables.certificates import certificate_tables
from ..tables.render.html import fragment
from .pages import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SIDE = 440
"""The longer side of a picture."""
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; }
.fault { display: flex; flex-wrap: wrap; gap: 1.5em; }
figure { margin: 0; max-width: 440px; }
figure img { max-width: 100%; border: 1px solid #8888; }
figure table { border-collapse: collapse; font-size: 85%; width: 100%; }
figure td { border-top: 1px solid #8884; padding: .15em .4em; vertical-align: top; }
.wrong { color: #b3261e; font-weight: 600; }
"""


def certificate_page(row: CertificateRow, blobs: Blobs) -> str:
    """The whole page."""
    body = row.body
    title = f"Certificate of {body['judge']} · {body['exam']} · {row.day}"
    tables = "".join(fragment(table) for table in certificate_tables(row))
    faults = "".join(
        f'<h3>{text(kind)}</h3><div class="fault">{"".join(_picture(one, blobs) for one in some)}</div>'
        for kind, some in groupby(body["pictures"], key=lambda one: one["kind"])
    )
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
{tables}
<h2>A picture of each fault, and the answers</h2>
<p>Red: a criterion that must fall and did not, or one that must stand and fell.</p>
{faults}
</body>
</html>
"""


def _picture(one: Mapping[str, Any], blobs: Blobs) -> str:
    try:
        shown = f'<img alt="{text(one["said"])}" src="{prepare(blobs.get(one["image"]), SIDE).url}">'
    except (LostImage, BadImage) as error:
        shown = f"<p>{text(error)}</p>"
    if one["kind"] == "unseen":
        shown = "<p>(nothing is shown)</p>"
    dose = f" {one['dose']}" if one["dose"] else ""
    rows = "".join(_answer(answer) for answer in one["answers"] if answer["expected"] or answer["value"] is not None)
    told = f"<b>{text(one['kind'])}{dose}</b> · <bdi>{text(one['question'])}</bdi> · <bdi>{text(one['said'])}</bdi>"
    return f"<figure>{shown}<figcaption>{told}</figcaption><table>{rows}</table></figure>"


def _answer(answer: Mapping[str, Any]) -> str:
    value, must = answer["value"], answer["expected"]
    wrong = value is not None and must is not None and (value >= answer["top"]) != (must == "stand")
    given = "undecided" if value is None else f"{value} of {answer['top']}"
    mark = f'<span class="wrong">{given}</span>' if wrong else given
    expected = f"must {must}" if must else ""
    return (
        f'<tr title="{text(answer["reason"])}"><td><bdi>{text(answer["text"])}</bdi></td><td>{expected}</td>'
        f"<td>{mark}</td></tr>"
    )
