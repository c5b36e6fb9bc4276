"""A user's own recipe without Python: the one of the documentation, checked, run, reviewed and exported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from limner.build.engine import Spending, new_build, with_models
from limner.build.export import export
from limner.build.recipe import check_recipe, recipes
from limner.build.records import load_rows
from limner.build.review_files import read_review
from limner.cli import limner
from limner.core import settings
from limner.core.errors import DataError, UsageError
from limner.store import Store
from tests.build.scripted import Heard, Route, scripted, write_provider
from tests.docs.blocks import ROOT, blocks


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_recipe(tmp_path)
    return tmp_path / "recipe.toml"


def write_recipe(folder: Path) -> None:
    """Write the recipe of the documentation with its prompts and table."""
    (folder / "prompts").mkdir()
    for block in blocks(ROOT / "docs" / "build.md"):
        if name := block.notes.get("file"):
            (folder / name).write_text(block.text, "utf-8")


def scenes(heard: Heard) -> Any:
    craft = re.findall(r"craft: (.+?), in", heard.text)[0]
    drawable = craft != "small talk"
    if craft == "paper making" and not heard.turn:
        return {"drawable": "yes", "reason": "It is.", "scenes": ["only one"]}
    words = [f"Two masters of {craft} work in a yard in the year {year}." for year in (1700, 1800)]
    return {"drawable": drawable, "reason": "It is said, not seen.", "scenes": words}


def checklist(heard: Heard) -> Any:
    items = (
        "A furnace of clay stands behind the masters",
        "Both wear leather aprons",
        "The yard is paved with cobbles",
    )
    return {"checklist": [{"item": item, "explanation": "So it was done."} for item in items]}


def test_recipe_of_the_page_makes_an_exam(recipe: Path, store: Store) -> None:
    with scripted(Route("drawn at work", scenes), Route("three to ten facts", checklist)) as llm:
        write_provider(recipe.parent, llm)
        new = new_build(store, "crafts", "./recipe.toml", settings=["review.reviewers=0"], roles={"writer": "fake/llm"})
        builder = with_models(new, settings.load())
        assert builder.run(Spending(budget=1.0)).failed == 0
        counts = {count.place: count for count in builder.look()[0]}
        assert counts["write"].dropped == {"cannot be drawn": 1}
        assert any('"scenes" has 1 entries; it must have 2 to 2' in heard.text for _, heard in llm.heard if heard.turn)
        made = export(builder, recipe.parent / "out")
    assert [question.id for question in made.exam.questions] == [
        "bell_founding_1", "bell_founding_2", "paper_making_1", "paper_making_2"
    ]  # fmt: skip


def test_every_installed_recipe_passes_the_check() -> None:
    for installed in recipes():
        assert check_recipe(installed.file).name == installed.name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "yesno"', 'kind = "maybe"', r"reply.drawable.kind: Input should be 'yesno'"),
        ("equals = true,", "equls = true,", r"rules.equls: no such key; choose from: required, equals"),
        ("equals = true, ", "", r"rules: a test is missing: required"),
        ('step = "ask"', 'step = "aks"', r"step write: there is no step 'aks'; the steps are: source"),
        ('craft = "name"', 'crafty = "name"', r"step write: prompt scenes.md lacks the field {{crafty}}"),
        ('fill = { prompt = "prompt" }', 'fill = { prompt = "promt" }', "step checklist: no earlier step sets"),
        ('sort = "scene"\nrole', 'sort = "seen"\nrole', "step checklist: no earlier step makes items of"),
        ('role = "writer"', 'role = "poet"', r"step write: the role 'poet' is not described"),
        ('exam = "worldgenbench"', 'exam = "nix"', r"exam: the kind of exam to make, one of"),
        ('exam = "world', 'code = "os"\nexam = "world', r"code: only the recipe of an installed"),
        ('kind = "checklist" }', 'kind = "checklst" }', "lint.kind: must be one of points, checklist"),
        ('kind = "checklist" }', 'kind = "checklist", limits = { nix = 3 } }', "lint: limits.nix: Extra inputs"),
        ('kind = "checklist" }', 'kind = "checklist", prompt = "promt" }', "step checklist: no earlier step sets the"),
        ('scenes = "scenes" }', 'scenes = "scenez" }', "step write: save.scenes: 'scenez' is not under reply"),
        ('craft = "name"', 'craft = { list = "nix" }', "step write: fill.craft: 'nix' is not under lists"),
        ('craft = "name"', 'craft = { value = "nix" }', "step write: fill.craft: 'nix' is not under values"),
        ('craft = "name", ', "", "step write: prompt scenes.md has the field {{craft}}, which nothing fills"),
        ('least = 2, most = 2', "least = 2, most = 1", "reply.scenes: the list has 2 to 1 entries"),
        ("equals = true", "range = [2, 1]", "rules: the range goes from 2 to 1"),
        ('of = "craft"', 'of = "kraft"', "step scenes: no earlier step makes items of the sort 'kraft'"),
        ('fields = ["prompt"', 'fields = ["promt"', "step review: no earlier step sets the field 'promt'"),
        ('name = "scenes"\n', 'name = "write"\n', r"two steps are called 'write'"),
    ],
)  # fmt: skip
def test_problems_are_shown_with_their_lines(recipe: Path, store: Store, old: str, new: str, message: str) -> None:
    text = recipe.read_text("utf-8")
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    recipe.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(DataError, match=rf"recipe\.toml:{line}: {message}"):
        check_recipe(recipe)
    with pytest.raises(DataError, match=rf"recipe\.toml:{line}: {message}"):
        new_build(store, "crafts", str(recipe))


@pytest.mark.parametrize("path", ["rules.9.drop", "rules.x", "rules.-9.drop", "rules.", "prompt.x", "prompt.x.y"])
def test_setting_that_leads_nowhere_is_named(recipe: Path, store: Store, path: str) -> None:
    new_build(store, "fine", str(recipe), settings=["write.rules.0.drop=undrawable"])
    with pytest.raises(UsageError, match=f"step write has no setting '{path}'"):
        new_build(store, "crafts", str(recipe), settings=[f"write.{path}=1"])


def test_check_says_what_is_made(recipe: Path) -> None:
    done = CliRunner().invoke(limner, ["build", "check", str(recipe)])
    assert (done.exit_code, "crafts, write, scenes, checklist, review" in done.output) == (0, True)


def test_added_item_that_lacks_a_field_is_named_at_export(recipe: Path, store: Store) -> None:
    with scripted(Route("drawn at work", scenes), Route("three to ten facts", checklist)) as llm:
        write_provider(recipe.parent, llm)
        new = new_build(store, "crafts", "./recipe.toml", settings=["review.reviewers=1"], roles={"writer": "fake/llm"})
        builder = with_models(new, settings.load())
        builder.run(Spending(budget=1.0))
    body = {"prompt": "A weaver at the loom.", "checklist": [{"item": "The weft is drawn", "explanation": "So it is."}]}
    (recipe.parent / "x.jsonl").write_text(
        json.dumps({"item": "loom", "action": "add", "change": body}) + "\n", "utf-8"
    )
    assert read_review(builder, recipe.parent / "x.jsonl", "anna") == 1
    builder.run(Spending())
    with pytest.raises(UsageError, match="item loom: the field 'domain' is missing; correct it at its source"):
        export(builder, recipe.parent / "out")
    assert not list((recipe.parent / "out").iterdir())


def test_row_with_the_id_of_another_is_dropped_with_its_reason(recipe: Path, store: Store) -> None:
    table = recipe.parent / "crafts.csv"
    table.write_text(table.read_text("utf-8") + "bell founding,France,Europe,humanities\n", "utf-8")
    builder = with_models(new_build(store, "crafts", "./recipe.toml"), settings.load())
    builder.run(Spending(), until="crafts")
    rows = load_rows(store, "crafts", "crafts")
    assert (rows["craft/bell founding"].body or {})["country"] == "Germany"
    assert rows["same-5"].reason == "repeated id: crafts.csv:5: bell founding"


def test_item_that_does_not_fit_the_exam_is_named_at_export(recipe: Path, store: Store) -> None:
    (recipe.parent / "crafts.csv").write_text("id,country,domain\nbell founding,Germany,nowhere\n", "utf-8")
    with scripted(Route("drawn at work", scenes), Route("three to ten facts", checklist)) as llm:
        write_provider(recipe.parent, llm)
        new = new_build(store, "crafts", "./recipe.toml", settings=["review.reviewers=0"], roles={"writer": "fake/llm"})
        builder = with_models(new, settings.load())
        builder.run(Spending(budget=1.0))
    with pytest.raises(UsageError, match=r"item bell_founding_1, bell_founding_2: domain: .*'nowhere' is not one of"):
        export(builder, recipe.parent / "out")
