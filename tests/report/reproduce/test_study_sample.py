"""Tables that compare judges with people: other judges mark the drawings that the study shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.report.reproduce import Reproduction, make_checklist
from limner.running.backlog import Backlog
from limner.store import Store
from limner.store.store import open_store
from limner.study.new import create_study, study_drawings
from limner.study.records import load_items
from tests.cli.invoke import limner
from tests.report.tables import synthetic
from tests.study.made import PAINTER

SIZE = {"size": 4}


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of four drawings in place of 250."""
    from limner.report.reproduce import steps
    from limner.study import design, new

    def small(word: str, kind: object) -> design.StudyDesign:
        whole = design.find_design(word, kind)  # type: ignore[arg-type]
        return whole.model_copy(update={"sample": whole.sample.model_copy(update=SIZE)})

    monkeypatch.setattr(new, "find_design", small)
    monkeypatch.setattr(steps, "find_design", small)
    monkeypatch.setenv("LIMNER_TODAY", "2026-06-01")


@pytest.mark.usefixtures("design")
def test_other_judges_mark_the_drawings_of_the_study(store: Store) -> None:
    asked = Reproduction("genexam", items=("Table 4",), painters=("GPT-Image-1",), judges=("ocr",))
    synthetic.fill(store, "genexam", painters=2, questions=30)
    before = {tuple(sorted(ids)) for ids in marked(asked, store)}
    create_study(store, "genexam", "genexam", "genexam", painters=[PAINTER])
    shown = {id for item in load_items(store, "genexam") for id in item.drawings}
    assert len(shown) == 4
    assert before == {tuple(sorted(shown))}
    assert all(ids == shown for ids in marked(asked, store))


def marked(asked: Reproduction, store: Store) -> list[set[str]]:
    """The drawings that each step for the study would mark."""
    checklist = make_checklist(asked, store)
    steps = [step for step in checklist.steps if step.step.study and not step.step.cannot]
    assert all("--study genexam" in step.command for step in steps)
    plans = [step.plan for step in steps if step.plan is not None]
    assert plans
    return [{slot.drawn.id for slot in Backlog(plan, store).slots() if slot.drawn} for plan in plans]


@pytest.mark.usefixtures("design")
def test_study_selects_drawings_in_run_mark_and_estimate(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    with open_store(path, create=True) as store:
        synthetic.fill(store, "genexam", painters=2, questions=30)
        ids = study_drawings(store, "genexam", "genexam", [PAINTER])
        with pytest.raises(UsageError, match="choose with --painter"):
            study_drawings(store, "genexam", "genexam")
        with pytest.raises(UsageError, match="no design 'nothing'"):
            study_drawings(store, "genexam", "nothing")
    assert len(ids) == 4
    words = ("genexam", "--painter", PAINTER, "--study", "genexam", "--judge", "ocr", "--store", path)
    assert "4 markings" in limner("mark", *words, "--dry-run").out
    assert limner("estimate", *words, "--format=json").json()["steps"][-1]["steps"] == 4
