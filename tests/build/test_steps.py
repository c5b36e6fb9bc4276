"""Steps of builds: pictures taken in, prompts read, regions listed, items split."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.build.ask import ASK, AskSettings, Batches
from limner.build.base import BuildItem, Dropped
from limner.build.engine import Spending, change_build, new_build
from limner.build.recipe import open_recipe
from limner.build.records import load_build, load_rows
from limner.build.steps import SplitSettings, split
from limner.core.asks import Unreadable
from limner.core.errors import DataError, UsageError
from limner.core.training import normalize_words
from limner.core.vocabulary import ReplyField
from limner.exams.mmmg.recipe import training
from limner.exams.mmmg.recipe.steps import read_prompts
from limner.exams.worldgenbench.recipe.steps import RegionsSettings, read_regions, regions
from limner.store import Store
from tests.build.nobody import Nobody
from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server
from tests.support import picture

PLAIN = ('taxonomy.subjects=["Music"]',)


def run(store: Store, *settings: str) -> None:
    there = [one for one in ("b",) if one in _names(store)]
    builder = (
        change_build(store, load_build(store, "b"), settings=settings)
        if there
        else new_build(store, "b", "exam", settings=[*PLAIN, *settings])
    )
    builder.models = {"annotator": Nobody()}  # type: ignore[dict-item]
    builder.run(Spending(), "images")


def _names(store: Store) -> list[str]:
    from limner.build.records import load_builds

    return [build.name for build in load_builds(store)]


def test_broken_files_and_copies_are_dropped(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "pics"
    folder.mkdir()
    (folder / "a.png").write_bytes(picture(1))
    (folder / "b.png").write_bytes(picture(1))
    (folder / "c.png").write_bytes(b"no picture")
    (folder / "a.txt").write_text("Its page", "utf-8")
    run(store, f'images.folders=["{folder}"]', "images.licence=CC0-1.0")
    rows = load_rows(store, "b", "images")
    sha256 = hashlib.sha256(picture(1)).hexdigest()
    kept = rows.pop(sha256[:16])
    assert kept.body == {
        "image": sha256, "source_text": "Its page", "licence": "CC0-1.0", "source": {"origin": "pics/a.png"}
    }  # fmt: skip
    assert sorted((row.reason or "").partition(":")[0] for row in rows.values()) == ["exact duplicate", "not a picture"]
    assert store.blobs.get(sha256) == picture(1)


def test_links_are_fetched_once(store: Store, tmp_path: Path) -> None:
    def answer(service: WireServer, asked: Asked) -> Answer:
        return (200, picture(7)) if asked.path == "/a.png" else (404, {})

    with wire_server(answer) as service:
        lines = f"url,licence\n{service.root}/a.png,CC0-1.0\n{service.root}/gone.png,\nhttp://[::1,\n"
        (tmp_path / "crawl.csv").write_text(lines, "utf-8")
        run(store, f'images.crawl=["{tmp_path / "crawl.csv"}"]')
        run(store)
        paths = [one.path for one in service.asked]
    assert paths.count("/a.png") == 1
    rows = load_rows(store, "b", "images")
    (kept,) = (row for row in rows.values() if row.status == "done")
    assert kept.body is not None
    assert kept.body["source"] == {"origin": "crawl.csv:2", "url": f"{service.root}/a.png"}
    lost = sorted(row.reason or "" for row in rows.values() if row.status == "dropped")
    assert [reason[:26] for reason in lost] == ["not a picture: crawl.csv:4", "not found: crawl.csv:3: th"]


def test_links_are_fetched_at_the_same_time(store: Store, tmp_path: Path) -> None:
    meeting = threading.Barrier(4, timeout=20)

    def answer(service: WireServer, asked: Asked) -> Answer:
        number = int(asked.path.strip("/p.ng"))
        if number:  # The first call to a service goes out alone.
            meeting.wait()
        return 200, picture(number)

    with wire_server(answer) as service:
        lines = "".join(f"{service.root}/{n}.png,CC0-1.0\n" for n in range(13))
        (tmp_path / "crawl.csv").write_text(f"url,licence\n{lines}", "utf-8")
        run(store, f'images.crawl=["{tmp_path / "crawl.csv"}"]')
    assert [row.status for row in load_rows(store, "b", "images").values()] == ["done"] * 13


def test_missing_source_error_explains_how_to_set_one(store: Store) -> None:
    with pytest.raises(UsageError, match=r"step images: say where pictures come from: --set 'images.folders"):
        run(store)


def prompts_in(reply: str) -> Any:
    place = next(place for place in open_recipe("graph").places if place.name == "write")
    assert isinstance(place.settings, AskSettings)
    return read_prompts(reply, {"many": 2}, place.settings.values, Path())["prompts"]


def test_lines_are_parsed_despite_surrounding_text() -> None:
    reply = (
        "Of course!\n\n**PROMPT**: Draw a *flow chart* of digestion.\n**CONCEPT**: digestion\n\n"
        "2. **PROMPT:** A poster on tides.\n   **Concept**: no\n**CONCEPT:** tides"
    )
    assert prompts_in(reply) == [
        {"prompt": "Draw a *flow chart* of digestion.", "concept": "digestion"},
        {"prompt": "A poster on tides.", "concept": "tides"},
    ]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("**PROMPT**: A map of x.\n" * 3, "there are 3 lines"),
        ("**PROMPT**: Explain tides.\n**CONCEPT**: tides", "names no visual form"),
        (f"**PROMPT**: A map {'very ' * 80}far.\n**CONCEPT**: maps", "words; at most 80"),
        ("**PROMPT**: A map.\n**CONCEPT**: m\n**PROMPT**: a MAP\n**CONCEPT**: m", "occurs twice"),
    ],
)
def test_errors_are_reported(reply: str, message: str) -> None:
    with pytest.raises(Unreadable) as found:
        prompts_in(reply)
    assert message in str(found.value)


RECIPE = Path(str(exams.kind("worldgenbench").recipe))


def made(**settings: Any) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The topics by id, and what was dropped and why."""
    context: Any = SimpleNamespace(settings=RegionsSettings(**settings), folder=RECIPE, place="regions")

    async def all_() -> list[Any]:
        return [one async for one in regions([], context)]

    found = asyncio.run(all_())
    kept = {one.id: dict(one.body) for one in found if isinstance(one, BuildItem)}
    return kept, {one[0]: one[1].reason for one in found if not isinstance(one, BuildItem)}


def test_shipped_country_list_is_iso_3166_1() -> None:
    rows = read_regions(RECIPE / "iso-3166-1.csv")
    assert len(rows) == len({one.name for one in rows}) == 249
    assert Counter(one.continent for one in rows) == {
        "Africa": 58, "Asia": 52, "Europe": 51, "North America": 41, "Oceania": 28, "South America": 14, "Antarctica": 5
    }  # fmt: skip
    from limner.exams.worldgenbench.data import CONTINENTS

    assert {name for one in rows for name in (one.continent, *one.also)} <= set(CONTINENTS.values())


def test_transcontinental_states_follow_setting() -> None:
    kept, dropped = made(codes=("RU", "TR", "FR"))
    assert {id: one["continent"] for id, one in kept.items()} == {
        "topic/region/RU": "Europe", "topic/region/TR": "Asia", "topic/region/FR": "Europe"
    }  # fmt: skip
    assert dropped == {}
    kept, _ = made(codes=("RU", "FR"), transcontinental="each")
    assert {one["code"]: one["continent"] for one in kept.values()} == {"RU": "Europe", "RU-A": "Asia", "FR": "Europe"}
    kept, dropped = made(codes=("RU", "FR"), transcontinental="none")
    assert (list(kept), dropped) == (["topic/region/FR"], {"topic/region/RU": "transcontinental"})
    assert len(made()[0]) == 249
    assert made(prompts=0) == ({}, {})


def test_custom_country_table_is_used(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("code,name,continent\nBAV,Bavaria,Europe\nTYR,Tyrol,Europe\n", "utf-8")
    kept, _ = made(file=file, prompts=5)
    assert [(one["name"], one["wanted"], one["domain"]) for one in kept.values()] == [
        ("Bavaria", 5, "humanities"), ("Tyrol", 5, "humanities")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code,name\nA,B\n", "no column continent"),
        ("code,name,continent\nA,,Asia\n", "must all be there"),
        ("code,name,continent\nA,B,Asia\nA,C,Asia\n", "A occurs twice"),
    ],
)
def test_table_errors_are_reported_with_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        read_regions(file)


def test_entry_missing_in_table_is_reported() -> None:
    with pytest.raises(UsageError, match=r"codes: .* has no 'XX'"):
        made(codes=("XX",))
    with pytest.raises(UsageError, match=r"continents: .* has no 'Atlantis'"):
        made(continents=("Atlantis",))


WORDS = ("water cycle", "atom", "heart", "jazz", "prime numbers", "the water cycle")


def test_training_set_leaves_out_pictures_of_closed_sources(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drawn picture is the painter's; an unknown licence allows nothing, whatever is passed on."""
    builder = new_build(store, "school", "graph", roles={"painter": "fake/brush"})
    about = {"drawn": ("unknown", "fake/brush"), "open": ("CC-BY-4.0", "found/a.png"),
             "none": ("unknown", "found/b.png"), "closed": ("All rights reserved", "found/c.png")}  # fmt: skip
    items = []
    for n, (id, (licence, origin)) in enumerate(about.items()):
        texts = ("level", "concept", "prompt", "trace", "final_prompt")
        body: dict[str, Any] = {name: f"{name} of {id}" for name in texts}
        body |= {"discipline": "Math", "elements": [], "dependencies": [], "licence": licence, "origin": "synthetic"}
        body |= {"image": store.blobs.put(picture(64 + n))[0], "source": {"origin": origin}, "part": "train"}
        items.append(BuildItem(id, body))
    monkeypatch.setattr(training, "training_items", lambda _: items)
    made = training.export_training(builder, tmp_path / "out", pass_on=["Unknown"])
    assert (made.samples, made.withheld) == (2, 2)
    names = [file.name for file in (tmp_path / "out").rglob("*.*")]
    assert sorted(name for name in names if name.endswith(".png")) == ["drawn.png", "open.png"]
    for name in ("train.jsonl", "provenance.csv"):
        text = (tmp_path / "out" / name).read_text("utf-8")
        assert "drawn" in text
        assert "closed" not in text
    assert "allow passing the pictures on: 2." in " ".join((tmp_path / "out/README.md").read_text("utf-8").split())
    assert training.export_training(builder, tmp_path / "all", pass_on=["all rights reserved"]).samples == 3


def item(n: int, concept: str, topic: str, origin: str = "synthetic", prompt: str = "") -> BuildItem:
    body = {"concept": concept, "topic": topic, "prompt": prompt or f"Draw {concept} number {n}.", "origin": origin}
    return BuildItem(f"i{n:02}", body)


def parted(items: list[BuildItem], **how: Any) -> dict[str, Any]:
    context: Any = SimpleNamespace(settings=SplitSettings(**how), folder=Path())
    left = asyncio.run(split(items, context))
    return {id: one.reason if isinstance(one, Dropped) else one.body["part"] for id, one in left.items()}  # type: ignore[union-attr]


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 3), st.sampled_from(["real", "synthetic"])), max_size=14),
    st.floats(0, 1),
    st.integers(0, 3),
)
def test_split_sides_share_no_topic_or_concept(drawn: list[tuple[str, int, str]], share: float, seed: int) -> None:
    items = [item(n, concept, f"{concept[:3]}{topic}", origin) for n, (concept, topic, origin) in enumerate(drawn)]
    parts = parted(items, test=share, seed=seed)
    assert parts.keys() == {one.id for one in items}
    test, train = ([one for one in items if parts[one.id] == part] for part in ("test", "train"))
    assert not {one.body["topic"] for one in test} & {one.body["topic"] for one in train}
    assert all(one.body["origin"] == "synthetic" for one in train)
    for one in train:
        for other in test:
            assert f" {normalize_words(one.body['concept'])} " not in f" {normalize_words(other.body['prompt'])} "
            assert normalize_words(one.body["concept"]) != normalize_words(other.body["concept"])
    if share == 0:
        assert test == []


def test_real_pictures_go_to_test_part_first() -> None:
    items = [item(n, f"thing{n}", f"t{n}", "real" if n % 2 else "synthetic") for n in range(10)]
    parts = parted(items, test=0.5)
    assert {id for id, part in parts.items() if part == "test"} == {
        one.id for one in items if one.body["origin"] == "real"
    }
    assert parted(items, test=0.2).keys() == parts.keys()
    assert "not for training" in parted(items, test=0.2).values()
    assert "not for training" not in parted(items, test=0.2, train_origins=["real", "synthetic"]).values()


def test_levels_are_balanced_between_exam_and_training() -> None:
    items = []
    for n in range(400):
        level = "PhD" if n % 10 == 0 else "preschool"
        more = {"level": level, "origin": "real" if n % 4 == 0 else "synthetic"}
        items.append(item(n, f"thing{n}", f"{level}{n // 2}", "synthetic").having(**more))
    parts = parted(items, test=0.25)
    for level in ("PhD", "preschool"):
        mine = [parts[each.id] == "test" for each in items if each.body["level"] == level]
        assert abs(sum(mine) / len(mine) - 0.25) < 0.02, level


def ask_in_batches(replies: Sequence[str], **batches: Any) -> tuple[list[str], list[str]]:
    """The list that the replies make, and what was sent."""
    settings = AskSettings(
        role="writer", prompt="p", reply={"names": ReplyField(kind="list")}, fill={"n": "many", "known": "earlier"},
        batches=Batches(list="names", wanted="wanted", **batches),
    )  # fmt: skip
    sent = list[str]()

    async def answer(role: str, item: Any, shown: Any, contract: Any, name: str) -> Any:
        sent.append(shown[0].text)
        return contract.parse(replies[int(name)])

    fill = SimpleNamespace(fill=lambda name, **fields: f"{fields['n']} beside {fields['known']}")
    context: Any = SimpleNamespace(settings=settings, prompts=fill, models={"writer": 1}, ask=answer, beside=())
    step = settings.declare(ASK, {})

    async def work() -> BuildItem:
        assert step.each is not None
        return await step.each(BuildItem("i", {"wanted": 5}), context)

    return asyncio.run(work()).body["names"], sent


def test_each_batch_sees_the_entries_of_earlier_ones() -> None:
    replies = [json.dumps({"names": names}) for names in (["a one", "b two"], ["c three", "d four"], ["e five"])]
    names, sent = ask_in_batches(replies, size=2, exact=True)
    assert names == ["a one", "b two", "c three", "d four", "e five"]
    assert [words.splitlines() for words in sent] == [
        ["2 beside (none)"], ["2 beside a one", "b two"], ["1 beside a one", "b two", "c three", "d four"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("second", "message"),
    [(["c three"], "has 1 entries; 2 are wanted"), (["a boat on the lake", "x"], "nearly the same as 'On the lake,")],
)
def test_batch_that_repeats_or_lacks_entries_is_refused(second: list[str], message: str) -> None:
    replies = [json.dumps({"names": names}) for names in (["On the lake, a boat", "b two"], second)]
    with pytest.raises(Unreadable, match=message):
        ask_in_batches([*replies, ""], size=2, exact=True)
