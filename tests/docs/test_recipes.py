"""The settings of recipes that an exam's page names are settings of the recipe's steps."""

from __future__ import annotations

import re

import pytest

from limner.build.recipe import BuildRecipe, parse_settings, recipes
from tests.docs.blocks import ROOT

SETTING = re.compile(r"(?:`|--set '?)(([a-z][\w-]*)\.([a-z_]+)[\w.]*(?:=(?:\[[^\]]*\]|[^\s`']+))?)")


@pytest.mark.parametrize("recipe", [*recipes()], ids=lambda recipe: recipe.name)
def test_settings_named_on_page_exist(recipe: BuildRecipe) -> None:
    page = (ROOT / "docs" / f"{recipe.exam}.md").read_text("utf-8").partition("## Build your own")[2]
    places = {place.name: place for place in recipe.places}
    named = [found for found in SETTING.findall(page) if found[1] in places]
    assert named
    for word, step, setting in named:
        if "=" in word:
            assert recipe.with_settings(parse_settings([word])).places
        else:
            assert setting in type(places[step].settings).model_fields, word


def test_rule_that_genexam_page_changes_drops_pictures() -> None:
    (number,) = re.findall(r"`thresholds\.rules\.(\d+)\.", (ROOT / "docs" / "genexam.md").read_text("utf-8"))
    (recipe,) = [each for each in recipes() if each.name == "exam"]
    (entry,) = [each for each in recipe.steps if each.name == "thresholds"]
    rule = entry.settings["rules"][int(number)]
    assert rule["field"] == "ratings.subject_knowledge.score"
    assert "drop" in rule
