"""A small build of every recipe: what it is made of, and who answers. A new recipe gets its entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.build import annotator, figure_annotator, llm, writer
from tests.build.material import SETTINGS, pictures
from tests.build.papers import ABSENT, TIDE, write_papers
from tests.build.scripted import Route


@dataclass(frozen=True)
class SampleBuild:
    """How a recipe is tried.

    Attributes:
        routes: The scripted LLM.
        prepare: Writes the material into a folder; gives the settings.
        roles: Who is asked.
        painter: A painter for what comes out.
    """

    routes: Callable[[], list[Route]]
    prepare: Callable[[Path], list[str]]
    roles: tuple[str, ...]
    painter: str = "control/reference"


def _exam(folder: Path) -> list[str]:
    return [f'images.folders=["{pictures(folder / "pics", 3)}"]', *SETTINGS]


def _questions(folder: Path) -> list[str]:
    return [f"sources.folder={write_papers(folder / 'papers', (TIDE,))}", "review.reviewers=0", ABSENT]


def _checklist(folder: Path) -> list[str]:
    return ['regions.codes=["JP"]', "regions.prompts=2", "disciplines.prompts=1", "review.reviewers=0"]


def _atoms(folder: Path) -> list[str]:
    figures = figure_annotator.write_figures(folder / "figures", (figure_annotator.GOOD,))
    return [f'figures.folders=["{figures}"]', "figures.licence=CC-BY-4.0", "review.reviewers=0"]


SAMPLES = {
    "exam": SampleBuild(llm.routes, _exam, ("annotator", "checker")),
    "questions": SampleBuild(annotator.routes, _questions, ("annotator", "checker", "expert")),
    "checklist": SampleBuild(writer.routes, _checklist, ("writer", "checker"), "control/text"),
    "atoms": SampleBuild(figure_annotator.routes, _atoms, ("annotator", "checker")),
}
