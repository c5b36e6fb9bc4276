"""Estimates of builds: the upper bound holds in nearly all simulated runs, and is not far above the cost."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import fmean, variance

import pytest

from limner.build.engine import Spending, new_build, with_models
from limner.build.estimate import FEW, ItemCost, build_estimate
from limner.build.recipe import open_recipe
from limner.core import settings
from limner.store import Store
from tests.build.llm import routes
from tests.build.material import SETTINGS, pictures
from tests.build.scripted import Route, scripted, write_provider
from tests.build.test_own_recipe import scenes, write_recipe


def item_cost(chance: random.Random, kind: str) -> float:
    """The dollars of one item: a reply of varying length, and, now and then, one that is asked for again."""
    if kind == "even":
        return chance.uniform(0.008, 0.012)
    length = chance.lognormvariate(-5, 0.5)
    return length * (1 + sum(chance.random() < 0.1 for _ in range(2)))


@pytest.mark.parametrize("kind", ["even", "repeated"])
@pytest.mark.parametrize("measured", [FEW, 10, 40])
@pytest.mark.parametrize("left", [5, 60, 400])
def test_upper_bound_holds_in_95_of_100_simulated_runs(kind: str, measured: int, left: int) -> None:
    chance, held, ratios = random.Random(f"{kind} {measured} {left}"), 0, list[float]()
    runs = 400
    for _ in range(runs):
        seen = [item_cost(chance, kind) for _ in range(measured)]
        bound = ItemCost(1, 1, fmean(seen), variance(seen), measured).at_most(left)
        paid = sum(item_cost(chance, kind) for _ in range(left))
        assert bound is not None
        held += paid <= bound
        ratios.append(bound / paid)
    assert held >= 0.95 * runs - 2 * (runs * 0.05 * 0.95) ** 0.5
    assert fmean(ratios) < 3.0, "a bound far above the cost says nothing"


@pytest.mark.parametrize(
    ("recipe", "chosen", "source", "steps"),
    [
        ("graph", ["levels.prompts=60"], "levels", {"write: writer": 60, "paint: painter": 3600}),
        ("checklist", ["regions.prompts=2", 'regions.codes=["JP", "NL"]'], "disciplines",
         {"region-prompts: writer": 8, "checklist: writer": 344, "facts: checker": 344}),
    ],
)  # fmt: skip
def test_dry_run_counts_the_entries_that_batches_will_write(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str, chosen: list[str], source: str,
    steps: dict[str, int],
) -> None:  # fmt: skip
    """Before the first run and after the sources alike."""
    monkeypatch.chdir(tmp_path)
    with scripted() as llm:
        write_provider(tmp_path, llm)
        roles = {role: "fake/llm" for role in open_recipe(recipe).asked_roles() if role != "painter"}
        roles |= {"painter": "fake/brush"} if recipe == "graph" else {}
        builder = with_models(new_build(store, "b", recipe, settings=chosen, roles=roles), settings.load())
        before = build_estimate(builder, settings.load())
        assert {line.role: line.steps for line in before if line.role in steps} == steps
        assert all(line.dollars for line in before)
        builder.run(Spending(), until=source)
        after = {line.role: line for line in build_estimate(builder, settings.load())}
        assert {role: after[role].steps for role in steps} == steps
        first = after[next(iter(steps))]
        assert first.tokens_out >= (60 * 3 * 1200 if recipe == "graph" else 2 * 500)


def test_dry_run_counts_entries_that_were_written_but_not_taken(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with scripted(Route("drawn at work", scenes)) as llm:
        write_provider(tmp_path, llm)
        write_recipe(tmp_path)
        new = new_build(store, "b", "./recipe.toml", roles={"writer": "fake/llm"})
        builder = with_models(new, settings.load())
        for until, steps in (("crafts", 6), ("write", 4), ("scenes", 4)):
            builder.run(Spending(), until=until)
            assert build_estimate(builder, settings.load())[-1].steps == steps


@pytest.mark.slow
def test_dry_run_prices_every_step_before_the_first_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with scripted(*routes()) as llm:
        write_provider(tmp_path, llm)
        chosen = [f'images.folders=["{pictures(tmp_path / "pics", 3)}"]', *SETTINGS]
        roles = dict.fromkeys(("annotator", "checker"), "fake/llm")
        builder = with_models(new_build(store, "b", "exam", settings=chosen, roles=roles), settings.load())
        before = {line.role: line for line in build_estimate(builder, settings.load())}
        builder.run(Spending())
        asked = {place: line for place, line in before.items() if line.dollars}
        assert {place.partition(":")[0] for place in asked} == {"ratings", "classify", "draft", "check"}
        assert all(line.steps == 3 for line in asked.values())
        bound = sum(line.dollars or 0.0 for line in before.values())
        assert llm.spent <= bound < 20 * llm.spent
        assert sum(line.dollars or 0.0 for line in build_estimate(builder, settings.load())) == 0
