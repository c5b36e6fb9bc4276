"""Painters by judges: the same drawings under every judge."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from limner import api
from limner.core.errors import UsageError
from limner.exams import SHIPPED
from limner.plots import PlotChoice, known, plot
from limner.store import Store
from tests.tables import synthetic

JUDGES = ("openai/gpt-5", "gemini/gemini-2.5-pro")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHIPPED)
def test_every_exam_has_painters_by_judges(kind: str, tmp_path: Path, matplotlib: None) -> None:
    with Store(tmp_path / "s") as store:
        synthetic.fill(store, kind, painters=4, questions=12, images=False, judges=JUDGES)
        choice = PlotChoice(store=store)
        grid = known()["by-judge"].frame(kind, choice)
        assert grid.columns == tuple(sorted(JUDGES))
        _, groups = api.groups(kind, store=store)
        name = grid.label.partition(" (")[0]
        rivals = [group for group in groups if not group.control]
        common = set.intersection(*({entry.question.id for entry in group.scored} for group in rivals))
        assert f"n = {len(common)} " in grid.caption
        for group in groups:
            cell = grid.cells[grid.rows.index(group.name)][grid.columns.index(group.evaluator.name)]
            inside = [entry for entry in group.scored if entry.question.id in common]
            if cell.value is not None:
                rows = [entry.row for entry in inside]
                assert cell.value == pytest.approx(store_mean(kind, rows, name))
        plot("by-judge", [kind], tmp_path / "a.svg", choice, "single")


def store_mean(kind: str, rows: list, name: str) -> float:  # type: ignore[type-arg]
    from limner import exams

    return exams.kind(kind).protocol.summary(rows)[name]


def test_one_judge_alone_is_refused(filled: dict[str, Store]) -> None:
    with pytest.raises(UsageError, match="only fake/judge has marked; `limner mark genexam --judge NAME`"):
        known()["by-judge"].frame("genexam", PlotChoice(store=filled["genexam"]))
