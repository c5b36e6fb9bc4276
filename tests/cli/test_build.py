"""limner build: list, new, run, status, review, export as users see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from limner.cli import limner
from limner.core.errors import UsageError


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(limner, ["build", *words])
    if isinstance(done.exception, UsageError):
        raise done.exception
    return done.exit_code, done.output


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_recipes_are_listed_with_roles_steps_and_settings() -> None:
    code, text = run("list")
    assert code == 0
    assert "exam: exam questions with weighted points" in text
    assert "-S annotator=PROVIDER/MODEL" in text
    assert "--set duplicates.bits=40" in text
    body = json.loads(run("list", "--format", "json")[1])
    assert "exam" in [one["recipe"] for one in body["recipes"]]
    assert body["builds"] == []


def test_new_build_keeps_settings_and_paths(tmp_path: Path) -> None:
    code, text = run("new", "school", "--recipe", "exam", "--set", 'images.folders=["pics"]')
    assert (code, "limner build run school" in text) == (0, True)
    assert "build school: recipe exam" in run("list")[1]
    code, text = run("status", "school", "--format", "json")
    steps = {step["place"]: step for step in json.loads(text)["steps"]}
    assert (steps["images"]["paper"], steps["thresholds"]["paper"], steps["review"]["paper"]) == (40000, 6500, 1000)
    from limner.build.records import load_build
    from limner.store import Store

    with Store("limner-store") as store:
        assert load_build(store, "school").body["settings"] == {"images": {"folders": [str(tmp_path / "pics")]}}


def test_invalid_arguments_create_no_store(tmp_path: Path) -> None:
    for words, message in (
        (("--recipe", "nix"), "no recipe 'nix'; the recipes are: "),
        (("--recipe", "exam", "--set", "nix.a=1"), "has no step 'nix'"),
        (("--recipe", "exam", "--set", "images"), "--set takes STEP.SETTING=VALUE"),
        (("--recipe", "exam", "-S", "cook=a/b"), "has no role 'cook'"),
        (("--recipe", "exam", "--set", "duplicates.bits=-1"), "step duplicates: bits"),
    ):
        with pytest.raises(UsageError, match=message):
            run("new", "school", *words)
    assert not (tmp_path / "limner-store").exists()


def test_missing_roles_and_unfinished_steps_are_reported() -> None:
    run("new", "school", "--recipe", "exam")
    with pytest.raises(UsageError, match="needs the annotator"):
        run("run", "school")
    with pytest.raises(UsageError, match="has passed its last step"):
        run("export", "school", "out")
    code, text = run("review", "school", "--reviewer", "anna", "--write", "a.jsonl")
    assert (code, text) == (0, "0 items wait for anna, in a.jsonl\n")
    code, text = run("run", "school", "--dry-run")
    assert "note: step images has no items yet" in text


def test_status_calls_nothing_reviewed_that_nobody_reviews() -> None:
    run("new", "school", "--recipe", "checklist", "--set", "review.reviewers=0")
    said = " ".join(run("status", "school")[1].split())
    assert "the paper: 244 countries and regions → 1,072 prompts → 1,072 verified by people" in said
    assert said.endswith("this build: 0 countries and regions → 0 prompts → 0 not reviewed")
