"""Small studies for tests: made-up drawings, a design, and raters who answer by a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from limner.store import Store
from limner.study.answers import Click, save_clicks, stored_click
from limner.study.design import AnswerField
from limner.study.new import NewStudy, create_study
from limner.study.open import OpenStudy, open_study, places_of
from limner.study.records import load_raters
from limner.study.sampling import StudyPlace
from tests.report.tables import synthetic

PAINTER = "openai/gpt-image-1"
Rule = Callable[[str, StudyPlace, AnswerField], Any]
DESIGNS = {
    "genexam": "genexam", "genexam-models": "genexam", "mmmg": "mmmg", "fepbench": "fepbench",
    "aibench-pairs": "aibench", "aibench-aesthetics": "aibench",
}  # fmt: skip
"""Every shipped design with its exam."""


def fill(store: Store, kind: str, questions: int = 6, painters: int = 3, **more: Any) -> None:
    """Drawings of a made-up exam, with the originals."""
    synthetic.fill(store, kind, painters=painters, questions=questions, controls=["control/reference"], **more)


def make(store: Store, design: str = "genexam", name: str = "pilot", **more: Any) -> NewStudy:
    """A study by a shipped design, of what `fill` drew."""
    if design == "genexam" and "painters" not in more:
        more["painters"] = [PAINTER]
    return create_study(store, name, DESIGNS.get(design, "genexam"), design, **more)


def usual(rater: str, place: StudyPlace, field: AnswerField) -> Any:
    """An answer that depends on rater, item and field alone."""
    if field.kind == "listing":
        things = [{"sort": field.sorts[0], "item": "a second sun", "place": "upper left (twice)"}]
        return {"items": things if place.item % 2 else [], "done": True}
    if field.kind == "check":
        return place.check
    if field.kind == "rank":
        return int(field.name.partition("/")[2])
    values = [value for value, _ in field.values]
    return values[sum(map(ord, f"{rater}{place.item}{field.name}")) % len(values)]


def answer(store: Store, name: str = "pilot", rule: Rule = usual, only: Mapping[str, int] | None = None) -> OpenStudy:
    """Every rater answers everything, or as many places as `only` says."""
    study = open_study(store, name)
    for rater in load_raters(store, name):
        places = places_of(rater)
        for place in places if only is None else places[: only.get(rater.rater, 0)]:
            form = study.form(place)
            clicks = [
                stored_click(place, form, Click(one.name, rule(rater.rater, place, one), seconds=1.5)) for one in form
            ]

            def operation(connection: sa.Connection, place: StudyPlace = place, clicks: list[Click] = clicks) -> bool:
                return save_clicks(connection, study, rater, place, clicks)  # noqa: B023

            assert store.write(operation)
    return study
