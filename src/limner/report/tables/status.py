"""Tables of the progress of builds and studies, and of the demo's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...build.flow import StepCount
from ...build.recipe import BuildRecipe
from ...scoring import Standing
from ...study.open import OpenStudy
from ...study.progress import StudyProgress
from ...study.records import Study
from .model import MISSING, Cells, Table, simple_table


def funnel_rows(recipe: BuildRecipe, counts: Sequence[StepCount]) -> list[dict[str, Any]]:
    """Return a mapping for each step: its counts, and the number of items that remained in the paper."""
    # If the paper has several counts after one step, use the first.
    miles = {mile.after: mile for mile in reversed(recipe.paper)}
    steps = []
    for place, count in zip(recipe.places, counts, strict=True):
        mile = miles.get(place.name)
        printed = {"paper": mile.items if mile else None, "paper_said": mile.said if mile else None}
        steps.append({"sort": place.step.takes, "about": place.step.about, **count.to_json(), **printed})
    return steps


def funnel_table(build: str, recipe: BuildRecipe, counts: Sequence[StepCount]) -> Table:
    """Return a table with a row for every step."""
    rows = []
    for row in funnel_rows(recipe, counts):
        why = [f"{n:,} {reason}" for reason, n in sorted(row["dropped"].items(), key=lambda one: (-one[1], one[0]))]
        why += [f"{n:,} failed ({fault})" for fault, n in sorted(row["failed"].items())]
        why += [f"{row[word]:,} {what}" for word, what in (("waiting", "wait for review"), ("pending", "to do"),
                                                           ("made", "added")) if row[word]]  # fmt: skip
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f}"
        paper = MISSING if row["paper"] is None else f"{row['paper']:,}"
        rows.append([row["place"], f"{row['arrived']:,}", f"{row['kept'] + row['made']:,}", paper, cost,
                     ", ".join(why)])  # fmt: skip
    printed = " → ".join(f"{mile.items:,} {mile.said}" for mile in recipe.paper)
    notes = [f"the paper: {printed}"] if printed else []
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


def studies_table(studies: Sequence[Study]) -> Table:
    """Return a table with all studies of a store."""
    rows = [[study.name, study.exam, study.status, str(study.body["design"]["title"])] for study in studies]
    return simple_table("studies", ["study", "exam", "status", "design"], rows)


def progress_table(study: OpenStudy, progress: StudyProgress) -> Table:
    """Return a table with a row for each rater."""
    heads = ["rater", "done", "places", "skipped", "checks passed", "checks", "same when asked again", "minutes"]
    rows = [
        [rater.rater, str(rater.done), str(rater.places), str(rater.skipped), str(rater.passed), str(rater.checks),
         MISSING if rater.same is None else f"{100 * rater.same:.0f}%", f"{rater.seconds / 60:.0f}"]
        for rater in progress.raters
    ]  # fmt: skip
    title = f"{study.name} · {study.study.exam} · {study.study.status} · {len(study.items)} items"
    notes = [f"{progress.done} of {progress.places} places are done", *study.study.body.get("notes", [])]
    if left := [rater.rater for rater in progress.raters if rater.left_out]:
        notes.append(f"left out by attention checks, so that their answers do not count: {', '.join(left)}")
    return simple_table(title, heads, rows, notes=notes)


def agreement_table(progress: StudyProgress) -> Table:
    """Return a table with a row for each sort of field."""
    heads = ["field", "answered by two or more", "equal pairs", "Krippendorff's alpha"]
    rows = [
        [of_field.name, str(of_field.n), MISSING if of_field.same is None else f"{100 * of_field.same:.0f}%",
         MISSING if of_field.alpha is None else f"{of_field.alpha:.2f}"]
        for of_field in progress.fields
    ]  # fmt: skip
    notes = sorted({f"no alpha: {of_field.reason}" for of_field in progress.fields if of_field.reason})
    return simple_table("agreement so far", heads, rows, notes=notes)


CONTROL_WORDS = {
    "reference": "the right drawing",
    "shuffled": "another question's drawing",
    "blank": "a blank sheet",
}
"""The words for controls in the demo's sentences."""


def demo_table(by_exam: Mapping[str, Sequence[Standing]]) -> Table:
    """Return a table with a row for every exam: the share decided, and the share of it that each control met."""
    body: list[Cells] = []
    for name, standings in by_exam.items():
        rows = _by_control(standings)
        decided = [row.decided["share"] for row in rows.values() if row.decided.get("share") is not None]
        share = f"{sum(decided) / len(decided):.0%}" if decided else MISSING
        body.append(
            [
                name,
                str(max((row.n for row in rows.values()), default=0)),
                share,
                *(_met(rows, c) for c in CONTROL_WORDS),
            ]
        )
    heads = ["exam", "n", "decided", *(f"control/{name}" for name in CONTROL_WORDS)]
    notes = [
        "n: questions. decided: share of criteria that the built-in examiner, which only reads words, can decide. "
        "Then, of those, the share that each control's drawings meet"
    ]
    return simple_table("the bundled samples · judge ocr", heads, body, notes)


def demo_sentence(name: str, title: str, standings: Sequence[Standing]) -> str:
    """Return a sentence about an exam and the results of its controls."""
    rows = _by_control(standings)
    met = [f"{words} {_met(rows, control)}" for control, words in CONTROL_WORDS.items() if control in rows]
    words = f"met of what could be decided: {', '.join(met)}" if met else "nothing was marked"
    return f"{name}: {title.partition(': ')[2] or title}. {words[0].upper()}{words[1:]}."


def _by_control(standings: Sequence[Standing]) -> dict[str, Standing]:
    return {row.painter.removeprefix("control/"): row for row in standings}


def _met(rows: Mapping[str, Standing], control: str) -> str:
    met = rows[control].decided.get("met") if control in rows else None
    return MISSING if met is None else f"{met:.0%}"
