"""The recipe of checklists from regions and disciplines to a reviewed exam: what it drops and warns of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.build.base import BuildItem
from limner.build.engine import Builder, Spending, change_build, new_build, with_models
from limner.build.export import export
from limner.build.records import StepCount, add_review, load_build, load_rows
from limner.build.review_files import review_items
from limner.build.reviews import Review, state_id
from limner.core import settings as core_settings
from limner.store import Store
from limner.store.store import open_store
from tests.build.scripted import Scripted, scripted, write_provider
from tests.build.writer import MARKS, SAME, routes

pytestmark = pytest.mark.slow
SETTINGS = ('regions.codes=["JP", "NL", "BE", "RU"]', "regions.prompts=3", "regions.transcontinental=none",
            "disciplines.prompts=8", "region-prompts.batches.size=2",
            "discipline-prompts.batches.size=2", "review.reviewers=1")  # fmt: skip
Built = tuple[Builder, list[StepCount], dict[str, BuildItem]]


@pytest.fixture(scope="module")
def llm() -> Iterator[Scripted]:
    with scripted(*routes()) as service:
        yield service


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, llm: Scripted) -> Iterator[Built]:
    place = tmp_path_factory.mktemp("checklist")
    write_provider(place, llm)
    with pytest.MonkeyPatch.context() as patch, open_store(str(place / "store"), create=True) as store:
        patch.chdir(place)
        new_build(store, "mine", "checklist", settings=SETTINGS, roles={"writer": "fake/llm", "checker": "fake/llm"})
        builder = carried_on(store)
        yield builder, *builder.look()


def carried_on(store: Store, *settings: str) -> Builder:
    builder = with_models(change_build(store, load_build(store, "mine"), settings=settings), core_settings.load())
    assert builder.run(Spending(budget=10.0)).failed == 0
    return builder


def test_every_step_sends_its_inputs(built: Built, llm: Scripted) -> None:
    assert llm.refused == []
    assert {mark for mark, _ in llm.heard} == set(MARKS.values())
    assert any(heard.turn for _, heard in llm.heard), "some replies were objected to"


def test_funnel_is_shown_beside_paper_funnel(built: Built) -> None:
    builder, counts, _ = built
    funnel = {one.place: one for one in counts}
    assert (funnel["regions"].kept, dict(funnel["regions"].dropped)) == (3, {"transcontinental": 1})
    assert (funnel["disciplines"].kept, funnel["discipline-prompts"].kept) == (6, 9)
    assert (funnel["each-prompt"].kept, dict(funnel["each-prompt"].dropped)) == (16, {"repeated prompt": 1})
    assert (funnel["lint"].kept, funnel["review"].waiting) == (16, 16)
    assert [(mile.after, mile.items) for mile in builder.recipe.paper] == [
        ("regions", 244), ("each-prompt", 1072), ("review", 1072)
    ]  # fmt: skip


def test_prompt_batches_include_earlier_prompts(built: Built, llm: Scripted) -> None:
    items = built[0].arriving("checklist")
    japan = [items[f"JP_{n}"].body for n in (1, 2, 3)]
    assert len({one["prompt"] for one in japan}) == 3
    assert {(one["country"], one["continent"], one["domain"]) for one in japan} == {("Japan", "Asia", "humanities")}
    assert items["BIO_MED_2"].body["discipline"] == "Biology & Medicine"
    later = [heard for heard in llm.asked(MARKS["region"]) if "Japan" in heard.text and "- (none)" not in heard.text]
    assert later
    assert all(japan[0]["prompt"] in heard.text for heard in later)


def test_checker_and_recurring_items_warn_reviewers(built: Built) -> None:
    warnings = {id: item.body["warnings"] for id, item in built[0].arriving("review").items() if item.sort == "prompt"}
    assert all(any("of 10 entries recur in other items" in each for each in own) for own in warnings.values())
    impossible = "could not have happened so: A pendulum has no section."
    assert sum(impossible in own for own in warnings.values()) == 6
    doubted = "facts that the checker doubts: The word 'Market' is written."
    assert all((doubted in own) != (impossible in own) for own in warnings.values())


def test_prompt_shared_by_two_topics_is_kept_once(built: Built) -> None:
    rows = load_rows(built[0].store, "mine", "each-prompt")
    assert [id for id, row in rows.items() if row.status == "dropped"] == ["NL_1"]
    assert rows["NL_1"].reason == "repeated prompt: the same as BE_1"
    assert (rows["BE_1"].body or {})["prompt"] == SAME


def test_reviewed_items_become_exam(built: Built, llm: Scripted, tmp_path: Path) -> None:
    builder = built[0]
    asked = llm.total
    standings = [(id, each.standing) for id, each in sorted(review_items(builder).items())]
    for n, (id, found) in enumerate(standings):
        action = "reject" if n == 0 else "edit" if n == 1 else "accept"
        body = {"prompt": "A prompt that Anna has mended, of a market day."} if action == "edit" else {}
        base = state_id(found.body)
        add_review(builder.store, Review("mine", id, "anna", action, base, body, "", created=float(n + 1)))
    builder.run(Spending())
    assert llm.total == asked, "reviews cost nothing"
    made = export(builder, tmp_path / "out")
    assert (made.questions, made.pictures, made.withheld) == (15, 0, 0)
    assert any("Anna has mended" in one.prompt for one in made.exam.questions)
    assert {one.tags["domain"] for one in made.exam.questions} == {"humanities", "nature"}
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text("utf-8")
    assert "| each-prompt | 17 | 16 | 1,072 | 1 repeated prompt |" in sheet
    assert "no pictures" in sheet
    assert "reference image" not in (tmp_path / "out" / "README.md").read_text("utf-8")
    first = json.loads((tmp_path / "out" / "questions.jsonl").read_text("utf-8").splitlines()[0])
    assert "file_name" not in first
    assert not (tmp_path / "out" / "recover.csv").exists()
