"""Whole runs against services that fail in every way: each ends complete, and nothing stored is wrong.

A fifth of all requests go wrong, at the painter's service and at the judge's. Most faults are tried again at once;
what is not waits for --retry-failed. No request goes wrong more than twice, so that a few runs must do.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import limner as limner_here
from tests.end_to_end.shop import JUDGE, BilledChat, BilledImages, charged, expected_scores, judging, limner, write_toml
from tests.fakes.client import Server
from tests.fakes.gemini_client import GeminiServer
from tests.fakes.gemini_replies import painted
from tests.fakes.images_truth import picture
from tests.fakes.jobs_client import JobServer
from tests.support import SmallExam, write_exam

pytestmark = pytest.mark.slow

QUESTIONS = 40
RUNS = 6
"""A link that leads to no image is followed once more before it is given up: two runs, twice, then the judge's two."""
CHAT_FAULTS = {
    "http_429": 0.02, "http_429_retry_after": 0.02, "http_500": 0.02, "http_502": 0.01, "http_503": 0.02,
    "error_in_200": 0.02, "drop": 0.02, "prose": 0.01, "truncated": 0.02, "wrong_count": 0.02, "out_of_range": 0.01,
    "empty": 0.01, "length": 0.01, "refusal": 0.01,
}  # fmt: skip
HTTP_FAULTS = {"http_429": 0.02, "http_429_retry_after": 0.02, "http_500": 0.02, "http_502": 0.01, "http_503": 0.02}
IMAGE_FAULTS = HTTP_FAULTS | {
    "error_in_200": 0.02, "rate_in_200": 0.01, "drop": 0.02, "malformed_json": 0.01, "html": 0.01, "empty": 0.01,
    "odd_shape": 0.01, "truncated_base64": 0.02, "truncated_image": 0.01, "not_an_image": 0.01,
    "moderation_blocked": 0.01,
}  # fmt: skip
LINK_FAULTS = HTTP_FAULTS | {
    "drop": 0.01, "link:expired": 0.02, "link:wrong_host": 0.01, "link:html": 0.02, "link:junk": 0.02,
    "link:http_500": 0.03, "link:drop": 0.03,
}  # fmt: skip
TALK_FAULTS = HTTP_FAULTS | {
    "drop": 0.01, "choice_error": 0.02, "text_only": 0.02, "no_image": 0.02, "refusal": 0.01, "refusal_text": 0.01,
    "content_filter": 0.01, "length": 0.01, "truncated_base64": 0.02, "truncated_image": 0.01,
}  # fmt: skip
GEMINI_FAULTS = {
    "minute": 0.02, "minute_retry_info": 0.02, "http_500": 0.02, "http_502": 0.01, "http_503": 0.02, "http_504": 0.01,
    "error_in_200": 0.02, "drop": 0.02, "malformed_json": 0.01, "not_json": 0.01, "truncated_base64": 0.02,
    "truncated_image": 0.01, "not_an_image": 0.01, "odd_shape": 0.01, "empty": 0.01, "finish_IMAGE_SAFETY": 0.01,
    "finish_NO_IMAGE": 0.01, "text": 0.01,
}  # fmt: skip
JOB_FAULTS = {
    "submit:http_429": 0.02, "submit:http_429_retry_after": 0.02, "submit:http_500": 0.02, "submit:drop": 0.02,
    "submit:lost": 0.02, "submit:malformed": 0.02, "submit:odd": 0.02, "poll:http_500": 0.05, "poll:http_429": 0.03,
    "poll:drop": 0.05, "poll:malformed": 0.03, "poll:odd": 0.03, "poll:gone": 0.02, "job:failed": 0.03,
    "job:throttled": 0.02, "job:moderated": 0.02, "job:unknown": 0.02, "job:no_image": 0.02, "link:expired": 0.03,
    "link:html": 0.02, "link:junk": 0.02, "link:http_500": 0.03, "link:drop": 0.03,
}  # fmt: skip
BROUGHT = frozenset({"answered", "link:http_500", "link:drop"})
"""What a service says of requests whose image was had in the end."""
PAID = BROUGHT | {
    "truncated_base64", "truncated_image", "not_an_image", "link:expired", "link:wrong_host", "link:html", "link:junk",
}  # fmt: skip
"""What it says of those for which it made an image, had or not."""
PRICE = 0.01


@dataclass(frozen=True)
class Shape:
    """One wire format: its service, its settings, and which image is the right one.

    Attributes:
        truth: The image for a prompt, by how often the same request had come before it was answered.
        at_once: Whether drawn and marked by one command, or by one after the other.
    """

    service: str
    model: str
    provider: Mapping[str, Any]
    faults: Mapping[str, float]
    truth: Callable[[str, int], bytes]
    words: tuple[str, ...] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    at_once: bool = True


SHAPES = {
    "openai-images": Shape(
        "painting",
        "gpt-image-1",
        {"image_shape": "openai-images"},
        IMAGE_FAULTS,
        lambda prompt, nth: picture(prompt, nth, "1024x1024"),
    ),
    "openai-images-links": Shape(
        "painting",
        "open-model",
        {"image_shape": "openai-images", "seeds": True},
        LINK_FAULTS,
        lambda prompt, nth: picture(prompt, 0, "1024x1024"),
        ("--painter-arg", "response_format=url"),
    ),
    "chat-images": Shape(
        "painting",
        "maker/draws",
        {"image_shape": "chat-images", "seeds": True},
        TALK_FAULTS,
        lambda prompt, nth: picture(prompt, 0, "1:1"),
    ),
    "gemini": Shape(
        "gemini",
        "gemini-image",
        {"image_shape": "gemini", "seeds": True},
        GEMINI_FAULTS,
        lambda prompt, nth: painted(prompt, 0, nth + 1),
        plan={"thoughts": 1},
        at_once=False,
    ),
    "dashscope": Shape(
        "jobs",
        "wan2.5-t2i-preview",
        {"image_shape": "dashscope", "seeds": True},
        JOB_FAULTS,
        lambda prompt, nth: picture(prompt, 0, "1024x1024"),
        ("--painter-arg", "poll_pause_s=0.005"),
    ),
    "bfl": Shape(
        "jobs",
        "flux-2-pro",
        {"image_shape": "bfl", "seeds": True},
        JOB_FAULTS,
        lambda prompt, nth: picture(prompt, 0, "1024x1024"),
        ("--painter-arg", "poll_pause_s=0.005"),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_run_despite_faults_is_complete_and_correct(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    judge: BilledChat,
    painting: BilledImages,
    gemini: GeminiServer,
    jobs: JobServer,
    name: str,
) -> None:
    shape, seed = SHAPES[name], 100 + list(SHAPES).index(name)
    services: dict[str, Server] = {"painting": painting, "gemini": gemini, "jobs": jobs}
    service = services[shape.service]
    url = jobs.root if service is jobs else service.base_url
    faulty = {"seed": seed, "fault_first": 2, "retry_after": 0.02}
    judge.configure(**faulty, faults=CHAT_FAULTS)
    service.configure(**faulty, faults=dict(shape.faults), **shape.plan)
    exam = write_exam(tmp_path, QUESTIONS, drawings=False)
    spec = f"drawing/{shape.model}"
    prices = {f"painters.{spec}": {"image_price": PRICE}}
    write_toml(tmp_path, {"providers.drawing": {"base_url": url, **shape.provider}, **judging(judge), **prices})

    painted = ["genexam", "--data", str(exam.data), "--painter", f"mine={spec}", *shape.words]
    if shape.at_once:
        to_the_end(tmp_path, "run", *painted, "--judge", JUDGE)
    else:
        to_the_end(tmp_path, "draw", *painted)
        to_the_end(tmp_path, "mark", "genexam", "--judge", JUDGE)
    went_wrong = service.counts()["faults"], judge.counts()["faults"]
    assert all(sum(faults.values()) >= QUESTIONS // 20 for faults in went_wrong), went_wrong

    monkeypatch.chdir(tmp_path)
    drawings = right_images(shape, service, exam)
    limner_here("export", "genexam", "--images", "pictures", "-o", "rows.jsonl")
    stored = {path.stem: path.read_bytes() for path in (tmp_path / "pictures").rglob("*.*")}
    assert stored == drawings
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"]: row["status"] for row in rows} == dict.fromkeys(exam.ids, "done")
    expected = expected_scores(exam.rows, drawings, judge, seed)
    assert {row["id"]: pytest.approx(row["scores"]) for row in rows} == expected
    (standing,) = limner_here("scores", "genexam", "--format", "json").json()
    assert (standing["n"], standing["expected"], standing["failures"]) == (QUESTIONS, QUESTIONS, {})
    for score, number in standing["scores"].items():
        mean = sum(scores[score] for scores in expected.values()) / QUESTIONS
        assert number["value"] == pytest.approx(mean, abs=1e-6), score
    check_the_books(judge, service)


def to_the_end(folder: Path, *words: str) -> None:
    """Run a command until everything is done."""
    codes: list[int] = []
    while not codes or (codes[-1] == 3 and len(codes) < RUNS):
        again = ["--retry-failed"] if codes else []
        ended = limner(*words, *again, "--format=json", cwd=folder, code=None)
        codes.append(ended.code)
        body = ended.json()
        assert body["done"] + body["stored"] + body["failed"] <= 2 * QUESTIONS
        assert (ended.code == 0) == (body["failed"] == 0)
    assert codes[-1] == 0, codes


def check_the_books(judge: BilledChat, service: Server) -> None:
    """Nothing was paid twice, and every dollar is on the books but for what was dropped unheard."""
    counts = judge.counts()
    assert set(counts["answered_by_key"].values()) == {1}
    books = {one["group"]["kind"]: one for one in limner_here("spend", "--by", "kind", "--format=json").json()}
    bill, unheard = counts["bill"], counts["unheard"]
    assert books["chat"]["attempts"] == counts["total"]
    assert books["chat"]["dollars"] == pytest.approx(charged(bill) - charged(unheard))
    assert books["chat"]["tokens_in"] == bill["tokens_in"] - unheard["tokens_in"]
    assert books["chat"]["tokens_out"] == bill["tokens_out"] - unheard["tokens_out"]
    if isinstance(service, JobServer):
        jobs = sum(service.counts()["paid"].values())
        assert QUESTIONS * PRICE - 1e-9 <= books["paint"]["dollars"] <= jobs * PRICE + 1e-9
    else:
        outcomes = Counter(record["outcome"] for record in service.records(10**6))
        assert books["paint"]["dollars"] == pytest.approx(PRICE * sum(outcomes[name] for name in PAID))


def right_images(shape: Shape, service: Server, exam: SmallExam) -> dict[str, bytes]:
    """The image each question must have, by which of the requests for it the service fulfilled."""
    if isinstance(service, JobServer):
        return {row["id"]: shape.truth(row["prompt"], 0) for row in exam.rows}
    came: Counter[str] = Counter()
    fulfilled: dict[str, list[int]] = {}
    for record in service.records(10**6):
        (prompt,) = [row["prompt"] for row in exam.rows if row["prompt"] in str(record["body"])]
        if record["outcome"] in BROUGHT:
            fulfilled.setdefault(prompt, []).append(came[prompt])
        came[prompt] += 1
    # One image was made for each, and no second one was paid for.
    assert [len(times) for times in fulfilled.values()] == [1] * QUESTIONS
    return {row["id"]: shape.truth(row["prompt"], fulfilled[row["prompt"]][0]) for row in exam.rows}
