"""Runs with batches against the fake services, whose own bill says what was paid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.calls import batches as stored
from limner.calls.batch_services import OpenAIBatches, RemoteBatch
from limner.calls.budget import read_purses
from limner.running.wave import Wave
from limner.store import Store
from limner.store.schema import batches
from tests.fakes import ChatServer
from tests.fakes.batches import BatchServer
from tests.running.batch_support import CLAUDE, DRAWER, GEMINI, JUDGE, PAINTER, Place, make_place, paid_once

pytestmark = pytest.mark.slow

SEED = 3
QUESTIONS = 6


@pytest.fixture(scope="module")
def service() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, service: BatchServer) -> Place:
    service.reset()
    service.configure(seed=SEED)
    return make_place(tmp_path, service, QUESTIONS)


def plan(place: Place, **more: Any) -> None:
    place.server.configure(seed=SEED, **more)


def test_unreadable_replies_are_retried_in_next_wave_at_half_price(place: Place) -> None:
    plan(place, malformed_until_turn=1, looks=3, page=1)
    code, body, _ = place.run()
    assert (code, body["done"], body["failed"], body["submitted"]) == (0, 2 * QUESTIONS, 0, 0)
    paid_once(place.server, 2 * QUESTIONS)
    assert place.server.bill()["batches"] == [QUESTIONS, QUESTIONS]
    # The price by the replies' own tokens, halved.
    usage = [row.result["raw"]["usage"] for row in place.rows("attempts")]
    full = sum(use["prompt_tokens"] * 2.0 + use["completion_tokens"] * 8.0 for use in usage) / 1e6
    assert body["spent"] == pytest.approx(full / 2, abs=1e-6)
    assert sum(row.cost for row in place.rows("attempts")) == pytest.approx(full / 2)
    assert {row.status for row in place.rows("batches")} == {"completed"}
    # All files that were brought are taken away again; the results' are the service's own.
    assert place.server.bill()["files"] == 2
    assert place.run()[1]["stored"] == 2 * QUESTIONS
    assert len(place.server.bill()["batches"]) == 2


@contextmanager
def call_by_call(place: Place) -> Iterator[ChatServer]:
    """The service answers single calls meanwhile, and takes no batches."""
    settings = place.root / "limner.toml"
    before = settings.read_text()
    with ChatServer(seed=SEED) as chat:
        settings.write_text(before.replace(place.server.base_url, chat.base_url))
        yield chat
    settings.write_text(before)


def test_marks_equal_those_of_run_without_batches(place: Place) -> None:
    place.run()
    with call_by_call(place):
        words = [word for word in place.words() if word != "--batch"]
        words[words.index("store")] = "plain"
        assert place.limner(words)[0] == 0

    def scores(name: str) -> list[Any]:
        with Store(place.root / name) as store:
            _, (group,) = api.groups("genexam", store=store)
            return [(entry.question.id, dict(entry.scores)) for entry in group.entries]

    assert scores("store") == scores("plain")


def test_failed_and_expired_rows_are_sent_in_next_batch(place: Place) -> None:
    plan(place, rows={"http_500": 0.3, "http_429": 0.2, "expired": 0.3})
    code, body, _ = place.run()
    assert (code, body["failed"]) == (0, 0)
    paid_once(place.server, QUESTIONS)
    faults = [row.fault for row in place.rows("attempts") if row.fault]
    assert {"timeout"} < set(faults) <= {"server", "rate_limit", "timeout"}
    assert all(row.cost == 0.0 for row in place.rows("attempts") if row.fault)
    assert {row.status for row in place.rows("batches")} == {"expired", "completed"}


def test_row_that_always_fails_is_given_up_until_next_run(place: Place) -> None:
    plan(place, rows={"http_500": 1.0}, row_tries=99)
    code, body, _ = place.run()
    assert (code, body["failures"]) == (3, {"server": QUESTIONS})
    assert len(place.server.bill()["batches"]) == 5
    plan(place)
    assert place.run()[0] == 0
    paid_once(place.server, QUESTIONS)


def test_run_without_batch_retries_only_rows_that_failed_in_batch(place: Place) -> None:
    plan(place, rows={"http_500": 0.9}, row_tries=99)
    code, body, _ = place.run()
    failed = body["failed"]
    assert (code, 0 < failed < QUESTIONS) == (3, True)
    with call_by_call(place) as chat:
        code, out, _ = place.limner([word for word in place.words() if word != "--batch"])
        assert (code, json.loads(out)["failed"], chat.counts()["total"]) == (0, 0, failed)
    assert (len(place.server.bill()["paid"]), set(place.server.bill()["paid"].values())) == (QUESTIONS - failed, {1})
    # What was made at once does not go with a batch either.
    plan(place)
    before = place.server.counts()["total"]
    assert place.run()[1]["stored"] == 2 * QUESTIONS
    assert place.server.counts()["total"] == before


def test_refused_row_is_retried_only_with_retry_failed(place: Place) -> None:
    plan(place, rows={"moderation": 1.0})
    code, body, _ = place.run()
    assert (code, body["failures"]) == (3, {"refusal": QUESTIONS})
    assert place.run()[1]["failures"] == {"refusal": QUESTIONS}
    assert len(place.server.bill()["batches"]) == 1
    assert place.run("--retry-failed")[0] == 0
    paid_once(place.server, QUESTIONS)


def test_row_missing_from_results_counts_at_bound(place: Place) -> None:
    plan(place, rows={"missing": 0.5})
    code, body, _ = place.run("--budget", "5")
    lost = [row for row in place.rows("attempts") if row.fault]
    assert (code, {row.fault for row in lost}, {row.cost for row in lost}) == (0, {"server"}, {None})
    assert body["unpriced_calls"] == len(lost) > 0


@pytest.mark.parametrize(("code", "status"), [("token_limit_exceeded", 0), ("invalid_json_line", 3)])
def test_failed_batch_is_retried_at_once_or_with_retry_failed(place: Place, code: str, status: int) -> None:
    plan(place, invalid=1, invalid_code=code)
    exit_code, body, _ = place.run()
    assert (exit_code, body["failed"]) == (status, 0 if status == 0 else QUESTIONS)
    assert body["spent"] > 0 if status == 0 else body["spent"] == 0
    if status:
        assert place.run("--retry-failed")[0] == 0
    paid_once(place.server, QUESTIONS)


@pytest.mark.parametrize("fate", ["500_before", "drop_after", "429"])
def test_uncertain_submission_is_looked_up(place: Place, fate: str) -> None:
    plan(place, fates=[fate], lag=1, page=1)
    code, _, _ = place.run()
    assert code == 0
    paid_once(place.server, QUESTIONS)
    assert set(place.server.bill()["handed"].values()) == {1}
    taken = "after" in fate or fate == "429"
    assert [row.status for row in place.rows("batches")] == (["completed"] if taken else ["released", "completed"])


@pytest.mark.parametrize(("inline", "who"), [(0, JUDGE), (10**6, GEMINI)])
def test_batch_released_while_waiting_for_capacity_is_not_submitted(
    place: Place, monkeypatch: pytest.MonkeyPatch, inline: int, who: str
) -> None:
    if inline:
        place.configure(inline_bytes=inline)
    plan(place, fates=["429"])
    usual = Wave._pause

    async def pause(desk: Wave, seconds: float) -> None:
        # Another process has found that nobody is at it any more.
        for batch in stored.read_batches(desk.store):
            if batch.status == stored.DOUBTED:
                assert stored.release(desk.store, batch.id, "the service does not have it", stored.DOUBTED)
        await usual(desk, 0.01)

    monkeypatch.setattr(Wave, "_pause", pause)
    code, _, _ = place.run(judge=who)
    assert code == 0
    paid_once(place.server, QUESTIONS)
    assert set(place.server.bill()["handed"].values()) == {1}
    assert [row.status for row in place.rows("batches")] == ["released", "completed"]


def test_run_stopped_while_waiting_for_capacity_submits_no_batch(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(place, fates=["429"])

    async def pause(desk: Wave, _seconds: float) -> None:
        desk._stopping = lambda: True

    monkeypatch.setattr(Wave, "_pause", pause)
    place.run()
    assert place.server.bill()["batches"] == []
    assert {row.status for row in place.rows("calls")} == {"open"}
    assert [row.status for row in place.rows("batches")] == ["released"]


def test_refused_batch_ends_run_and_releases_money(place: Place) -> None:
    plan(place, fates=["400"])
    code, _, err = place.run("--budget", "5", "--purse", "p")
    assert code == 1
    assert "no such file or endpoint" in err
    assert {row.status for row in place.rows("calls")} == {"open"}
    with Store(place.root / "store") as store:
        (purse,) = read_purses(store)
    assert (purse.spent, purse.reserved) == (0.0, 0.0)
    assert place.run("--purse", "p")[0] == 0


def test_uncertain_submission_waits_for_expiry_if_batches_are_not_listed(place: Place) -> None:
    place.configure(window_s=1.0)
    plan(place, fates=["500_before"], listed=False)
    code, _, _ = place.run()
    assert code == 0
    first, second = place.rows("batches")
    assert (first.status, second.status) == ("released", "completed")
    assert "in doubt until it expired" in first.detail
    assert second.created - first.created >= 1.0
    paid_once(place.server, QUESTIONS)


def test_limit_on_number_of_calls_splits_wave(place: Place) -> None:
    place.configure(calls=4)
    plan(place, most_calls=4, breaks=2)
    assert place.run()[0] == 0
    assert place.server.bill()["batches"] == [4, 2]
    assert place.server.bill()["broken"] == 2  # Files that came in pieces came whole.
    paid_once(place.server, QUESTIONS)


def test_limit_on_bytes_splits_wave_and_oversized_calls_fail(place: Place) -> None:
    place.configure(bytes=20_000)
    plan(place, most_bytes=20_000)
    assert place.run()[0] == 0
    sizes = place.server.bill()["batches"]
    assert sum(sizes) == QUESTIONS
    assert len(sizes) > 1
    place.server.reset()
    place.configure(bytes=1000)
    code, body, _err = place.run("--judge-arg", "seed=2")
    assert (code, body["failures"]) == (3, {"bad_request": QUESTIONS})
    assert place.server.bill()["batches"] == []


def test_half_the_bound_is_reserved_and_waves_fit_into_budget(place: Place) -> None:
    place.run("--batch-wait", "0")
    (batch,) = place.rows("batches")
    each = batch.bound / QUESTIONS
    assert place.run()[0] == 0
    plan(place)
    code, body, _ = place.run("--judge-arg", "seed=7", "--budget", str(each * 2.5))
    assert (code, body["failed"]) == (0, 0)
    assert all(size <= 3 for size in place.server.bill()["batches"][1:])
    code, _, err = place.run("--judge-arg", "seed=8", "--budget", str(each * 0.5))
    assert code == 4
    assert "budget reached" in err


def test_purse_reserves_submitted_calls_until_they_are_settled(place: Place) -> None:
    plan(place, looks=2)
    code, body, _err = place.run("--budget", "5", "--purse", "p", "--batch-wait", "0")
    assert (code, body["submitted"], body["spent"]) == (3, QUESTIONS, 0)

    def state() -> Any:
        with Store(place.root / "store") as store:
            return read_purses(store)[0]

    held = state()
    (batch,) = place.rows("batches")
    assert held.reserved == pytest.approx(batch.bound)
    assert (held.spent, held.lost) == (0.0, 0.0)
    assert {(row.status, row.lease_until, row.batch) for row in place.rows("calls")} == {("submitted", None, batch.id)}
    code, body, _ = place.run("--purse", "p")
    after = state()
    assert (code, after.reserved) == (0, 0.0)
    assert after.spent == pytest.approx(body["spent"], abs=1e-5)
    assert 0 < after.spent < batch.bound
    paid_once(place.server, QUESTIONS)


def test_batches_command_lists_and_cancels_batches(place: Place) -> None:
    plan(place, looks=10**6)
    code, _, err = place.limner([word for word in place.words("--batch-wait", "0") if word != "--format=json"])
    assert code == 3
    assert f"{QUESTIONS} calls are in batches: run the same command again to fetch them" in err
    shown = json.loads(place.limner(["batches", "--store", "store", "--format=json"])[1])
    assert [(one["service"], one["model"], one["calls"], one["status"]) for one in shown] == [
        ("fake", "judge", QUESTIONS, "submitted")
    ]
    table = place.limner(["batches", "--store", "store"])[1]
    assert shown[0]["id"][:8] in table
    assert f"{shown[0]['bound']:.4f}" in table
    code, _out, err = place.limner(["batches", "--store", "store", "--cancel", shown[0]["id"][:6], "--format=json"])
    assert code == 0
    assert "to stop it; answers that exist" in err
    code, body, _ = place.run()
    assert (code, body["failures"]) == (3, {"interrupted": QUESTIONS // 2})
    assert sum(place.server.bill()["paid"].values()) == QUESTIONS // 2
    assert json.loads(place.limner(["batches", "--store", "store", "--format=json"])[1]) == []
    plan(place)
    assert place.run()[0] == 0
    paid_once(place.server, QUESTIONS)
    code, _, err = place.limner(["batches", "--store", "store", "--cancel", shown[0]["id"]])
    assert (code, err) == (2, f"batch {shown[0]['id'][:8]} has ended: cancelled")
    assert place.limner(["batches", "--store", "store", "--cancel", "nothing"])[0] == 2


def test_run_without_batches_leaves_submitted_calls_untouched(place: Place) -> None:
    plan(place, looks=2)
    place.run("--batch-wait", "0")
    code, out, _ = place.limner([word for word in place.words() if word != "--batch"])
    assert (code, json.loads(out)["failures"]) == (3, {"interrupted": QUESTIONS})
    assert place.run()[0] == 0
    paid_once(place.server, QUESTIONS)


def test_shards_with_batches_can_be_merged_once_answered(place: Place) -> None:
    def part(n: int, *more: str) -> list[str]:
        words = place.words("--shard", f"{n}/2", *more)
        words[words.index("--store") + 1] = f"part-{n}"
        return words

    plan(place, looks=3)
    assert {place.limner(part(n, "--batch-wait", "0"))[0] for n in (1, 2)} == {3}
    merge = ["merge", "store", "part-1", "part-2"]
    code, out, _ = place.limner(merge)
    assert (code, out.count("a run in the target would pay for them again")) == (3, 2)
    assert place.rows("calls") == place.rows("batches") == []
    assert {place.limner(part(n))[0] for n in (1, 2)} == {0}
    code, out, _ = place.limner(merge)
    assert (code, "batches" in out) == (0, False)
    assert place.run()[1]["stored"] == 2 * QUESTIONS
    paid_once(place.server, QUESTIONS)


def test_batch_is_refused_for_service_without_batches(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "sk-none")
    for who in ({"judge": "plain/judge"}, {"painter": "plain/gpt-image-1", "judge": None}):
        code, _, err = place.run(**who)
        assert code == 2
        assert "does not support batches: leave out --batch" in err
    # A price says that it is paid for, though it needs no key.
    monkeypatch.delenv("FAKE_API_KEY")
    settings = place.root / "limner.toml"
    settings.write_text(settings.read_text().replace('key_env = "FAKE_API_KEY"', ""))
    code, _, err = place.run(judge="plain/judge")
    assert (code, "does not support batches" in err) == (2, True)
    code, _, err = place.run("--judge-arg", "logit_bias=1", judge=GEMINI)
    assert (code, err) == (
        2,
        f"--batch: {GEMINI} does not accept logit_bias in a batch: leave it out, or leave out --batch",
    )
    assert place.server.counts()["total"] == 0
    assert not (place.root / "store").exists()


@pytest.mark.parametrize("painter", [PAINTER, DRAWER])
def test_images_are_drawn_and_edited_at_half_price(place: Place, painter: str) -> None:
    code, body, err = place.run("--strategy", "edit", "-S", "edit=plain", painter=painter, judge=None)
    assert (code, body["done"]) == (0, QUESTIONS), err
    assert body["spent"] == pytest.approx(2 * QUESTIONS * 0.02)
    paid_once(place.server, 2 * QUESTIONS)
    ways = {"/v1/images/generations", "/v1/images/edits"} if painter == PAINTER else {"batchGenerateContent"}
    assert {row.endpoint for row in place.rows("batches")} == ways


@pytest.mark.parametrize("inline", [10**7, 0])
def test_gemini_draws_and_marks_with_batches(place: Place, inline: int) -> None:
    place.configure(inline_bytes=inline)
    plan(place, rows={"http_500": 0.3}, breaks=1, page=1, malformed_until_turn=1)
    code, body, _err = place.run(painter=DRAWER, judge=GEMINI)
    assert (code, body["done"]) == (0, 2 * QUESTIONS)
    paid_once(place.server, 3 * QUESTIONS)
    bill = place.server.bill()
    assert bill["inline"] == (len(bill["batches"]) if inline else 0)
    painted = [row.cost for row in place.rows("attempts") if row.fault is None and "image" in row.result]
    assert painted == pytest.approx([0.02] * QUESTIONS)


@pytest.mark.parametrize("fate", ["500_after", "drop_before", "drop_after"])
def test_uncertain_gemini_submission_is_looked_up_by_name(place: Place, fate: str) -> None:
    place.configure(inline_bytes=10**7)
    plan(place, fates=[fate], page=1)
    assert place.run(judge=GEMINI)[0] == 0
    paid_once(place.server, QUESTIONS)
    assert set(place.server.bill()["handed"].values()) == {1}


@pytest.fixture
def claude(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("FAKE_API_KEY", "sk-none")
    return place


def test_claude_marks_in_batches_at_half_price(claude: Place) -> None:
    plan(claude, rows={"http_500": 0.3, "http_429": 0.2, "expired": 0.3}, malformed_until_turn=1, breaks=1)
    code, body, err = claude.run(judge=CLAUDE)
    assert (code, body["done"], body["failed"]) == (0, 2 * QUESTIONS, 0), err
    paid_once(claude.server, 2 * QUESTIONS)
    faults = {row.fault for row in claude.rows("attempts") if row.fault}
    assert {"timeout"} < faults <= {"server", "rate_limit", "timeout"}
    usage = [row.result["raw"]["usage"] for row in claude.rows("attempts") if row.fault is None]
    full = sum(use["input_tokens"] * 2.0 + use["output_tokens"] * 8.0 for use in usage) / 1e6
    assert sum(row.cost for row in claude.rows("attempts")) == pytest.approx(full / 2)
    assert {row.status for row in claude.rows("batches")} == {"expired", "completed"}


@pytest.mark.parametrize("fate", ["500_after", "drop_before", "drop_after"])
def test_uncertain_claude_submission_is_looked_up_by_its_results(claude: Place, fate: str) -> None:
    # Another batch of the same size must not be taken for it.
    assert claude.run("--judge-arg", "top_k=1", judge=CLAUDE)[0] == 0
    plan(claude, fates=[fate, fate], page=1, looks=4)
    assert claude.run("--judge-arg", "top_k=2", judge=CLAUDE)[0] == 0
    paid_once(claude.server, 2 * QUESTIONS)
    ends = ["completed", "completed"] + ([] if "after" in fate else ["released"])
    assert sorted(row.status for row in claude.rows("batches")) == ends


def test_cancelled_claude_batch_keeps_answers(claude: Place) -> None:
    plan(claude, looks=10**6)
    assert claude.run("--batch-wait", "0", judge=CLAUDE)[0] == 3
    (batch,) = claude.rows("batches")
    assert claude.limner(["batches", "--store", "store", "--cancel", batch.id])[0] == 0
    assert claude.run(judge=CLAUDE)[1]["failures"] == {"interrupted": QUESTIONS // 2}
    plan(claude)
    assert claude.run(judge=CLAUDE)[0] == 0
    paid_once(claude.server, QUESTIONS)


def test_batch_in_doubt_is_found_and_cancelled(place: Place) -> None:
    """Its process died after the service had accepted it, before the answer arrived."""
    plan(place, looks=10**6)
    assert place.run("--batch-wait", "0")[0] == 3
    with place.open_store() as store:
        store.write(lambda connection: connection.execute(batches.update().values(status=stored.DOUBTED, remote=None)))
    (batch,) = place.rows("batches")
    code, _, err = place.limner(["batches", "--store", "store", "--cancel", batch.id])
    assert (code, "asked fake to stop it" in err) == (0, True), err


def test_estimate_uses_batch_price(place: Place) -> None:
    words = ["estimate", *place.words()[1:-1]]

    def dollars(*more: str) -> list[float]:
        code, out, err = place.limner([*words, *more])
        assert code == 0, err
        return [one["dollars"] for one in json.loads(out)["steps"]]

    full, half = dollars(), dollars("--batch")
    assert full[-1] > 0
    assert half == pytest.approx([one / 2 for one in full])
    place.run()
    # What went with a batch does not make later calls cheaper.
    words[words.index("--data") : words.index("--data")] = ["--repeats", "2"]
    full, half = dollars(), dollars("--batch")
    assert full[-1] > 0
    assert half == pytest.approx([one / 2 for one in full])


def test_look_at_a_batch_ends_even_if_its_service_never_replies(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_service: OpenAIBatches, _remote: str) -> RemoteBatch:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(OpenAIBatches, "look", hang)
    monkeypatch.setattr("limner.running.wave.LOOK_S", 0.1)
    assert place.run("--batch-wait", "0")[0] == 3
    assert {row.status for row in place.rows("batches")} == {"submitted"}
