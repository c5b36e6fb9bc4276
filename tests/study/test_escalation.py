"""Which drawings are left to people, and the study of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core.errors import UsageError
from limner.scoring.escalation import Wanted
from limner.store import Store
from limner.study.escalation import escalated
from limner.study.records import load_items, load_study
from tests.cli.invoke import limner
from tests.rehearsal import EXAM, STUDY, Rehearsal, rehearse
from tests.support import picture

pytestmark = pytest.mark.slow
WANTED = Wanted(score="relaxed")


@pytest.fixture
def held(tmp_path: Path, store: Store) -> tuple[Rehearsal, list[str], list[str]]:
    """A judge that is right on half of the drawings each time, and guesses on the others; people marked 140 of 280."""
    made = rehearse(tmp_path, store, 140)
    ids = [*made.draw("one", 0.9), *made.draw("two", 0.5)]
    setup = made.judge("lab/judge", [], 1.0, 1.0)
    easy, hard = ids[::2], ids[1::2]
    made.mark(setup, easy, made.errs(1.0, 1.0), repeats=3)
    made.mark(setup, hard, made.errs(0.6, 0.5), repeats=3)
    chosen = [id for place, id in enumerate(ids) if place % 4 < 2]
    made.study(dict.fromkeys(chosen, 0.5))
    for name in ("anna", "ben", "cleo"):
        made.person(name, chosen, 0.995)
    return made, chosen, hard


def test_what_it_guesses_is_left_to_people(held: tuple[Rehearsal, list[str], list[str]]) -> None:
    made, chosen, hard = held
    found = escalated(EXAM, "lab/judge", store=made.store, study=STUDY, wanted=WANTED)
    left = {one.drawing for one in found}
    assert not left & {*chosen}
    assert left <= {*hard}
    assert len(left) >= 60
    assert found[0].reason.startswith("agreement of repeats 0.")
    assert "from where on it agrees with people on 90%" in found[0].reason


def test_without_proof_everything_is_left_to_people(held: tuple[Rehearsal, list[str], list[str]]) -> None:
    made, chosen, _ = held
    found = escalated(EXAM, "lab/judge", store=made.store, study=STUDY, wanted=Wanted("relaxed", agreement=0.995))
    assert len(found) == 280 - len(chosen)
    assert "people have marked drawings of 70 questions; 598 are the least" in found[0].reason


def test_who_nobody_can_be_is_refused(held: tuple[Rehearsal, list[str], list[str]]) -> None:
    made, _, _ = held
    with pytest.raises(UsageError, match="no judge 'lab/other'"):
        escalated(EXAM, "lab/other", store=made.store)


def test_the_study_of_the_rest(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        made = rehearse(tmp_path, store, 40)
        image, _ = store.blobs.put(picture(1))
        ids = made.draw("one", 0.7, image=image)
        made.judge("lab/judge", ids, 0.8, 0.7)
        made.study(dict.fromkeys(ids[:10], 0.25))
        made.person("anna", ids[:10], 1.0)
    said = limner(
        "study", "new", "rest", "--exam", EXAM, "--design", "genexam", "--escalated", "lab/judge", "--people", "2",
        "--store", tmp_path / "store",
    ).out  # fmt: skip
    assert "rest: 30 items" in said
    with Store(tmp_path / "store") as store:
        items, body = load_items(store, "rest"), load_study(store, "rest").body
    assert {id for item in items for id in item.drawings} == {*ids[10:]}
    assert {item.probability for item in items} == {1.0}
    assert body["escalated"]["evaluator"] == "lab/judge"
    assert "people have marked drawings of 10 questions" in next(iter(body["escalated"]["reasons"].values()))
