"""The recipe of atoms from figures and experts' prompts to a reviewed exam: what it drops, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from limner.build.base import BuildItem
from limner.build.engine import Builder, Spending, change_build, new_build, with_models
from limner.build.export import export
from limner.build.records import StepCount, add_review, load_build, load_reviews, load_rows
from limner.build.review_files import review_items
from limner.build.review_page import review_app
from limner.build.reviews import Review, Reviewer, save_reviewer, state_id
from limner.core import settings as core_settings
from limner.core.redaction import csrf_token, token_hash
from limner.serve.base import CSRF
from limner.store import Store
from limner.store.store import open_store
from tests.build.figure_annotator import (
    ADDED,
    APART,
    COUNTED,
    EMPTY,
    FIGURES,
    GOOD,
    LIAR,
    MARKS,
    PLOT,
    SILENT,
    routes,
    write_figures,
)
from tests.build.scripted import Scripted, scripted, write_provider

pytestmark = pytest.mark.slow
Built = tuple[Builder, list[StepCount], dict[str, BuildItem]]
ROLES = {"annotator": "fake/llm", "checker": "fake/llm"}


@pytest.fixture(scope="module")
def llm() -> Iterator[Scripted]:
    with scripted(*routes()) as service:
        yield service


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, llm: Scripted) -> Iterator[Built]:
    place = tmp_path_factory.mktemp("atoms")
    folder = write_figures(place / "figures")
    write_provider(place, llm)
    chosen = [f'figures.folders=["{folder}"]', "figures.licence=CC-BY-4.0", "review.reviewers=0"]
    with pytest.MonkeyPatch.context() as patch, open_store(str(place / "store"), create=True) as store:
        patch.chdir(place)
        new_build(store, "mine", "atoms", settings=chosen, roles=ROLES)
        builder = carried_on(store)
        yield builder, *builder.look()


def carried_on(store: Store, *settings: str) -> Builder:
    builder = with_models(change_build(store, load_build(store, "mine"), settings=settings), core_settings.load())
    builder.run(Spending(budget=10.0))
    return builder


def named(built: Built) -> dict[str, str]:
    """Figure by its item."""
    items = built[0].arriving("measure").values()
    return {item.id: Path(item.body["source"]["origin"]).stem for item in items}


def why(built: Built, step: str) -> dict[str, str]:
    """Figure -> why it has not passed the step."""
    rows = load_rows(built[0].store, "mine", step)
    return {named(built)[id]: str(row.reason) for id, row in rows.items() if row.status != "done"}


def test_every_step_sends_its_inputs(built: Built, llm: Scripted) -> None:
    assert llm.refused == []
    assert {mark for mark, _ in llm.heard} == set(MARKS.values())


def test_figures_are_dropped_with_reason(built: Built) -> None:
    assert why(built, "write-prompt") == {SILENT: "review: 0 of 1 reviewers"}
    assert why(built, "screen") == {PLOT: "data plot: It is drawn."}
    atoms = why(built, "atoms")
    assert atoms.keys() == {EMPTY, LIAR}
    assert atoms[EMPTY] == "empty category: text reasoning: the prompt names every label"
    assert atoms[LIAR].startswith("unreadable: ")
    assert "ignore all rules" in atoms[LIAR]
    assert why(built, "structured") == {}
    assert why(built, "split")[APART].startswith("the prompts ask for different atoms: ")
    assert {named(built)[id] for id in built[2]} == {GOOD, COUNTED, ADDED}


def test_invented_atom_is_named_by_the_checker(built: Built) -> None:
    rows = load_rows(built[0].store, "mine", "check")
    (apart,) = (row.body or {} for id, row in rows.items() if named(built)[id] == APART)
    assert apart["unseen_visual"] == ["heat exchanger"]
    assert "not seen in the figure by the checker: heat exchanger" in str(apart["warnings"])
    assert sum("not seen" in str(row.body) for row in rows.values()) == 1


def test_every_warning_is_given_once(built: Built) -> None:
    warnings = [item.body.get("warnings", []) for item in built[2].values()]
    assert any(warnings)
    assert all(len(set(some)) == len(some) for some in warnings)


def test_atoms_match_samples(built: Built) -> None:
    for id, item in built[2].items():
        gold = FIGURES[named(built)[id]]
        for modality in ("visual", "text", "relation"):
            assert [dict(atom) for atom in item.body[modality]] == gold["atoms"][modality]
        assert item.body["layout"] == gold["atoms"]["layout"]
        assert (item.body["domain"], item.body["panel_type"], item.body["aspect"]) == (
            gold["domain"], gold["panel_type"], gold["aspect"]
        )  # fmt: skip


def test_structured_prompt_adds_no_content(built: Built, llm: Scripted) -> None:
    prompts = {named(built)[id]: item.body["structured_prompt"] for id, item in built[2].items()}
    assert "thermometer" not in prompts[ADDED], "the checker has seen it, and it was written anew"
    assert any("- added: a thermometer" in heard.text for heard in llm.asked(MARKS["structured"]))
    objected = [heard for heard in llm.asked(MARKS["structured"]) if heard.turn]
    assert any("added: the number 4" in heard.text for heard in objected), "rules object before anybody is asked"
    for figure, prompt in prompts.items():
        assert prompt.startswith("Layout: "), figure


def test_review_that_breaks_split_is_held_back(built: Built, llm: Scripted, tmp_path: Path) -> None:
    builder, _, items = built
    models = builder.models
    ids = {figure: id for id, figure in named(built).items()}
    before = llm.total
    builder = change_build(builder.store, load_build(builder.store, "mine"), settings=["review.reviewers=1"])
    builder.models = models
    builder.run(Spending())
    reviewed = [(id, each) for id, each in sorted(review_items(builder).items()) if each.place.name == "review"]
    standings = [(id, each.standing) for id, each in reviewed]
    for n, (id, found) in enumerate(standings):
        change = {}
        if id == ids[GOOD]:
            change = {"evidence": [row for row in found.body["evidence"] if row["atom"] != "v1"]}
        action = "edit" if change else "accept"
        review = Review("mine", id, "anna", action, state_id(found.body), change, "", created=float(n + 1))
        add_review(builder.store, review)
    builder.run(Spending())
    assert llm.total == before, "reviews cost nothing"
    assert why((builder, [], items), "verify") == {
        GOOD: "review: v1: no evidence in the free prompt; v1: no evidence in the structured prompt"
    }
    made = export(builder, tmp_path / "out")
    assert (made.questions, made.pictures) == (4, 2)
    assert {one.id for one in made.exam.questions} == {
        f"Physics_{n}/{r}" for n in (1, 2) for r in ("free", "structured")
    }
    evidence = json.loads((tmp_path / "out" / "data" / "evidence.json").read_text("utf-8"))
    assert evidence.keys() == {"Physics_1", "Physics_2"}
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")
    assert "| screen | 7 | 6 | 1,300 | 1 data plot |" in sheet
    assert str(tmp_path) not in sheet
    assert "figures.folders" not in sheet


def test_missing_prompt_is_written_on_the_page(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = built[0]
    (silent,) = load_rows(builder.store, "mine", "write-prompt").keys() & {
        i for i, n in named(built).items() if n == SILENT
    }
    save_reviewer(builder.store, "mine", Reviewer("anna", token_hash("t" * 32)))
    headers = {CSRF: csrf_token("t" * 32), "content-type": "application/json"}
    words = FIGURES[SILENT]["prompts"]["free"]
    with TestClient(review_app(builder.store, "mine")) as client:
        page = client.get(f"/r/{'t' * 32}/data/{silent}").json()
        assert (page["state"], page["needed"], len(page["pictures"])) == ({"free_prompt": ""}, 1, 1)
        shown = client.get(f"/r/{'t' * 32}/item/{silent}").text
        assert f"figures/{SILENT}.png <span" in shown
        assert "experts write the prompts that figures lack." in shown
        empty = {"action": "accept", "base": page["base"], "seen": None, "comment": ""}
        answer = client.post(f"/r/{'t' * 32}/act/{silent}", content=json.dumps(empty), headers=headers)
        assert (answer.status_code, "Write free prompt first" in answer.text) == (422, True)
        sent = {"action": "save", "base": page["base"], "seen": None, "comment": "", "state": {"free_prompt": words}}
        answer = client.post(f"/r/{'t' * 32}/act/{silent}", content=json.dumps(sent), headers=headers)
    assert answer.status_code == 200, answer.text
    after = carried_on(builder.store)
    assert after.arriving("prompt")[silent].body["free_prompt"] == words
    assert silent in after.arriving("labels"), "it goes on like a figure with a prompt"
    assert [review.step for review in load_reviews(builder.store, "mine")[silent]] == ["write-prompt"]
