"""How far studies are, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..study.open import OpenStudy
from ..study.progress import StudyProgress
from ..study.records import Study
from .model import MISSING, Table, simple_table


def studies_table(studies: Sequence[Study]) -> Table:
    """All studies of a store."""
    rows = [[one.name, one.exam, one.status, str(one.body["design"]["title"])] for one in studies]
    return simple_table("studies", ["study", "exam", "status", "design"], rows)


def progress_table(study: OpenStudy, progress: StudyProgress) -> Table:
    """A row for each rater."""
    heads = ["rater", "done", "places", "skipped", "checks passed", "checks", "same when asked again", "minutes"]
    rows = [
        [one.rater, str(one.done), str(one.places), str(one.skipped), str(one.passed), str(one.checks),
         MISSING if one.same is None else f"{100 * one.same:.0f}%", f"{one.seconds / 60:.0f}"]
        for one in progress.raters
    ]  # fmt: skip
    title = f"{study.name} · {study.study.exam} · {study.study.status} · {len(study.items)} items"
    done = f"{progress.done} of {progress.places} places are done"
    return simple_table(title, heads, rows, notes=[done, *study.study.body.get("notes", [])])


def agreement_table(progress: StudyProgress) -> Table:
    """A row for each sort of field."""
    heads = ["field", "answered by two or more", "equal pairs", "Krippendorff's alpha"]
    rows = [
        [one.name, str(one.n), MISSING if one.same is None else f"{100 * one.same:.0f}%",
         MISSING if one.alpha is None else f"{one.alpha:.2f}"]
        for one in progress.fields
    ]  # fmt: skip
    notes = sorted({f"no alpha: {one.reason}" for one in progress.fields if one.reason})
    return simple_table("agreement so far", heads, rows, notes=notes)
