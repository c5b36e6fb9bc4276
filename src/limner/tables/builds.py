"""The funnel of a build: what each step let through and why not, beside the paper's own counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..build.flow import StepCount
from ..build.recipe import BuildRecipe
from .model import MISSING, Table, simple_table


def funnel_rows(recipe: BuildRecipe, counts: Sequence[StepCount]) -> list[dict[str, Any]]:
    """One mapping per step: its counts, and how many items the paper had left after it."""
    # Of several counts after one step the first stands beside its items.
    miles = {mile.after: mile for mile in reversed(recipe.paper)}
    found = []
    for place, count in zip(recipe.places, counts, strict=True):
        mile = miles.get(place.name)
        told = {"paper": mile.items if mile else None, "paper_said": mile.said if mile else None}
        found.append({"sort": place.step.takes, "about": place.step.about, **count.to_json(), **told})
    return found


def funnel_table(build: str, recipe: BuildRecipe, counts: Sequence[StepCount]) -> Table:
    """A row for every step."""
    rows = []
    for row in funnel_rows(recipe, counts):
        why = [f"{n:,} {reason}" for reason, n in sorted(row["dropped"].items(), key=lambda one: (-one[1], one[0]))]
        why += [f"{n:,} failed ({fault})" for fault, n in sorted(row["failed"].items())]
        why += [f"{row[word]:,} {told}" for word, told in (("waiting", "wait for review"), ("pending", "to do"),
                                                           ("made", "added")) if row[word]]  # fmt: skip
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        paper = MISSING if row["paper"] is None else f"{row['paper']:,}"
        rows.append([row["place"], f"{row['arrived']:,}", f"{row['kept'] + row['made']:,}", paper, cost,
                     ", ".join(why)])  # fmt: skip
    said = " → ".join(f"{mile.items:,} {mile.said}" for mile in recipe.paper)
    notes = [f"the paper: {said}"] if said else []
    mine = " → ".join(
        f"{count.miles.get(mile.said, count.kept + count.made):,} {mile.said}"
        for mile in recipe.paper
        for count in counts
        if count.place == mile.after
    )
    if mine:
        notes.append(f"this build: {mine}")
    heads = ["step", "in", "out", "paper", "dollars", "why not"]
    return simple_table(f"build {build}, recipe {recipe.name}: {recipe.title}", heads, rows, notes, prose=["why not"])
