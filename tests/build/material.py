"""A folder of pictures with their text, and a build over it."""

from __future__ import annotations

from pathlib import Path

from limner.build.engine import Builder, Spending, new_build, with_models
from limner.core import settings
from limner.store import Store
from tests.build.damage import png
from tests.build.test_picture_rules import drawn

SETTINGS = (
    "review.reviewers=0", "images.licence=CC-BY-4.0", "read-text.faint=false",
    'taxonomy.subjects=["Biology", "Music"]', "thresholds.rules=[]",
)  # fmt: skip


def pictures(folder: Path, many: int) -> Path:
    """So many figures, each with its source text."""
    folder.mkdir(parents=True)
    for n in range(many):
        (folder / f"p{n:03}.png").write_bytes(png(drawn(n)))
        (folder / f"p{n:03}.txt").write_text(f"Source text of p{n}: a page of a book.", "utf-8")
    return folder


def built(store: Store, folder: Path, *more: str, name: str = "school") -> Builder:
    """A build of the recipe, run to its end with the scripted annotator and checker."""
    roles = {"annotator": "fake/llm", "checker": "fake/llm"}
    chosen = [f'images.folders=["{folder}"]', *SETTINGS, *more]
    builder = with_models(new_build(store, name, "exam", settings=chosen, roles=roles), settings.load())
    builder.run(Spending())
    return builder
