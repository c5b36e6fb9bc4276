"""The engine: items through steps, each outcome stored, nothing done twice, any step anew without the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limner.build.base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome, Use
from limner.build.engine import Builder, Spending, change_build, new_build, open_build, with_models
from limner.build.estimate import build_estimate
from limner.build.recipe import STEPS as REGISTERED
from limner.build.records import add_review, load_build, load_rows
from limner.build.review_files import review_items
from limner.build.reviews import Review, state_id
from limner.core import settings as core_settings
from limner.core.asks import Contract, Text, Unreadable
from limner.core.errors import UsageError
from limner.core.json_text import loads
from limner.core.schema import StrictModel
from limner.store import Store
from tests.build.scripted import Heard, Route, Scripted, scripted, write_provider

RECIPE = """
name = "tiny"
title = "numbers into words"
exam = "genexam"
roles = {writer = "writes words"}
paper = [{after = "count", items = 40000, said = "numbers"}, {after = "write", items = 1000, said = "words"}]

[[steps]]
name = "count"
step = "t-count"

[[steps]]
name = "even"
step = "t-even"

[[steps]]
name = "write"
step = "t-write"

[[steps]]
name = "unique"
step = "t-unique"

[[steps]]
name = "review"
fields = ["word"]
reviewers = 2
"""


class CountSettings(StrictModel):
    n: int = 6


class EvenSettings(StrictModel):
    keep: int = 0


class WriteSettings(StrictModel):
    language: str = "English"


async def count(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    for n in range(context.settings.n):
        yield BuildItem(f"n{n}", {"n": n, "noise": 7})
    yield "bad", Dropped("no number", "it is a letter")


async def even(item: BuildItem, context: StepContext) -> BuildItem:
    assert item.body.keys() == {"n"}, "a step sees what it reads"
    if item.body["n"] % 2 != context.settings.keep:
        raise Dropped("odd", f"{item.body['n']} is")
    return item.having(half=item.body["n"] // 2)


async def write(item: BuildItem, context: StepContext) -> BuildItem:
    def read(reply: str) -> str:
        word = loads(reply).get("word")
        if not isinstance(word, str):
            raise Unreadable('"word" must be a text')
        return word

    shown = context.prompts.fill("write", n=str(item.body["n"]), language=context.settings.language)
    return item.having(word=await context.ask("writer", item, [Text(shown)], Contract(read)))


async def unique(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    seen: dict[str, str] = {}
    left: dict[str, StepOutcome] = {}
    for item in items:
        first = seen.setdefault(item.body["word"], item.id)
        left[item.id] = item if first == item.id else Dropped("twice", f"as {first}")
    return left


STEPS = {
    "t-count": BuildStep("t-count", "counts", CountSettings, source=count),
    "t-even": BuildStep("t-even", "keeps even numbers", EvenSettings, reads=("n",), each=even),
    "t-write": BuildStep(
        "t-write",
        "writes",
        WriteSettings,
        ("writer",),
        ("write",),
        ("n",),
        each=write,
        use=(Use("writer", "write", 10),),
    ),
    "t-unique": BuildStep("t-unique", "each word once", reads=("word",), together=unique),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "recipe"
    (place / "prompts").mkdir(parents=True)
    (place / "recipe.toml").write_text(RECIPE, "utf-8")
    (place / "prompts" / "write.md").write_text("Write {{n}} in {{language}}.", "utf-8")
    for name, step in STEPS.items():
        monkeypatch.setitem(REGISTERED, name, step)
    monkeypatch.chdir(tmp_path)
    return place


def say(heard: Heard) -> Any:
    n = int(heard.text.split()[1])
    if n == 4 and heard.turn == 0:
        return "I would rather not write JSON"
    return {"word": f"w{n}" if n < 8 else "w0"}


@pytest.fixture
def llm(tmp_path: Path) -> Iterator[Scripted]:
    with scripted(Route("Write ", say, ("in ",))) as service:
        write_provider(tmp_path, service)
        yield service


def start(store: Store, folder: Path, *settings: str) -> Builder:
    builder = new_build(store, "b", str(folder), settings=settings, roles={"writer": "fake/llm"})
    return with_models(builder, core_settings.load())


def again(store: Store, *settings: str, **roles: str) -> Builder:
    changed = change_build(store, load_build(store, "b"), settings=settings, roles=roles)
    return with_models(changed, core_settings.load())


def test_steps_record_counts_reasons_and_costs(store: Store, folder: Path, llm: Scripted) -> None:
    builder = start(store, folder, "count.n=10")
    progress = builder.run(Spending())
    counts, items = builder.look()
    assert [(one.place, one.arrived, one.kept) for one in counts] == [
        ("count", 11, 10), ("even", 10, 5), ("write", 5, 5), ("unique", 5, 4), ("review", 4, 0)
    ]  # fmt: skip
    assert (counts[0].dropped, counts[1].dropped, counts[3].dropped) == ({"no number": 1}, {"odd": 5}, {"twice": 1})
    assert (counts[4].waiting, items) == (4, {})
    assert llm.total == 6  # One reply was objected to.
    assert counts[2].cost == pytest.approx(6 * (100 * 1.0 + 50 * 4.0) / 1e6) == progress.spent
    assert load_rows(store, "b", "unique")["n8"].reason == "twice: as n0"


def test_changed_step_settings_rerun_only_affected_steps(store: Store, folder: Path, llm: Scripted) -> None:
    start(store, folder).run(Spending())
    asked, evens = llm.total, load_rows(store, "b", "even")
    again(store, "write.language=French").run(Spending())
    assert llm.total == asked + 4  # One of the three is objected to once.
    assert load_rows(store, "b", "even") == evens
    assert "French" in llm.heard[-1][1].text
    # Back again: the journal has it all.
    again(store, "write.language=English").run(Spending())
    assert llm.total == asked + 4


def test_items_removed_from_source_are_dropped(store: Store, folder: Path, llm: Scripted) -> None:
    start(store, folder, "count.n=6").run(Spending())
    again(store, "count.n=2").run(Spending())
    counts, _ = again(store).look()
    assert [one.arrived for one in counts[:3]] == [3, 2, 1]


def test_costs_of_earlier_settings_and_items_stay_in_the_status(store: Store, folder: Path, llm: Scripted) -> None:
    start(store, folder).run(Spending())
    again(store, "write.language=French").run(Spending())
    builder = again(store, "count.n=2")
    builder.run(Spending())
    assert builder.look()[0][2].arrived == 1
    assert builder.look()[0][2].cost == pytest.approx(llm.spent)


def test_unreadable_reply_fails_its_item_only(store: Store, folder: Path, tmp_path: Path) -> None:
    with scripted(Route("Write ", lambda heard: "no" if "Write 2" in heard.text else say(heard))) as service:
        write_provider(tmp_path, service)
        builder = start(store, folder)
        progress = builder.run(Spending())
        counts, _ = builder.look()
        assert (progress.failed, counts[2].failed, counts[2].kept) == (1, {"unreadable": 1}, 2)
        asked = service.total
        again(store).run(Spending())
        assert service.total == asked  # A plain run pays for nothing again.
        service.routes[0] = Route("Write ", say)
        again(store).run(Spending(retry_failed=True))
        counts, _ = again(store).look()
        assert (counts[2].failed, counts[2].kept, service.total) == ({}, 3, asked + 1)


def test_two_reviewers_must_agree(store: Store, folder: Path, llm: Scripted) -> None:
    builder = start(store, folder)
    builder.run(Spending())
    state = {"word": "w0"}
    add_review(store, Review("b", "n0", "anna", "edit", state_id(state), {"word": "zero"}))
    add_review(store, Review("b", "n0", "bert", "accept", state_id(state)))
    add_review(store, Review("b", "n2", "anna", "reject", None, comment="dull"))
    add_review(store, Review("b", "n2", "bert", "reject"))
    add_review(store, Review("b", "extra", "anna", "add", None, {"word": "own"}))
    add_review(store, Review("b", "extra", "bert", "accept", state_id({"word": "own"})))
    again(store).run(Spending())
    counts, items = again(store).look()
    assert (counts[4].waiting, counts[4].dropped, counts[4].made) == (2, {"rejected in review": 1}, 1)
    assert {id: item.body["word"] for id, item in items.items()} == {"extra": "own"}
    assert load_rows(store, "b", "review")["n0"].reason == "disputed: 2 opinions of 2 reviewers"
    add_review(store, Review("b", "n0", "bert", "accept", state_id({"word": "zero"})))
    again(store).run(Spending())
    _, items = again(store).look()
    assert dict(items["n0"].body) == {"n": 0, "noise": 7, "half": 0, "word": "zero", "reviewers": ["anna", "bert"]}


def test_step_that_would_drop_reviewed_items_leaves_them_to_reviewers(
    store: Store, folder: Path, llm: Scripted
) -> None:
    start(store, folder).run(Spending())
    for who in ("anna", "bert"):
        add_review(store, Review("b", "n0", who, "accept", state_id({"word": "w0"}), state={"word": "w0"}))
    again(store, "even.keep=1").run(Spending())
    builder = again(store)
    counts, items = builder.look()
    assert items.keys() == {"n0"}
    assert items["n0"].body["kept_by_review"] == ["even: odd: 0 is"]
    assert (items["n0"].body["word"], items["n0"].body["half"]) == ("w0", 0)
    assert (counts[1].kept, counts[1].kept_by_review, counts[1].dropped) == (4, 1, {"odd": 2})
    assert review_items(builder)["n0"].warnings == ["an earlier step would now drop it: even: odd: 0 is"]
    for who in ("anna", "bert"):
        add_review(store, Review("b", "n0", who, "reject"))
    again(store).run(Spending())
    assert again(store).look()[1] == {}


def test_source_without_a_reviewed_item_leaves_it_to_reviewers(store: Store, folder: Path, llm: Scripted) -> None:
    start(store, folder).run(Spending())
    for who in ("anna", "bert"):
        add_review(store, Review("b", "n4", who, "accept", state_id({"word": "w4"}), state={"word": "w4"}))
    for _ in range(2):
        again(store, "count.n=2").run(Spending())
        builder = again(store)
        counts, items = builder.look()
        assert items.keys() == {"n4"}
        assert (items["n4"].body["n"], items["n4"].body["word"]) == (4, "w4")
        why = "count: no longer in the source"
        assert items["n4"].body["kept_by_review"] == [why]
        assert (counts[0].arrived, counts[0].kept, counts[0].kept_by_review) == (4, 3, 1)
        assert review_items(builder)["n4"].warnings == [f"an earlier step would now drop it: {why}"]
    again(store, "count.n=6").run(Spending())
    assert "kept_by_review" not in again(store).look()[1]["n4"].body


def test_kept_item_has_its_fields_after_a_failure(
    store: Store, folder: Path, llm: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step fails first, and would drop it then."""
    start(store, folder).run(Spending())
    for who in ("anna", "bert"):
        add_review(store, Review("b", "n0", who, "accept", state_id({"word": "w0"}), state={"word": "w0"}))

    async def broken(item: BuildItem, context: StepContext) -> BuildItem:
        raise ValueError(str(item.id))

    monkeypatch.setitem(REGISTERED, "t-even", replace(STEPS["t-even"], each=broken))
    again(store, "even.keep=3").run(Spending())
    assert again(store).look()[0][1].failed
    monkeypatch.setitem(REGISTERED, "t-even", STEPS["t-even"])
    again(store, "even.keep=1").run(Spending())
    kept = again(store).look()[1]["n0"].body
    assert (kept["half"], kept["kept_by_review"]) == (0, ["even: odd: 0 is"])


def test_missing_roles_wrong_settings_and_unknown_steps_are_reported(store: Store, folder: Path, llm: Scripted) -> None:
    with pytest.raises(UsageError, match="its settings are: n"):
        new_build(store, "b", str(folder), settings=["count.m=3"])
    with pytest.raises(UsageError, match="no step 'nix'; its steps are: count, even"):
        new_build(store, "b", str(folder), settings=["nix.m=3"])
    with pytest.raises(UsageError, match="no role 'cook'; its roles are: writer"):
        new_build(store, "b", str(folder), roles={"cook": "fake/llm"})
    builder = new_build(store, "b", str(folder))
    with pytest.raises(UsageError, match=r"step write needs the writer \(writes words\): -S writer=PROVIDER/MODEL"):
        builder.run(Spending())
    builder.run(Spending(), until="even")
    assert builder.look("even")[0][1].kept == 3
    with pytest.raises(UsageError, match="already has a build 'b'"):
        new_build(store, "b", str(folder))
    with pytest.raises(UsageError, match="has no build 'c'; its builds are: b"):
        open_build(store, "c")
    with pytest.raises(UsageError, match="--budget cannot be enforced"):
        with_models(again(store, writer="fake/unpriced"), core_settings.load()).run(Spending(budget=1.0))


def test_unreadable_table_is_reported_before_any_call(store: Store, folder: Path, no_polars: None) -> None:
    """The steps before it ask a model."""
    with scripted() as service:
        write_provider(folder.parent, service)
        roles = {"annotator": "fake/llm", "checker": "fake/llm"}
        builder = new_build(store, "b", "exam", settings=['images.tables=["a.parquet"]'], roles=roles)
        with pytest.raises(UsageError, match=r"a\.parquet: a Parquet file needs polars; .* 'limner\[parquet\]'"):
            with_models(builder, core_settings.load()).run(Spending())
        assert service.total == 0
        assert load_rows(store, "b", "taxonomy") == {}


def test_estimate_counts_remaining_steps(store: Store, folder: Path, llm: Scripted) -> None:
    builder = start(store, folder)
    builder.run(Spending(), until="count")
    (found,) = build_estimate(builder, core_settings.load())
    assert (found.steps, found.calls, found.tokens_out) == (6, 6, 60)
    assert found.tokens_in == pytest.approx(6 * len('Write {{n}} in {{language}}.{"n": 1}') / 3.5, abs=1)
    builder.run(Spending())
    (found,) = build_estimate(builder, core_settings.load())
    assert (found.steps, found.dollars) == (0, 0.0)
