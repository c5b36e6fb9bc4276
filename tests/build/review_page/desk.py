"""A build whose items wait for review; run as a program, it serves the page of that review."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from limner.build import recipe as recipe_module
from limner.build.base import BuildItem, BuildStep, Dropped, StepContext
from limner.build.engine import Spending, new_build, open_build
from limner.build.recipe import STEPS
from limner.build.review_page import review_app
from limner.build.reviews import Reviewer, save_reviewer
from limner.core.redaction import token_hash
from limner.exams.aibench.recipe.graph_svg import to_svg
from limner.exams.aibench.recipe.logic_graph import LogicGraph
from limner.serve.base import serve
from limner.store import Store
from limner.store.store import open_store
from tests.build.papers import TIDE, figure_png

RECIPE = """
name = "tiny"
title = "papers that are there"
exam = "aibench"
[[steps]]
name = "made"
step = "t-made"
[[steps]]
name = "review"
sort = "paper"
fields = ["checklist"]
reviewers = 2
"""
PEOPLE = ("anna", "ben", "carla")
TOKENS = {name: f"token-of-{name}-which-nobody-guesses" for name in PEOPLE}


def question(number: int, level: str, words: str) -> dict[str, Any]:
    return {"id": number, "level": level, "question": words, "options": {"A": "Yes", "B": "No"},
            "correct_option": "A", "rationale": "it is a node", "track": "A"}  # fmt: skip


def checklist() -> list[dict[str, Any]]:
    levels = ("Level 1: Component Existence", "Level 2: Local Topology")
    return [question(n, levels[n % 2], f"Is the '<b>Part {n}</b>' component present?") for n in range(1, 4)]


async def made(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    image = context.blobs.put(figure_png(TIDE))[0]
    for n in (1, 2):
        body: Mapping[str, Any] = {
            "image": image, "method": f"The method text of paper {n}.", "method_title": "Method",
            "graph_svg": to_svg(LogicGraph.model_validate(TIDE.graph)),
            "caption": "Overview", "log": "Step 1: Part 1", "checklist": checklist(),
            **({"warnings": ["the arrow is cut off"], "denied": ["Is Part 2 there?"]} if n == 2 else {}),
        }  # fmt: skip
        yield BuildItem(f"CVPR_2025/paper{n}", body, "paper")


MADE = BuildStep("t-made", "there", takes="paper", makes="paper", source=made)
"""The step that makes what is reviewed here."""


def prepare(store: Store, folder: Path) -> None:
    """The build, run as far as its review, and those who review."""
    place = folder / "recipe"
    (place / "prompts").mkdir(parents=True)
    (place / "recipe.toml").write_text(RECIPE, "utf-8")
    hints = Path(str(recipe_module.__file__)).parents[1] / "exams" / "aibench" / "recipe" / "review.toml"
    (place / "review.toml").write_text(hints.read_text("utf-8"), "utf-8")
    new_build(store, "mine", str(place))
    open_build(store, "mine").run(Spending())
    for name in PEOPLE:
        save_reviewer(store, "mine", Reviewer(name, token_hash(TOKENS[name]), settles=name == "carla"))


def main(folder: Path) -> None:
    """Serve, and tell where."""
    STEPS["t-made"] = MADE
    with open_store(str(folder / "store"), create=True) as store:
        prepare(store, folder)
        serve(review_app(store, "mine"), port=0, ready=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
