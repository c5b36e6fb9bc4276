"""Each recipe's exam on scripted replies, compared with a recording: ``python -m tests.build.test_same_exports``."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limner.build.engine import Builder, Spending, new_build, with_models
from limner.build.export import export
from limner.build.records import load_rows
from limner.core import settings
from limner.exams.mmmg.recipe.training import training_items
from limner.store.store import open_store
from tests.build import knowledge
from tests.build.figure_annotator import write_figures
from tests.build.material import SETTINGS, pictures
from tests.build.papers import ABSENT, write_papers
from tests.build.samples import SAMPLES
from tests.build.scripted import Scripted, scripted, write_provider

pytestmark = pytest.mark.slow
RECORDINGS = Path(__file__).parent / "exports"
GRAPH = (
    f"levels.levels={json.dumps(knowledge.LEVELS)}", f"levels.disciplines={json.dumps(knowledge.DISCIPLINES)}",
    "levels.prompts=3", 'found.folders=["found"]', "found.licence=CC-BY-4.0",
    "paint.licence=CC0-1.0", "concepts.model=letters", "read-text.faint=false", "split.test=0.4",
    "split.exam=sample/mmmg", 'split.by=""', "review.reviewers=0",
)  # fmt: skip
GRAPH_ROLES = dict.fromkeys(("writer", "checker", "annotator", "reasoner"), "fake/llm") | {"painter": "fake/brush"}


def _exam(folder: Path) -> list[str]:
    kept = [setting for setting in SETTINGS if not setting.startswith("thresholds")]
    return [f'images.folders=["{pictures(folder / "pics", 12)}"]', *kept]


MATERIAL: dict[str, Callable[[Path], list[str]]] = {
    "exam": _exam,
    "questions": lambda folder: [f"sources.folder={write_papers(folder / 'papers')}", "review.reviewers=0", ABSENT],
    "checklist": lambda folder: ['regions.codes=["JP", "NL", "BE", "RU"]', "regions.prompts=3",
                                 "regions.transcontinental=none", "disciplines.prompts=8",
                                 "region-prompts.batches.size=2", "discipline-prompts.batches.size=2",
                                 "review.reviewers=0"],
    "atoms": lambda folder: [f'figures.folders=["{write_figures(folder / "figures")}"]', "figures.licence=CC-BY-4.0",
                             "review.reviewers=0"],
}  # fmt: skip
"""Recipe -> writes its material, good and bad, into a folder; gives the settings."""


def outcome(recipe: str, folder: Path) -> dict[str, Any]:
    """The exam that a recipe makes of scripted replies, and why each other item was dropped."""
    graph = recipe == "graph"
    routes = knowledge.routes() if graph else SAMPLES[recipe].routes()
    with scripted(*routes) as llm, open_store(str(folder / "store"), create=True) as store:
        write_provider(folder, llm)
        builder = with_models(new_build(store, "mine", recipe, **_prepare(recipe, folder, llm)), settings.load())
        builder.run(Spending())
        made = export(builder, folder / "out")
        questions = [
            {"id": each.id, "prompt": each.prompt, "tags": dict(each.tags),
             "rubric": each.rubric.model_dump(mode="json", exclude_defaults=True)}
            for each in made.exam.questions
        ]  # fmt: skip
        found: dict[str, Any] = {
            "questions": questions,
            "subsets": {k: sorted(v) for k, v in made.exam.subsets.items()},
        }
        if graph:
            found["training"] = [
                {name: item.body[name] for name in ("concept", "trace", "final_prompt")}
                for item in training_items(builder)
            ]
        return {**found, "dropped": _dropped(builder)}


def _prepare(recipe: str, folder: Path, llm: Scripted) -> dict[str, Any]:
    if recipe != "graph":
        return {"settings": MATERIAL[recipe](folder), "roles": dict.fromkeys(SAMPLES[recipe].roles, "fake/llm")}
    llm.brush = knowledge.brush
    knowledge.write_found(folder / "found")
    return {"settings": GRAPH, "roles": GRAPH_ROLES}


def _dropped(builder: Builder) -> dict[str, dict[str, str]]:
    """Step -> item -> the reason, without its details."""
    found: dict[str, dict[str, str]] = {}
    for place in builder.recipe.places:
        for id, row in load_rows(builder.store, "mine", place.name).items():
            if row.status != "done" and not (row.reason or "").startswith("calls whose"):
                found.setdefault(place.name, {})[id] = (row.reason or "").partition(":")[0]
    return found


@pytest.mark.parametrize("recipe", [*SAMPLES, "graph"])
def test_recipe_makes_the_recorded_exam(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = json.loads((RECORDINGS / f"{recipe}.json").read_text("utf-8"))
    made = json.loads(json.dumps(outcome(recipe, tmp_path)))
    for part in recorded:
        assert made[part] == recorded[part], part
    _check_loaders(tmp_path / "out", len(made["questions"]), tmp_path / "cache")


def _check_loaders(folder: Path, questions: int, cache: Path) -> None:
    """Check that the two libraries by which such data is read take the folder."""
    datasets, mlcroissant = pytest.importorskip("datasets"), pytest.importorskip("mlcroissant")
    rows = datasets.load_dataset(str(folder), split="train", cache_dir=str(cache))
    assert len(rows) == questions
    assert all(isinstance(row["rubric"], dict) and isinstance(row["tags"], dict) for row in rows)
    if "image" in rows.features:
        assert any(row["image"] for row in rows)
    read = mlcroissant.Dataset(str(folder / "croissant.json"))
    assert not read.metadata.ctx.issues.errors
    assert [row["questions/id"].decode() for row in read.records("questions")] == [row["id"] for row in rows]


def main() -> None:
    """Record the exams of all recipes, or of those named."""
    for recipe in sys.argv[1:] or [*SAMPLES, "graph"]:
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            text = json.dumps(outcome(recipe, Path(name)), ensure_ascii=False, indent=1)
            (RECORDINGS / f"{recipe}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
