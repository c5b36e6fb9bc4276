"""Painters by jobs: a submitted job is followed to its end, whatever happens on the way, and never paid twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from limner.painters.base import Painting
from tests.painters.studio import JOBS, PRICE, Make, files_with_key, killed, request

both = pytest.mark.parametrize("name", JOBS)


@both
def test_a_job_is_submitted_polled_and_fetched(make: Make, name: str) -> None:
    studio = make(name)
    studio.plan(polls=3)
    assert studio.paint().image == studio.truth()
    counts = studio.server.counts()
    assert (studio.paid(), counts["polls"], counts["fetched"], counts["fetched_with_key"]) == ([1], 4, 1, 0)
    assert studio.progress() is None


@both
@pytest.mark.parametrize("hiccup", ["http_429_retry_after", "http_500", "http_502", "drop", "malformed", "odd"])
def test_transient_polling_fault_does_not_resubmit(make: Make, name: str, hiccup: str) -> None:
    studio = make(name)
    studio.plan(faults={f"poll:{hiccup}": 1.0}, fault_first=2)
    assert studio.paint().image == studio.truth()
    assert studio.server.counts()["faults"] == {hiccup: 2}
    assert (studio.paid(), studio.tries()) == ([1], [(None, PRICE)])


@both
@pytest.mark.parametrize(
    ("hiccup", "kind", "cost"),
    [
        ("http_429", "rate_limit", 0.0),
        ("http_500", "server", 0.0),
        # Where the service may have charged without a word, the cost is not known.
        ("odd", "server", None),
        ("lost", "network", None),
    ],
)
def test_transient_submission_fault_is_retried(
    make: Make, name: str, hiccup: str, kind: str, cost: float | None
) -> None:
    studio = make(name)
    studio.plan(faults={f"submit:{hiccup}": 1.0}, fault_first=1)
    assert studio.paint().image == studio.truth()
    assert studio.paid() == [2 if hiccup == "lost" else 1]
    assert studio.tries() == [(kind, cost), (None, PRICE)]


@both
def test_next_run_follows_job_that_exceeded_limit(make: Make, name: str) -> None:
    slow = make(name, options={"poll_limit_s": 0.05})
    slow.plan(polls=1_000_000)
    fault = slow.fail(tries=2)
    assert (fault.kind, "0.05 s (still running)" in fault.detail) == ("timeout", True)
    assert slow.progress()["submitted"]
    slow.plan()
    # How long a job is followed is not part of the request.
    assert make(name).paint().image == slow.truth()
    assert slow.paid() == [1]
    # Only the try that submitted may have been charged beside the one that saw the end.
    assert slow.tries() == [("timeout", None), ("timeout", 0.0), (None, PRICE)]


@pytest.mark.slow
def test_timed_out_attempt_keeps_job(make: Make) -> None:
    studio = make(JOBS[0])
    studio.plan(faults={"poll:hang": 1.0}, fault_first=1)
    # Long enough for the submission on any machine; the hanging poll would last for ever.
    (painting,) = studio.paint_all(request(), attempt_s=2)
    assert isinstance(painting, Painting)
    assert studio.paid() == [1]
    assert [fault for fault, _ in studio.tries()] == ["timeout", None]


@both
def test_cancelled_run_keeps_job(make: Make, name: str) -> None:
    studio = make(name)
    studio.plan(faults={"poll:hang": 1.0}, fault_first=1)

    async def interrupted() -> None:
        running = asyncio.create_task(studio.paint_each(request()))
        while not (await asyncio.to_thread(studio.server.counts))["polls"]:
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait([running])

    asyncio.run(interrupted())
    assert studio.progress()["submitted"]
    assert studio.paint().image == studio.truth()
    assert studio.paid() == [1]
    assert [fault for fault, _ in studio.tries()] == ["interrupted", None]


@both
@pytest.mark.parametrize(("fate", "jobs"), [("failed", 2), ("moderated", 1), ("unknown", 1), ("no_image", 2)])
def test_job_ended_without_image_is_not_polled_again(make: Make, name: str, fate: str, jobs: int) -> None:
    studio = make(name)
    studio.plan(faults={f"job:{fate}": 1.0})
    studio.fail(tries=2)
    assert (studio.paid(), studio.progress()) == ([jobs], {})
    studio.plan()
    assert studio.paint(retry_failed=True).image == studio.truth()
    assert studio.paid() == [jobs + 1]


@both
def test_wrong_key_while_polling_keeps_job(make: Make, name: str) -> None:
    studio = make(name)
    studio.plan(faults={"poll:http_401": 1.0})
    assert studio.fail().kind == "auth"
    studio.plan()
    assert studio.paint().image == studio.truth()
    assert studio.paid() == [1]


def test_service_is_polled_if_reply_has_no_polling_url(make: Make) -> None:
    studio = make("bfl")
    studio.plan(polling="nowhere")
    studio.paint()
    assert studio.paid() == [1]


def test_key_is_sent_to_allowed_hosts_only(make: Make) -> None:
    studio = make("bfl")
    studio.plan(polling="elsewhere")
    fault = studio.fail()
    assert (fault.kind, "localhost" in fault.detail) == ("image", True)
    assert studio.server.counts()["polls"] == 0
    allowed = make("bfl", link_hosts=("localhost",), poll_hosts=("localhost",))
    assert allowed.paint(retry_failed=True).image == studio.truth()
    assert studio.paid() == [1]


@pytest.mark.slow
@both
def test_every_job_is_paid_once_under_random_faults(make: Make, name: str) -> None:
    faults = {"submit:http_500": 0.2, "submit:http_429": 0.1, "poll:http_500": 0.2, "poll:drop": 0.1}
    faults |= {"poll:malformed": 0.1, "poll:odd": 0.1, "link:http_500": 0.1, "link:drop": 0.1}
    studio = make(name)
    studio.plan(seed=3, polls=2, faults=faults)
    requests = [request(f"Figure {n}.", seed=n) for n in range(20)]
    images = [each.image for each in studio.paint_all(*requests, tries=12) if isinstance(each, Painting)]
    assert images == [studio.truth(each.prompt, seed=each.seed) for each in requests]
    assert studio.paid() == [1] * 20


@pytest.mark.slow
@both
@pytest.mark.parametrize(("at", "jobs"), [(1, 2), (2, 1)])
def test_killed_process_pays_again_only_if_it_was_submitting(
    make: Make, tmp_path: Path, name: str, at: int, jobs: int
) -> None:
    studio = make(name)
    killed(studio, ["Figure 1."], at, plan={"polls": 5})
    assert studio.paid() == [1]
    studio.plan()
    assert bool(studio.progress()) == (jobs == 1)
    assert studio.paint("Figure 1.").image == studio.truth("Figure 1.")
    assert studio.tries() == [("interrupted", None), (None, PRICE)]
    assert studio.paid() == [jobs]
    assert files_with_key(tmp_path) == []


@pytest.mark.slow
def test_killed_run_pays_again_only_for_jobs_being_submitted(make: Make) -> None:
    studio, prompts = make("bfl"), [f"Figure {n}." for n in range(8)]
    flying = killed(studio, prompts, 23, plan={"polls": 3, "faults": {"poll:http_500": 0.2}})
    studio.plan()
    known = studio.followed()
    paintings = studio.paint_all(*map(request, prompts))
    images = [each.image for each in paintings if isinstance(each, Painting)]
    assert images == [studio.truth(prompt) for prompt in prompts]
    # Whatever was being polled was known; of the others, some had been paid for when the process died.
    assert all(any(each == f"poll {key[:12]}-0" for key in known) for each in flying if each.startswith("poll "))
    jobs = studio.server.counts()["paid"]
    assert len(jobs) == 8
    assert all(jobs[key] == 1 for key in known)
    assert max(jobs.values()) <= 2


@both
def test_polling_options_are_not_part_of_the_row(make: Make, name: str) -> None:
    assert make(name, options={"poll_limit_s": 5, "size": "512x512"}).painter.options == {"size": "512x512"}
