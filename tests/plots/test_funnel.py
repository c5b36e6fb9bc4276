"""The funnel of a build as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from limner.build.flow import StepCount
from limner.build.recipe import open_recipe
from limner.core.errors import UsageError
from limner.plots.funnel import plot_funnel
from limner.tables.builds import funnel_rows, funnel_table
from limner.tables.render import rendered


def counts() -> list[StepCount]:
    recipe = open_recipe("exam")
    found = [StepCount(place.name, 20, 20 - n) for n, place in enumerate(recipe.places)]
    found[5].dropped["near-duplicate"] = 3
    found[10].failed["unreadable"] = 2
    found[16].waiting = 4
    return found


@pytest.mark.slow
def test_it_is_drawn_beside_the_papers(tmp_path: Path) -> None:
    recipe = open_recipe("exam")
    rows = funnel_rows(recipe, counts())
    plot_funnel("school", recipe, rows, tmp_path / "funnel.png")
    with Image.open(tmp_path / "funnel.png") as image:
        image.load()
        assert image.width > image.height > 300
    plot_funnel("school", recipe, rows, tmp_path / "a.svg")
    plot_funnel("school", recipe, rows, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(UsageError, match="end the name in one of them"):
        plot_funnel("school", recipe, rows, tmp_path / "funnel.doc")


def test_the_table_tells_reasons_and_both_funnels() -> None:
    text = rendered(funnel_table("school", open_recipe("exam"), counts()), "md")
    for words in ("3 near-duplicate", "2 failed (unreadable)", "4 wait for review",
                  "40,000 pictures with their text → 6,500 after filters and ratings → 1,000 after review",
                  "this build: 17 pictures with their text"):  # fmt: skip
        assert words in text, words
