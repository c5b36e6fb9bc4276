"""Makes the pictures of WorldGenBench's and FEPBench's recipes: ``python -m tests.docs.lists_pictures``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from limner.build.engine import Spending
from limner.build.open import new_build, with_models
from limner.core import settings
from limner.report.plots.counts import plot_funnel
from limner.report.tables.status import funnel_rows
from limner.store.store import open_store
from tests.build import figure_annotator, writer
from tests.build.scripted import Route, scripted, write_provider
from tests.docs.blocks import ROOT
from tests.docs.questions_pictures import small


def funnel(recipe: str, routes: list[Route], chosen: list[str], roles: dict[str, str], name: str) -> None:
    """The funnel of a small build."""
    with scripted(*routes) as llm, open_store(f"store-{recipe}", create=True) as store:
        write_provider(Path.cwd(), llm)
        builder = with_models(new_build(store, "mine", recipe, settings=chosen, roles=roles), settings.load())
        builder.run(Spending())
        counts, _ = builder.look()
        plot_funnel("mine", builder.recipe, funnel_rows(builder.recipe, counts), Path("funnel.png"))
        small(Path("funnel.png").read_bytes(), name, 1000)


def main() -> None:
    """Make both."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        figures = figure_annotator.write_figures(Path("figures"))
        chosen = ['regions.codes=["JP", "NL", "BE", "RU"]', "regions.transcontinental=none", "disciplines.prompts=8"]
        funnel("checklist", writer.routes(), [*chosen, "review.reviewers=0"], {"writer": "fake/llm"},
               "build-worldgenbench-funnel.png")  # fmt: skip
        chosen = [f'figures.folders=["{figures}"]', "review.reviewers=0"]
        roles = {"annotator": "fake/llm", "checker": "fake/llm"}
        funnel("atoms", figure_annotator.routes(), chosen, roles, "build-fepbench-funnel.png")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
