"""`limner verify`: what it says in words and in JSON, and by its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chaos.exam_run import ExamRun, damage, make
from tests.cli.invoke import limner
from tests.fakes import ChatServer


@pytest.fixture
def world(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ExamRun:
    world = make(tmp_path, chat, monkeypatch)
    world.run()
    return world


@pytest.mark.slow
def test_intact_store_is_verified(world: ExamRun) -> None:
    result = limner("verify", "--store", "store")
    assert [line[:20].strip().split(":")[0] for line in result.out.splitlines()] == [
        "ok  database", "ok  rows", "ok  references", "ok  images", "ok  orphans",
    ]  # fmt: skip
    body = limner("verify", "--store", "store", "--format=json").json()
    assert (body["ok"], [part["state"] for part in body["parts"]]) == (True, ["ok"] * 5)


@pytest.mark.slow
def test_damaged_image_is_reported_and_repaired(world: ExamRun) -> None:
    image = str(world.drawings()[0].image)
    damage(world.blob(), "truncated")
    result = limner("verify", "--store", "store", code=1)
    assert " bad  images: 8 images checked, 1 wrong" in result.out
    assert image in result.out
    body = json.loads(limner("verify", "--store", "store", "--format=json", code=1).out)
    assert [defect["subject"] for part in body["parts"] for defect in part["defects"]] == [image]
    assert "  ok  images: 8 images checked, 1 repaired" in limner("verify", "--store", "store", "--repair").out
    limner("verify", "--store", "store")


def test_missing_store_is_not_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no store at nothing" in limner("verify", "--store", "nothing", code=1).err
