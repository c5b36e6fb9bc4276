"""Regions: the shipped list is ISO 3166-1, may be replaced, and says where transcontinental states stand."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limner import exams
from limner.build.base import BuildItem
from limner.build.steps.regions import RegionsSettings, read_regions, regions
from limner.core.errors import DataError, UsageError

RECIPE = Path(str(exams.kind("worldgenbench").recipe))


def made(**settings: Any) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """The topics by id, and what was dropped and why."""
    bench: Any = SimpleNamespace(settings=RegionsSettings(**settings), folder=RECIPE, place="regions")

    async def all_() -> list[Any]:
        return [one async for one in regions([], bench)]

    found = asyncio.run(all_())
    kept = {one.id: dict(one.body) for one in found if isinstance(one, BuildItem)}
    return kept, {one[0]: one[1].reason for one in found if not isinstance(one, BuildItem)}


def test_the_shipped_list_is_iso_3166_1() -> None:
    rows = read_regions(RECIPE / "iso-3166-1.csv")
    assert len(rows) == len({one.name for one in rows}) == 249
    assert Counter(one.continent for one in rows) == {
        "Africa": 58, "Asia": 52, "Europe": 51, "North America": 41, "Oceania": 28, "South America": 14, "Antarctica": 5
    }  # fmt: skip
    from limner.exams.worldgenbench.data import CONTINENTS

    assert {name for one in rows for name in (one.continent, *one.also)} <= set(CONTINENTS.values())


def test_transcontinental_states_stand_where_the_setting_says() -> None:
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


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("code,name,continent\nBAV,Bavaria,Europe\nTYR,Tyrol,Europe\n", "utf-8")
    kept, _ = made(file=file, prompts=5)
    assert [(one["name"], one["wanted"], one["domain"]) for one in kept.values()] == [
        ("Bavaria", 5, "humanities"), ("Tyrol", 5, "humanities")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("code,name\nA,B\n", "no column continent"),
        ("code,name,continent\nA,,Asia\n", "must all be there"),
        ("code,name,continent\nA,B,Asia\nA,C,Asia\n", "A stands there twice"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(DataError, match=told):
        read_regions(file)


def test_what_the_table_does_not_have_is_told() -> None:
    with pytest.raises(UsageError, match=r"codes: .* has no 'XX'"):
        made(codes=("XX",))
    with pytest.raises(UsageError, match=r"continents: .* has no 'Atlantis'"):
        made(continents=("Atlantis",))
