"""`limner models`, and what is said of models before they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.invoke import limner
from tests.support import SmallExam


@pytest.fixture(autouse=True)
def _late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_TODAY", "2026-11-16")
    monkeypatch.setenv("LIMNER_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def test_models_are_listed_searched_and_unknown_refused() -> None:
    shown = limner("models", "--find", "gpt-image-1", "--format", "md").out
    row = next(line for line in shown.splitlines() if line.startswith("| openai/gpt-image-1 "))
    cells = ["2025-04-23", "2026-10-23 (gone)", "openai/gpt-image-2.5-sunburst", "5.00", "40.00", "≤ 0.42"]
    assert [cell.strip() for cell in row.split("|")][2:8] == cells
    for word, model in (("Nano Banana Pro", "gemini/gemini-3-pro-image"), ("Q-Judger", "local/Qwen/Qwen-Image-Bench")):
        assert [row["model"] for row in limner("models", "--find", word, "--format", "json").json()] == [model]
    few, all_models = limner("models", "--find", "bfl/flux-2").out, limner("models").out
    assert "≤ 0.045" in few  # A bound is never rounded down.
    assert "price of bfl/flux-2-pro: Black Forest Labs' price list" in few
    assert "`--find WORD` also shows the sources" in all_models
    rows = limner("models", "--format", "json").json()
    assert len(rows) > 100
    states = {row["model"]: row["state"] for row in rows}
    assert (states["openai/o1"], states["openai/o3"], states["openai/gpt-6.1-sol"]) == ("gone", "ending", "current")
    gone = limner("models", "--gone", "--format", "json").json()
    assert {row["model"] for row in gone} == {name for name, state in states.items() if state != "current"}
    assert "no such model" in limner("models", "--find", "nobody", code=2).err


def test_update_of_model_facts_is_reported_and_stored(tmp_path: Path) -> None:
    (tmp_path / "news.toml").write_text('[models."openai/o3"]\nshutdown = 2026-11-01\n')
    output = limner("models", "update", "news.toml").out
    assert "openai/o3: shutdown is 2026-11-01 (was 2026-12-11)\n1 new fact; stored in " in output
    (row,) = limner("models", "--find", "openai/o3", "--format", "json").json()
    assert row["state"] == "gone"
    assert "is neither TOML nor JSON" in limner("models", "update", __file__, code=1).err


def test_cost_map_is_shown_before_it_is_stored(tmp_path: Path) -> None:
    prices = {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}
    row = {"litellm_provider": "openai", "mode": "chat", **prices}
    known = {"gpt-6-luna": row, "gpt-5.6-terra": row}
    (tmp_path / "map.json").write_text(json.dumps(known | {"gpt-9": row}))
    shown = limner("models", "update", "map.json").out
    assert shown.splitlines()[:2] == [
        "openai/gpt-9: input_price is 1.0, output_price is 2.0",
        "openai/gpt-5.6-terra: input_price is 1.0 (was 2.0), output_price is 2.0 (was 12.0)",
    ]
    assert "2 differ from facts that Limner has confirmed and are left out; --trust takes them" in shown
    assert shown.endswith("9 new facts; not stored: add --yes to store them\n")
    assert not (tmp_path / "config").exists()
    assert "9 new facts; stored in " in limner("models", "update", "map.json", "--yes").out
    (found,) = limner("models", "--find", "openai/gpt-9", "--format", "json").json()
    assert found["model"] == "openai/gpt-9"


@pytest.mark.slow
def test_run_warns_of_retired_models_and_keeps_preset_judge(small_exam: SmallExam) -> None:
    words = ("genexam", "--data", small_exam.data, "--painter", f"mine=folder/{small_exam.drawings}")
    for command in (("run", *words, "--preset", "paper", "--dry-run"), ("estimate", *words, "--preset", "paper")):
        output = limner(*command).err
        assert "warning: openai/gpt-5-2025-08-07 will be gone on 2026-12-11" in output
        assert "--judge openai/gpt-5.6-sol is another evaluator" in output
    named = limner("run", *words, "--judge", "openai/gpt-5", "--dry-run").err
    assert "warning: openai/gpt-5 will be gone" in named
    assert "another evaluator" not in named
    assert limner("run", *words, "--judge", "ocr", "--dry-run").err == ""
    drawn = limner("draw", "genexam", "--data", small_exam.data, "--painter", "openai/gpt-image-1", "--dry-run").err
    assert "warning: openai/gpt-image-1 has been gone since 2026-10-23" in drawn


def test_dry_run_reports_whether_budget_can_be_enforced(small_exam: SmallExam) -> None:
    words = ("run", "genexam", "--data", small_exam.data, "--dry-run", "--budget", "5")
    known = (*words, "--painter", "openai/gpt-image-2", "--judge", "openai/gpt-6.1-sol")
    assert "--budget can be enforced: every price is known" in limner(*known).out
    assert limner(*known, "--format=json").json()["unpriced"] == []
    lacking = limner(*words, "--painter", "openai/nobody", "--judge", "openai/no-one", "--format=json").json()[
        "unpriced"
    ]
    assert [why.split()[0] for why in lacking] == ["openai/nobody", "openai/no-one"]
    dear = (*words, "--painter", "openai/gpt-image-2.5-flare", "--painter-arg", "quality=max", "--judge", "ocr")
    assert "known only for low, medium, high" in limner(*dear).out
    big = (*words, "--painter", "openai/gpt-image-2", "--painter-arg", "size=3840x2160", "--judge", "ocr")
    assert "known only for 1024x1024" in limner(*big).out
