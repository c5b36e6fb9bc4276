"""Services that only fail: no score is made up, every failure is named, and a later run completes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.invoke import limner
from tests.end_to_end.shop import JUDGE, BilledChat, BilledImages, expected_scores, settle, write_toml
from tests.end_to_end.shop import limner as limner_apart
from tests.support import SmallExam, write_exam

QUESTIONS = 6
PAINTER = "mine=drawing/gpt-image-1"


@pytest.fixture
def exam(here: Path) -> SmallExam:
    return write_exam(here, QUESTIONS)


def marking(exam: SmallExam) -> list[str]:
    """The words that mark finished drawings."""
    words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    return [*words, "--judge", JUDGE]


def drawing(exam: SmallExam) -> list[str]:
    """The words that draw, and mark what is drawn."""
    return ["run", "genexam", "--data", str(exam.data), "--painter", PAINTER, "--judge", JUDGE]


def check_scores(exam: SmallExam, judge: BilledChat, seed: int = 1) -> None:
    """Everything is marked, and right."""
    drawings = {id: exam.drawing(id).read_bytes() for id in exam.ids}
    rows = limner("export", "genexam").lines()
    expected = expected_scores(exam.rows, drawings, judge, seed)
    assert {row["id"]: pytest.approx(row["scores"]) for row in rows} == expected


def standing() -> Any:
    (row,) = limner("scores", "genexam", "--format", "json").json()
    return row


@pytest.mark.slow
def test_malformed_replies_are_failures_not_zeros(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    settle(here, judge, painting)
    judge.configure(malformed_until_turn=99)
    # In a process of its own, as a user would see it.
    ended = limner_apart(*marking(exam), cwd=here, code=3)
    assert ended.err.count(f"failed {QUESTIONS} times, first (unreadable): ") == 1
    assert "the last reply begins: " in ended.err
    assert f"{QUESTIONS} unreadable" in ended.out
    # Each was asked three times, and told twice what was wrong.
    assert (judge.counts()["total"], judge.counts()["answered"]) == (3 * QUESTIONS, 0)
    messages = [record["body"]["messages"] for record in judge.records()]
    assert sorted(map(len, messages)) == [1] * QUESTIONS + [3] * QUESTIONS + [5] * QUESTIONS

    summary = standing()
    assert (summary["n"], summary["expected"], summary["coverage"]) == (0, QUESTIONS, 0.0)
    assert summary["failures"] == {"unreadable": QUESTIONS}
    assert all(number["value"] is None for number in summary["scores"].values())
    rows = limner("export", "genexam").lines()
    assert [(row["status"], row["scores"], row["marks"]) for row in rows] == [("unreadable", {}, {})] * QUESTIONS
    assert all(row["detail"].startswith("try 1: ") and "the last reply begins: " in row["detail"] for row in rows)

    # Not tried again unasked; asked for, it is asked anew, and the score is the truth's.
    assert limner(*marking(exam), "--format=json", code=3).json()["failures"] == {"unreadable": QUESTIONS}
    assert judge.counts()["total"] == 3 * QUESTIONS
    judge.configure()
    assert limner(*marking(exam), "--format=json", "--retry-failed").json()["failed"] == 0
    assert judge.counts()["total"] == 4 * QUESTIONS
    check_scores(exam, judge)


@pytest.mark.slow
def test_broken_images_are_never_marked(here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages) -> None:
    settle(here, judge, painting)
    kinds = ("truncated_base64", "truncated_image", "not_an_image")
    painting.configure(faults=dict.fromkeys(kinds, 1 / 3))
    result = limner(*drawing(exam), code=3)
    assert 1 <= result.err.count("(image): ") <= 5
    body = limner(*drawing(exam), "--format=json", code=3).json()
    assert (body["done"], body["failures"]) == (0, {"image": QUESTIONS})
    assert (judge.counts()["total"], painting.counts()["total"]) == (0, QUESTIONS)
    references = list((here / "limner-store" / "blobs").rglob("*.*"))
    assert len(references) == QUESTIONS  # And nothing else.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "fault"),
    [("judge", "http_401"), ("judge", "http_429_quota"), ("painter", "http_402"), ("painter", "http_404")],
)
def test_refused_key_or_missing_credit_stops_run_with_one_message(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages, side: str, fault: str
) -> None:
    settle(here, judge, painting)
    service, words = (judge, marking(exam)) if side == "judge" else (painting, drawing(exam))
    service.configure(faults={fault: 1.0})
    result = limner(*words, "--concurrency", "2", code=1)
    assert result.out == ""
    (line,) = result.err.strip().splitlines()
    assert ": 4" in line
    assert line.endswith("No failure was stored: fix this, then run the same command again.")
    assert service.counts()["total"] == 1
    service.configure()
    assert limner(*words, "--format=json").json()["failed"] == 0


@pytest.mark.slow
def test_wrong_key_is_reported_by_separate_process(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    settle(here, judge, painting, {"key_env": "MY_API_KEY"})
    judge.configure(api_key="sk-right-0123456789abcdef")
    env = {"MY_API_KEY": "sk-wrong-0123456789abcdef"}
    ended = limner_apart(*marking(exam), cwd=here, env=env, code=1)
    assert ended.out == ""
    assert ended.err == (
        f"limner: judging/judge: 401: Incorrect API key provided: ***. (POST {judge.base_url}/chat/completions). "
        "Check the key in MY_API_KEY. No failure was stored: fix this, then run the same command again.\n"
    )
    ended = limner_apart(*marking(exam), cwd=here, code=2)
    assert ended.err == f"limner: {judge.base_url} needs a key: set the environment variable MY_API_KEY\n"
    assert judge.counts()["answered"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["refusal", "http_403"])
def test_refusals_of_judge_are_kept_until_retried(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages, fault: str
) -> None:
    settle(here, judge, painting)
    judge.configure(faults={fault: 1.0})
    assert limner(*marking(exam), "--format=json", code=3).json()["failures"] == {"refusal": QUESTIONS}
    assert limner(*marking(exam), "--format=json", code=3).json()["failures"] == {"refusal": QUESTIONS}
    assert (judge.counts()["total"], standing()["failures"]) == (QUESTIONS, {"refusal": QUESTIONS})
    judge.configure()
    assert limner(*marking(exam), "--format=json", "--retry-failed").json()["failed"] == 0
    assert judge.counts()["total"] == 2 * QUESTIONS
    check_scores(exam, judge)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["moderation_blocked", "refusal_in_200"])
def test_refusals_of_painter_are_kept_until_retried(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages, fault: str
) -> None:
    settle(here, judge, painting)
    # Half of them: by prompt, and so again each time.
    painting.configure(faults={fault: 0.5}, fault_by="key")
    body = limner(*drawing(exam), "--format=json", code=3).json()
    refused = body["failures"]["refusal"]
    assert 0 < refused < QUESTIONS
    assert body["failed"] == refused
    assert limner(*drawing(exam), "--format=json", code=3).json()["failed"] == refused
    assert painting.counts()["total"] == QUESTIONS
    summary = standing()
    assert (summary["n"], summary["expected"], summary["failures"]) == (
        QUESTIONS - refused,
        QUESTIONS,
        {"refusal": refused},
    )
    painting.configure()
    assert limner(*drawing(exam), "--format=json", "--retry-failed").json()["failed"] == 0
    assert painting.counts()["total"] == QUESTIONS + refused
    assert standing()["n"] == QUESTIONS


@pytest.mark.slow
def test_hanging_service_is_given_up_at_time_limit(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    """Each attempt has a time limit, and so has the whole call."""
    settle(here, judge, painting, {"timeout_s": 3, "call_timeout_s": 5.6})
    judge.configure(faults={"hang": 1.0})
    body = limner(*marking(exam), "--format=json", code=3).json()
    assert body["failures"] == {"timeout": QUESTIONS}
    # Without the limit for all of them it would be five.
    assert QUESTIONS <= judge.counts()["total"] <= 2 * QUESTIONS
    assert body["unpriced_calls"] == judge.counts()["total"]
    settle(here, judge, painting)
    judge.configure()
    assert limner(*marking(exam), "--format=json").json()["failed"] == 0


@pytest.mark.slow
def test_unreachable_service_stops_run_and_run_resumes(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    write_toml(here, {"providers.judging": {"base_url": "http://127.0.0.1:9/v1"}})
    result = limner(*marking(exam), code=1)
    assert "http://127.0.0.1:9/v1/chat/completions: ConnectError" in result.err
    settle(here, judge, painting)
    assert limner(*marking(exam), "--format=json").json()["failed"] == 0
    check_scores(exam, judge)


def test_standard_output_is_only_json_despite_failures(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    settle(here, judge, painting)
    judge.configure(faults={"refusal": 0.5, "prose": 0.5})
    result = limner(*marking(exam), "--format=json", code=3)
    assert json.loads(result.out)["failed"] == QUESTIONS
