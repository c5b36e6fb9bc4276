"""Painters by jobs: a submitted job is followed to its end, whatever happens on the way, and never paid twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.calls import Fault
from limner.core.errors import UsageError
from limner.painters.base import Painting
from limner.painters.jobs import follow
from limner.store import Store
from tests.fakes.jobs_client import JobServer, picture
from tests.painters.job_support import (
    KEY,
    KEY_VARIABLE,
    PRICE,
    SPECS,
    ask,
    everything,
    fail,
    followed,
    killed,
    make,
    paid,
    paint,
    paint_all,
    progress,
    run,
    tries,
)

TRUTH = picture("A cell with its parts.", 7, "1024x1024")
HICCUPS = ("http_429", "http_429_retry_after", "http_500", "http_502", "drop", "malformed", "odd")


@pytest.fixture(scope="module")
def service() -> Iterator[JobServer]:
    with JobServer() as server:
        yield server


@pytest.fixture
def server(service: JobServer, monkeypatch: pytest.MonkeyPatch) -> JobServer:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    service.reset()
    return service


both = pytest.mark.parametrize("spec", SPECS)


@pytest.mark.slow
@both
def test_a_job_is_submitted_polled_and_fetched(server: JobServer, store: Store, spec: str) -> None:
    server.configure(api_key=KEY, polls=3)
    painter = make(server.root, store, spec)
    painting = paint(painter, store)
    assert painting.image == TRUTH
    assert painting.cost == PRICE
    counts = server.counts()
    assert (paid(server), counts["polls"], counts["fetched"], counts["fetched_with_key"]) == ([1], 4, 1, 0)
    assert progress(store) is None
    assert paint(painter, store).image == TRUTH
    assert server.counts()["total"] == counts["total"]


@both
@pytest.mark.parametrize("hiccup", HICCUPS)
def test_a_hiccup_while_polling_submits_nothing(server: JobServer, store: Store, spec: str, hiccup: str) -> None:
    server.configure(faults={f"poll:{hiccup}": 1.0}, fault_first=2, retry_after=0.01)
    assert paint(make(server.root, store, spec), store).image == TRUTH
    assert server.counts()["faults"] == {hiccup: 2}
    assert paid(server) == [1]
    assert tries(store) == [(None, PRICE)]


@both
@pytest.mark.parametrize("hiccup", [*HICCUPS, "lost"])
def test_a_hiccup_while_submitting_is_tried_again(server: JobServer, store: Store, spec: str, hiccup: str) -> None:
    server.configure(faults={f"submit:{hiccup}": 1.0}, fault_first=1, retry_after=0.01)
    assert paint(make(server.root, store, spec), store).image == TRUTH
    assert paid(server) == [2 if hiccup == "lost" else 1]
    first, second = tries(store)
    kind = {"http_429": "rate_limit", "http_429_retry_after": "rate_limit", "drop": "network", "lost": "network"}
    # Where the service may have charged without a word, the cost is not known.
    cost = None if hiccup in ("drop", "lost", "malformed", "odd") else 0.0
    assert (first, second) == ((kind.get(hiccup, "server"), cost), (None, PRICE))


def test_the_wait_a_service_asks_for_is_kept() -> None:
    faults = [Fault("rate_limit", "slow down", retry_after=0.2), Fault("server", "oops")]

    async def once() -> str | None:
        if faults:
            raise faults.pop(0)
        return "done"

    before = time.monotonic()
    assert asyncio.run(follow(once, 5, 0.001)) == "done"
    assert time.monotonic() - before >= 0.2


@both
def test_a_job_that_outlasts_the_limit_is_followed_by_the_next_run(server: JobServer, store: Store, spec: str) -> None:
    server.configure(polls=1_000_000)
    slow = make(server.root, store, spec, {"poll_limit_s": 0.05})
    fault = fail(slow, store, tries=2)
    assert fault.kind == "timeout"
    assert "0.05 s (at work)" in fault.detail
    assert progress(store)["submitted"]
    server.configure()
    assert paint(make(server.root, store, spec), store).image == TRUTH
    assert paid(server) == [1]
    # Only the try that submitted may have been charged beside the one that saw the end.
    assert tries(store) == [("timeout", None), ("timeout", 0.0), (None, PRICE)]


@pytest.mark.slow
def test_an_attempt_cut_short_leaves_the_job_in_place(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, SPECS[0])
    server.configure(faults={"poll:hang": 1.0}, fault_first=1)
    # Long enough for the submission on any machine; the hanging poll would last for ever.
    assert paint(painter, store, attempt_s=2).image == TRUTH
    assert paid(server) == [1]
    assert [fault for fault, _ in tries(store)] == ["timeout", None]


@both
def test_a_cancelled_run_leaves_the_job_in_place(server: JobServer, store: Store, spec: str) -> None:
    server.configure(faults={"poll:hang": 1.0}, fault_first=1)
    painter = make(server.root, store, spec)

    async def interrupted() -> None:
        running = asyncio.create_task(paint_all(painter, store, [ask()]))
        while not (await asyncio.to_thread(server.counts))["polls"]:
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait([running])

    asyncio.run(interrupted())
    assert progress(store)["submitted"]
    assert paint(painter, store).image == TRUTH
    assert paid(server) == [1]
    assert [fault for fault, _ in tries(store)] == ["interrupted", None]


@both
@pytest.mark.parametrize(
    ("fate", "kind", "jobs"),
    [
        ("failed", "server", 2),
        ("moderated", "refusal", 1),
        ("moderated_image", "refusal", 1),
        ("unknown", "missing", 1),
        ("no_image", "server", 2),
    ],
)
def test_a_job_that_ends_without_an_image_is_not_followed_again(
    server: JobServer, store: Store, spec: str, fate: str, kind: str, jobs: int
) -> None:
    server.configure(faults={f"job:{fate}": 1.0})
    painter = make(server.root, store, spec)
    fault = fail(painter, store, tries=2)
    assert fault.kind == kind
    assert paid(server) == [jobs]
    assert progress(store) == {}
    server.configure()
    assert paint(painter, store, retry_failed=True).image == TRUTH
    assert paid(server) == [jobs + 1]


@both
def test_a_failed_job_is_submitted_anew_by_the_same_run(server: JobServer, store: Store, spec: str) -> None:
    server.configure(faults={"job:failed": 1.0}, fault_first=1)
    assert paint(make(server.root, store, spec), store).image == TRUTH
    assert paid(server) == [2]


@both
def test_a_job_unknown_by_status_is_missing(server: JobServer, store: Store, spec: str) -> None:
    server.configure(faults={"poll:gone": 1.0})
    painter = make(server.root, store, spec)
    assert fail(painter, store).kind == "missing"
    server.configure()
    # Without being asked to: the next run draws what is missing.
    assert paint(painter, store).image == TRUTH
    assert paid(server) == [2]


@both
def test_a_wrong_key_while_polling_loses_nothing(
    server: JobServer, store: Store, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.configure(api_key=KEY, faults={"poll:http_401": 1.0})
    painter = make(server.root, store, spec)
    assert fail(painter, store).kind == "auth"
    server.configure(api_key=KEY)
    assert paint(painter, store).image == TRUTH
    assert paid(server) == [1]


@both
@pytest.mark.parametrize("slip", ["http_500", "drop"])
def test_a_link_that_fails_is_followed_again(server: JobServer, store: Store, spec: str, slip: str) -> None:
    server.configure(faults={f"link:{slip}": 1.0})
    assert paint(make(server.root, store, spec), store).image == TRUTH
    assert (paid(server), server.counts()["fetched"]) == ([1], 2)


@both
def test_an_expired_link_is_missing_and_drawn_anew(server: JobServer, store: Store, spec: str) -> None:
    server.configure(faults={"link:expired": 1.0}, fault_first=1)
    painter = make(server.root, store, spec)
    assert fail(painter, store).kind == "missing"
    assert paint(painter, store).image == TRUTH
    assert paid(server) == [2]


@both
def test_a_link_to_another_host_is_followed_once_that_is_allowed(server: JobServer, store: Store, spec: str) -> None:
    server.configure(faults={"link:wrong_host": 1.0})
    fault = fail(make(server.root, store, spec), store)
    assert fault.kind == "image"
    assert "localhost" in fault.detail
    assert server.counts()["fetched"] == 0
    allowed = make(server.root, store, spec, link_hosts=("localhost",))
    assert paint(allowed, store, retry_failed=True).image == TRUTH
    assert paid(server) == [1]


@both
@pytest.mark.parametrize("slip", ["html", "junk"])
def test_a_link_to_no_image_is_a_fault(server: JobServer, store: Store, spec: str, slip: str) -> None:
    server.configure(faults={f"link:{slip}": 1.0})
    assert fail(make(server.root, store, spec), store).kind == "image"
    assert paid(server) == [1]
    assert not list(Path(store.blobs.root).rglob("*.*"))


@pytest.mark.slow
@both
@pytest.mark.parametrize("seed", [3])
def test_every_job_is_paid_once_through_a_storm(server: JobServer, store: Store, spec: str, seed: int) -> None:
    faults = {"submit:http_500": 0.2, "submit:http_429": 0.1, "poll:http_500": 0.2, "poll:drop": 0.1}
    faults |= {"poll:malformed": 0.1, "poll:odd": 0.1, "link:http_500": 0.1, "link:drop": 0.1}
    server.configure(seed=seed, polls=2, faults=faults)
    requests = [ask(f"Figure {n}.", n) for n in range(20)]
    found = run(make(server.root, store, spec), store, requests, tries=12)
    images = [each.image for each in found if isinstance(each, Painting)]
    assert images == [picture(each.prompt, each.seed, "1024x1024") for each in requests]
    assert paid(server) == [1] * 20


@pytest.mark.slow
@both
@pytest.mark.parametrize("at", [2])
def test_a_process_killed_while_polling_is_taken_over_without_paying_again(
    server: JobServer, tmp_path: Path, spec: str, at: int
) -> None:
    folder, prompt = tmp_path / "store", ask().prompt
    killed(server, folder, spec, [prompt], at, polls=5)
    assert paid(server) == [1]
    server.configure(api_key=KEY)
    with Store(folder) as store:
        assert progress(store)["submitted"]
        assert paint(make(server.root, store, spec), store).image == TRUTH
        assert tries(store) == [("interrupted", None), (None, PRICE)]
    assert paid(server) == [1]
    assert KEY.encode() not in everything(tmp_path)


@pytest.mark.slow
@both
def test_a_process_killed_while_submitting_pays_once_more_at_most(server: JobServer, tmp_path: Path, spec: str) -> None:
    folder, prompt = tmp_path / "store", ask().prompt
    killed(server, folder, spec, [prompt], 1)
    assert paid(server) == [1]
    server.configure(api_key=KEY)
    with Store(folder) as store:
        assert not progress(store)
        assert paint(make(server.root, store, spec), store).image == TRUTH
        assert tries(store) == [("interrupted", None), (None, PRICE)]
    assert paid(server) == [2]


@pytest.mark.slow
@pytest.mark.parametrize("at", [23])
def test_a_killed_run_pays_again_only_for_what_it_was_submitting(server: JobServer, tmp_path: Path, at: int) -> None:
    folder, prompts = tmp_path / "store", [f"Figure {n}." for n in range(8)]
    flying = killed(server, folder, SPECS[1], prompts, at, polls=3, faults={"poll:http_500": 0.2})
    server.configure(api_key=KEY)
    with Store(folder) as store:
        known = followed(store)
        painter = make(server.root, store, SPECS[1])
        found = run(painter, store, [ask(prompt) for prompt in prompts])
    images = [each.image for each in found if isinstance(each, Painting)]
    assert images == [picture(prompt, 7, "1024x1024") for prompt in prompts]
    # Whatever was being polled was known; of the others, some had been paid for when the process died.
    assert all(any(name == f"poll {key[:12]}-0" for key in known) for name in flying if name.startswith("poll "))
    jobs = server.counts()["paid"]
    assert len(jobs) == 8
    assert all(jobs[key] == 1 for key in known)
    assert max(jobs.values()) <= 2


def test_options_are_checked_and_polling_is_no_part_of_the_row(server: JobServer, store: Store) -> None:
    for spec in SPECS:
        with pytest.raises(UsageError, match=f"{spec} has no option 'quality'; there is: .*poll_limit_s, poll_pause_s"):
            make(server.root, store, spec, {"quality": "high"})
        painter = make(server.root, store, spec, {"poll_limit_s": 5, "size": "512x512"})
        assert painter.options == {"size": "512x512"}
        slower = make(server.root, store, spec, {"poll_limit_s": 500, "size": "512x512"})
        assert paint(painter, store).calls == paint(slower, store).calls
