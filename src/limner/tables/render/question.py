"""One question as HTML: its prompt, the reference and every drawing, and the marks with their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.evaluator import row_name
from ..model import Table
from .html import escape, fragments

STYLE = """
.limner-question { font: 14px/1.45 system-ui, sans-serif; }
.limner-question .prompt { max-width: 60em; white-space: pre-wrap; margin: 0.4em 0; }
.limner-question .tags { opacity: 0.7; font-size: 85%; }
.limner-question .pictures { display: flex; flex-wrap: wrap; gap: 1em; margin: 0.8em 0; }
.limner-question figure { margin: 0; max-width: 240px; }
.limner-question figure img { max-width: 100%; height: auto; border: 1px solid #8888; background: #fff; }
.limner-question .absent { width: 200px; padding: 2em 0.5em; border: 1px dashed #8888; text-align: center; }
.limner-question figcaption { font-size: 85%; overflow-wrap: anywhere; }
.limner-question .limner-table td.words, .limner-question .limner-table tbody th {
  white-space: normal; max-width: 34em; }
""".strip()


def question_html(body: Mapping[str, Any], pictures: Mapping[str, str], tables: Sequence[Table]) -> str:
    """A ``<div>`` with its own style, which touches nothing outside it.

    Args:
        body: What is known of the question; see `limner.tables.question.describe_question`.
        pictures: Data URLs by the images' hashes.
        tables: The marks.
    """
    return "\n".join(_lines(body, pictures, tables)) + "\n"


def _lines(body: Mapping[str, Any], pictures: Mapping[str, str], tables: Sequence[Table]) -> Iterator[str]:
    yield f'<div class="limner-question">\n<style>\n{STYLE}\n</style>'
    yield f"<p><strong>{escape(body['id'])}</strong> · {escape(body['exam'])}</p>"
    prompt = "\n".join(escape(line) for line in body["prompt"].splitlines())
    yield f'<p class="prompt">{prompt}</p>'
    yield f'<p class="tags">{escape(" · ".join(f"{key}: {value}" for key, value in body["tags"].items()))}</p>'
    yield '<div class="pictures">'
    if body["reference"]:
        yield _figure("reference", pictures.get(body["reference"]), "its image is not in the store")
    for drawing in body["drawings"]:
        name = row_name(drawing["painter"], drawing["strategy"])
        seed = f", seed {drawing['seed']}" if drawing["seed"] else ""
        missing = f"{drawing['fault']}: {drawing['detail']}" if drawing["fault"] else "its image is not in the store"
        yield _figure(name + seed, pictures.get(drawing["image"] or ""), missing)
    yield "</div>"
    for marking in body["markings"]:
        if marking["status"] != "done":
            name = row_name(marking["painter"], marking["strategy"])
            said = f"{name} marked by {marking['evaluator']}: {marking['status']} {marking['detail'] or ''}"
            yield f"<p>{escape(said)}</p>"
    if tables:
        yield fragments(tables).rstrip("\n")
    yield "</div>"


def _figure(caption: str, url: str | None, missing: str) -> str:
    told = escape(caption)
    inside = f'<img src="{escape(url)}" alt="{told}">' if url else f'<div class="absent">{escape(missing)}</div>'
    return f"<figure>{inside}<figcaption>{told}</figcaption></figure>"
