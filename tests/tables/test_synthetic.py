"""The made-up stores other tests stand on: every exam, the same each time, with all that can go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner import api, exams
from limner.store import Store
from limner.store.records import load_drawings
from tests.tables import synthetic


@pytest.mark.slow
@pytest.mark.parametrize("kind", exams.EXAMS.own())
@pytest.mark.parametrize("questions", [None, 24])
def test_every_exam_has_scores(store: Store, kind: str, questions: int | None) -> None:
    synthetic.fill(store, kind, questions=questions, images=False)
    found = api.scores(kind, store=store)
    main = exams.kind(kind).protocol.scored[0].name
    assert len(found) == 9
    values = {standing.painter: standing.scores[main].value for standing in found}
    assert sum(value is not None for value in values.values()) >= 8
    best, worst = values["gemini/gemini-3-pro-image-preview"], values["Janus-Pro"]
    assert best is not None
    assert worst is not None
    assert best > worst


@pytest.mark.slow
def test_everything_that_can_go_wrong(store: Store) -> None:
    ways = ("direct", "rewrite")
    synthetic.fill(
        store, "genexam", painters=6, questions=40, judges=("one", "ocr"), strategies=ways, repeats=2, images=False
    )
    found = api.scores("genexam", store=store)
    assert len(found) == 6 * 2 * 2
    failures = {what for standing in found for what in standing.failures}
    assert failures == {"refusal", "unreadable"}
    assert any(standing.bounds for standing in found if standing.judge == "one")
    assert all(standing.bounds for standing in found if standing.judge == "ocr")
    assert {standing.cost is None for standing in found} == {True, False}


@pytest.mark.slow
def test_the_same_arguments_give_the_same_store(tmp_path: Path) -> None:
    seen = []
    for number, seed in enumerate((1, 1, 2)):
        with Store(tmp_path / str(number)) as store:
            synthetic.fill(store, "aibench", painters=2, questions=6, seed=seed, controls=["control/reference"])
            seen.append([standing.to_json() for standing in api.scores("aibench", store=store)])
            drawings = list(load_drawings(store, "aibench"))
            assert len(drawings) == 3 * 6
            assert all(store.blobs.get(drawing.image or "") for drawing in drawings if drawing.status == "done")
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_many_painters_have_names_of_their_own() -> None:
    names = [painter.name for painter in synthetic.cast(25)]
    assert len(set(names)) == 25
