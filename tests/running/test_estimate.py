"""What a run would still cost: less what is stored, with what has no price named, and with nothing asked or written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limner import api
from limner.core.settings import load
from limner.running.estimate import estimate
from limner.running.plan import Plan, Shard
from limner.running.setup import Asking
from limner.store import Store
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.support import JUDGE, PRICES, SmallExam, write_exam, write_settings

PICTURE_TOKENS, REPLY_TOKENS = 800, 3000


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallExam:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody-is-asked")
    return write_exam(tmp_path, 6)


def painted(exam: SmallExam) -> list[str]:
    """Finished drawings."""
    return ["genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]


def steps(*words: str, code: int = 0) -> dict[str, Any]:
    """Each painter's and judge's line, by name."""
    body = limner("estimate", *words, "--format=json", code=code).json()
    assert body["dollars"] == pytest.approx(sum(step["dollars"] or 0 for step in body["steps"]))
    return {step["who"]: step for step in body["steps"]}


def test_estimate_without_stored_calls_uses_price_list_and_rule_of_thumb(exam: SmallExam) -> None:
    estimated = steps(*painted(exam), "--painter", "bfl/flux-pro-1.1", "--judge", "openai/gpt-5", "--judge", "ocr")
    assert {who: (one["role"], one["steps"], one["calls"], one["basis"]) for who, one in estimated.items()} == {
        "mine": ("painter", 6, 0, "free"),
        "bfl/flux-pro-1.1": ("painter", 6, 6, "price list"),
        "openai/gpt-5": ("judge", 12, 12, "rule of thumb"),
        "ocr": ("judge", 12, 0, "free"),
    }
    assert estimated["bfl/flux-pro-1.1"]["dollars"] == pytest.approx(6 * 0.04)
    assert (estimated["mine"]["dollars"], estimated["ocr"]["dollars"]) == (0, 0)
    judged = estimated["openai/gpt-5"]
    assert judged["tokens_out"] == 12 * REPLY_TOKENS
    # Two pictures, and a prompt of some thousand letters.
    assert 12 * (2 * PICTURE_TOKENS + 500) < judged["tokens_in"] < 12 * (2 * PICTURE_TOKENS + 3000)
    assert judged["dollars"] == pytest.approx((judged["tokens_in"] * 1.25 + judged["tokens_out"] * 10) / 1e6)
    assert not Path("limner-store").exists()


def test_price_by_tokens_is_estimated_by_upper_bound(exam: SmallExam) -> None:
    estimated = steps("genexam", "--data", str(exam.data), "--painter", "openai/gpt-image-1", "--judge", "ocr")
    assert estimated["openai/gpt-image-1"]["basis"] == "upper bound"
    assert estimated["openai/gpt-image-1"]["dollars"] == pytest.approx(6 * 0.42)


def test_call_made_once_per_question_counts_once(exam: SmallExam) -> None:
    words = [*painted(exam), "--painter", "control/blank", "--judge", "openai/gpt-5"]
    plain, captioned = (steps(*words, "--reference", how)["openai/gpt-5"] for how in ("image", "caption"))
    assert (plain["steps"], plain["calls"]) == (12, 12)
    assert (captioned["steps"], captioned["calls"]) == (12, 18)


def test_unknown_prices_are_listed(exam: SmallExam, tmp_path: Path) -> None:
    write_settings(tmp_path, "http://127.0.0.1:9/v1", priced=False)
    words = [*painted(exam), "--painter", "openrouter/openai/nobody", "--judge", JUDGE, "--judge", "openai/gpt-5"]
    body = limner("estimate", *words, "--format=json").json()
    assert body["unknown_prices"] == ["openrouter/openai/nobody", JUDGE]
    assert [step["dollars"] is None for step in body["steps"]] == [False, True, True, False]
    output = limner("estimate", *words).out
    assert (
        f"in all about ${body['dollars']:.2f}, and what openrouter/openai/nobody, {JUDGE} costs: add the price"
        in output
    )
    assert "unknown" in output
    assert "no price" in output


@pytest.mark.slow
def test_stored_work_is_subtracted_and_stored_calls_set_prices(
    exam: SmallExam, tmp_path: Path, chat: ChatServer
) -> None:
    write_settings(tmp_path, chat.base_url)
    words = [*painted(exam), "--judge", JUDGE]
    limner("run", *words, "--limit", "2")
    asked = chat.counts()["total"]
    estimated = steps(*words)
    assert (estimated["mine"]["steps"], estimated[JUDGE]["steps"], estimated[JUDGE]["basis"]) == (4, 4, "stored calls")
    # As much as the two that are stored, for each of the four.
    (spent,) = limner("spend", "--by", "target", "--format=json").json()
    assert estimated[JUDGE]["dollars"] == pytest.approx(2 * spent["dollars"])
    assert estimated[JUDGE]["tokens_in"] == pytest.approx(2 * spent["tokens_in"], abs=1)
    prices = (estimated[JUDGE]["tokens_in"] * PRICES[0] + estimated[JUDGE]["tokens_out"] * PRICES[1]) / 1e6
    assert estimated[JUDGE]["dollars"] == pytest.approx(prices, rel=0.01)
    assert chat.counts()["total"] == asked
    # Asked in another way, all are to be marked; the stored calls are still the best measure there is.
    other = steps(*words, "--variant", "paper")[JUDGE]
    assert (other["steps"], other["basis"]) == (6, "stored calls")
    limner("run", *words)
    done = steps(*words)
    assert (done["mine"]["steps"], done[JUDGE]["steps"], done[JUDGE]["dollars"]) == (0, 0, 0)


@pytest.mark.slow
def test_failures_count_as_run_would_retry_them(exam: SmallExam, tmp_path: Path, chat: ChatServer) -> None:
    """Refusals count only with --retry-failed; transient faults always do."""
    write_settings(tmp_path, chat.base_url)
    words = [*painted(exam), "--judge", JUDGE]
    chat.configure(faults={"refusal": 1.0})
    limner("run", *words, "--limit", "2", code=3)
    chat.configure(faults={"http_402": 1.0})
    limner("run", *words, "--limit", "3", code=1)
    assert steps(*words)[JUDGE]["steps"] == 4
    assert steps(*words, "--retry-failed")[JUDGE]["steps"] == 6


def test_estimate_without_painter_covers_marking_only(exam: SmallExam, tmp_path: Path, chat: ChatServer) -> None:
    write_settings(tmp_path, chat.base_url)
    assert "no store at" in limner("estimate", "genexam", "--judge", JUDGE, code=1).err
    limner("draw", *painted(exam))
    limner("draw", "genexam", "--data", exam.data, "--painter", "control/blank", "--limit", "1")
    estimated = steps("genexam", "--judge", JUDGE)
    assert [(one["role"], one["steps"]) for one in estimated.values()] == [("judge", 7)]
    assert "name a painter with --painter, or a judge" in limner("estimate", "genexam", code=2).err


@pytest.mark.slow
def test_requested_probes_have_their_own_step(exam: SmallExam) -> None:
    """Only requested probes have a step; a model that rates is paid per drawing."""
    judged = [*painted(exam), "--judge", "ocr"]
    assert set(steps(*judged)) == {"mine", "ocr"}
    estimated = steps(*judged, "--regions", "classical", "--aesthetics", "openai/gpt-5")
    counted, rated = estimated["classical"], estimated["model:openai/gpt-5"]
    assert (counted["role"], counted["steps"], counted["calls"], counted["dollars"]) == ("probe", 6, 0, 0)
    assert (rated["role"], rated["steps"], rated["calls"], rated["basis"]) == ("probe", 6, 6, "rule of thumb")
    assert (
        6 * (PICTURE_TOKENS * 1.25 + 500 * 10) / 1e6
        < rated["dollars"]
        < 6 * (2 * PICTURE_TOKENS * 1.25 + 500 * 10) / 1e6
    )
    Path("limner.toml").write_text('[evidence]\naesthetics = "openai/gpt-5"\n')
    try:
        assert steps("sample/aibench", "--painter", "control/reference", "--judge", "ocr")["model:openai/gpt-5"][
            "dollars"
        ]
    finally:
        Path("limner.toml").unlink()
    unknown = steps(*judged, "--aesthetics", "openai/nobody")
    assert unknown["model:openai/nobody"]["dollars"] is None
    limner("draw", *painted(exam))
    limner("evidence", "genexam", "--regions", "classical", "--limit", "2")
    assert steps(*judged, "--regions", "classical")["classical"]["steps"] == 4


def test_edits_include_price_of_input_image(exam: SmallExam) -> None:
    """Editors priced by tokens are also paid for the input image; those with a price per edit are not."""
    words = ["genexam", "--data", str(exam.data), "--painter", "openai/gpt-image-2", "-S", "critic=openai/gpt-5"]
    words += ["-S", "chooser=openai/gpt-5", "--strategy", "edit", "-S", "rounds=1", "--judge", "ocr"]
    edited = next(
        step for step in limner("estimate", *words, "--format=json").json()["steps"] if step["role"] == "editor"
    )
    assert edited["dollars"] == pytest.approx(6 * (0.40 + 7000 * 8.0 / 1e6))
    Path("limner.toml").write_text('[painters."openai/gpt-image-2"]\nedit_price = 0.2\n')
    edited = next(
        step for step in limner("estimate", *words, "--format=json").json()["steps"] if step["role"] == "editor"
    )
    assert edited["dollars"] == pytest.approx(6 * 0.2)


@pytest.fixture(scope="module")
def half_done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Store]]:
    """A plan of which some is stored already."""
    root = tmp_path_factory.mktemp("shards")
    exam = write_exam(root, 5)
    with Store(root / "store") as store, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-nobody-is-asked")
        mine = f"mine=folder/{exam.drawings}"
        api.run("genexam", data=exam.data, painters=[mine, "control/blank"], store=store)
        asking = Asking(["openai/gpt-5", "ocr"])
        painters = [mine, "control/blank", "bfl/flux-pro-1.1"]
        yield api.plan("genexam", store, data=exam.data, painters=painters, asking=asking, seeds=2), store


@settings(max_examples=6)
@given(n=st.integers(1, 12), repeats=st.integers(1, 2), batch=st.booleans())
def test_estimates_of_shards_add_up_to_whole(half_done: tuple[Plan, Store], n: int, repeats: int, batch: bool) -> None:
    plan, store = half_done
    plan = replace(plan, repeats=repeats, batch=batch)
    whole = estimate(plan, store, load())
    counts, dollars = Counter[tuple[str, str]](), defaultdict[str, float](float)
    for i in range(1, n + 1):
        for one in estimate(replace(plan, shard=Shard(i, n)), store, load()):
            counts += Counter({(one.who, "steps"): one.steps, (one.who, "calls"): one.calls})
            counts += Counter({(one.who, "out"): one.tokens_out})
            dollars[one.who] += one.dollars or 0.0
    for one in whole:
        summed = tuple(counts[one.who, what] for what in ("steps", "calls", "out"))
        assert summed == (one.steps, one.calls, one.tokens_out)
        # Tokens are rounded in each part.
        assert dollars[one.who] == pytest.approx(one.dollars, abs=n * 1e-6)
    # Both seeds of three painters, less what is stored.
    assert {one.who: one.steps for one in whole} == {
        "mine": 5, "control/blank": 5, "bfl/flux-pro-1.1": 10, "openai/gpt-5": 30 * repeats, "ocr": 30 * repeats,
    }  # fmt: skip


def test_estimate_of_shard_matches_its_run(exam: SmallExam) -> None:
    words = [*painted(exam), "--painter", "control/blank", "--judge", "ocr", "--seeds", "2"]
    whole, sizes = steps(*words), []
    for part in ("1/3", "2/3", "3/3"):
        shard = ["--shard", part, "--store", f"part-{part[0]}"]
        estimated = steps(*words, *shard)
        planned = limner("run", *words, *shard, "--dry-run", "--format=json").json()
        drawings, markings = estimated["mine"]["steps"] + estimated["control/blank"]["steps"], estimated["ocr"]["steps"]
        assert (drawings, markings) == (planned["drawings"], planned["markings"])
        sizes.append(drawings)
    assert sum(sizes) == whole["mine"]["steps"] + whole["control/blank"]["steps"] == 24
    limner("draw", *words[:-4], "--seeds", "2", "--shard", "2/3")
    left = [steps(*words, "--shard", part)["control/blank"]["steps"] for part in ("1/3", "2/3", "3/3")]
    assert left[1] == 0
    assert min(left[0], left[2]) > 0
    # What the store has is marked in the same parts.
    assert [steps("genexam", "--judge", "ocr", "--shard", part)["ocr"]["steps"] for part in ("1/3", "2/3")] == [
        0,
        sizes[1],
    ]


def test_call_made_once_per_question_counts_in_every_shard(exam: SmallExam) -> None:
    words = [*painted(exam), "--painter", "control/blank", "--judge", "openai/gpt-5", "--reference", "caption"]
    parts = [steps(*words, "--shard", part)["openai/gpt-5"] for part in ("1/2", "2/2")]
    assert sum(one["steps"] for one in parts) == 12
    # Some questions' two drawings are in both parts, whose stores know nothing of each other.
    assert 18 < sum(one["calls"] for one in parts) <= 24
