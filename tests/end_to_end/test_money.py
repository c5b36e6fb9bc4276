"""Money: what services charge by their own bills never passes --budget, is estimated well, and is all accounted for.

A service's bill counts every reply it wrote, also those that were dropped on their way, cut short or of no use.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Limits
from limner.calls.turns import RateLimit
from tests.cli.invoke import Said, limner
from tests.end_to_end.shop import JUDGE, PRICES, BilledChat, BilledImages, charged, expected_scores, judging, write_toml
from tests.fakes.jobs_client import JobServer
from tests.support import SmallExam, picture, write_exam

QUESTIONS = 40
LONGEST = 2000
FAULTS = {
    "drop": 0.15, "http_500": 0.03, "http_429": 0.03, "error_in_200": 0.04, "prose": 0.04, "wrong_count": 0.04,
    "length": 0.02, "refusal": 0.02,
}  # fmt: skip
IMAGE_PRICES = (5.0, 40.0)
IMAGE_BOUND = 0.1


@pytest.fixture
def exam(here: Path) -> SmallExam:
    return write_exam(here, QUESTIONS)


def marking(exam: SmallExam, **more: Any) -> list[str]:
    """The words that mark finished drawings."""
    words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    words += ["--judge", JUDGE, "--judge-arg", f"max_completion_tokens={LONGEST}"]
    return [*words, *(f"--{name}={value}" for name, value in more.items())]


def stopped(result: Said, limit: float) -> None:
    """It ended for want of money, with one message and nothing else."""
    assert (result.code, result.out) == (4, "")
    messages = [line for line in result.err.splitlines() if line.startswith("limner: ")]
    assert len(messages) == 1
    assert messages[0].startswith("limner: budget reached: $")
    assert f" of ${limit:g} spent, and a call to " in messages[0]
    assert messages[0].endswith("run again with a higher --budget to go on")


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "concurrency"), [(1, 1), (2, 5), (3, 64)])
def test_bill_of_judge_never_exceeds_budget(
    here: Path, exam: SmallExam, judge: BilledChat, seed: int, concurrency: int
) -> None:
    limit = 0.3
    write_toml(here, judging(judge))
    judge.configure(seed=seed, faults=FAULTS, thinking=[0, LONGEST], latency_s=[0.0, 0.01])
    stopped(limner(*marking(exam, budget=limit, concurrency=concurrency), code=4), limit)
    assert limit / 4 < charged(judge.counts()["bill"]) <= limit + 1e-9

    # A higher one goes on from there, and pays for nothing again that was had.
    for _ in range(4):
        result = limner(*marking(exam, budget=9, concurrency=concurrency), "--retry-failed", "--format=json", code=None)
        if result.code == 0:
            break
        assert result.code == 3
    assert result.code == 0
    assert set(judge.counts()["answered_by_key"].values()) == {1}
    rows = limner("export", "genexam").lines()
    drawings = {id: exam.drawing(id).read_bytes() for id in exam.ids}
    expected = expected_scores(exam.rows, drawings, judge, seed)
    assert {row["id"]: pytest.approx(row["scores"]) for row in rows} == expected


@pytest.mark.slow
def test_replies_of_maximum_length_stay_within_budget(here: Path, exam: SmallExam, judge: BilledChat) -> None:
    """All calls are in flight at once, and each costs nearly all that was reserved for it."""
    longest, limit = 20_000, 1.0
    write_toml(here, judging(judge))
    judge.configure(thinking=[longest, longest], latency_s=0.01, faults={"drop": 0.2})
    words = [*marking(exam, budget=limit, concurrency=64), "--judge-arg", f"max_completion_tokens={longest}"]
    stopped(limner(*words, code=4), limit)
    bill = judge.counts()["bill"]
    assert bill["tokens_out"] == longest * bill["replies"]
    assert 0.8 * limit < charged(bill) <= limit + 1e-9


@pytest.mark.slow
def test_calls_wait_if_their_bounds_exceed_budget_together(here: Path, exam: SmallExam, judge: BilledChat) -> None:
    """All at once could exceed the budget: they run a few at a time, and none fails."""
    write_toml(here, judging(judge))
    judge.configure(thinking=[0, LONGEST // 8], latency_s=[0.0, 0.02])
    limit = 0.4
    body = limner(*marking(exam, budget=limit), "--format=json").json()
    assert (body["done"], body["failed"]) == (2 * QUESTIONS, 0)
    counts = judge.counts()
    bill = charged(counts["bill"])
    assert body["spent"] == pytest.approx(bill, abs=1e-6)
    assert bill <= limit
    # What they could have cost in all would not have fitted.
    assert QUESTIONS * LONGEST * PRICES[1] / 1e6 > limit
    assert 1 < counts["max_in_flight"] < QUESTIONS


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "concurrency"), [(1, 1), (2, 32)])
def test_bill_of_painter_never_exceeds_budget(
    here: Path, exam: SmallExam, painting: BilledImages, seed: int, concurrency: int
) -> None:
    """Its price is by tokens, and differs from image to image; broken images are charged like any others."""
    facts = {"input_price": IMAGE_PRICES[0], "output_price": IMAGE_PRICES[1]}
    sections: dict[str, Mapping[str, Any]] = {
        "providers.drawing": {"base_url": painting.base_url, "image_shape": "openai-images"},
        "models.drawing/gpt-image-1": facts,
        "painters.drawing/gpt-image-1": {"image_bound": IMAGE_BOUND},
    }
    write_toml(here, sections)
    faults = {"drop": 0.1, "truncated_base64": 0.1, "not_an_image": 0.05, "http_500": 0.05, "empty": 0.05}
    painting.configure(seed=seed, faults=faults, thinking=[0, 1400])
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", "drawing/gpt-image-1"]
    limit = 0.7
    stopped(limner(*words, "--budget", str(limit), "--concurrency", str(concurrency), code=4), limit)
    bill = charged(painting.counts()["bill"], IMAGE_PRICES)
    assert limit / 3 < bill <= limit + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "faults",
    [
        {"link:expired": 0.5, "link:moved": 0.5},
        {"link:html": 0.2, "link:junk": 0.2, "link:wrong_host": 0.2, "link:http_500": 0.2, "link:drop": 0.2},
    ],
    ids=lambda faults: "-".join(faults),
)
def test_images_with_broken_links_count_toward_budget(
    here: Path, exam: SmallExam, painting: BilledImages, faults: dict[str, float]
) -> None:
    provider = {"base_url": painting.base_url, "image_shape": "openai-images"}
    write_toml(here, {"providers.drawing": provider, "painters.drawing/open": {"image_price": 0.02}})
    painting.configure(faults=faults)
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", "drawing/open"]
    words += ["--painter-arg", "response_format=url"]
    stopped(limner(*words, "--budget", "0.25", code=4), 0.25)
    made = painting.counts()["bill"]["replies"]
    assert made * 0.02 <= 0.25
    (spent,) = limner("spend", "--by", "kind", "--format=json").json()
    assert spent["dollars"] == pytest.approx(made * 0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("service", "faults"),
    [
        ("dashscope", {"link:expired": 1.0}),
        ("dashscope", {"submit:lost": 0.5}),
        ("bfl", {"poll:gone": 0.5}),
        ("bfl", {"link:junk": 1.0}),
    ],
)
def test_failed_jobs_count_toward_budget(
    here: Path, exam: SmallExam, jobs: JobServer, service: str, faults: dict[str, float]
) -> None:
    model = "wan2.5-t2i-preview" if service == "dashscope" else "flux-2-pro"
    provider = {"base_url": jobs.root, "image_shape": service, "seeds": True}
    write_toml(here, {"providers.drawing": provider, f"painters.drawing/{model}": {"image_price": 0.02}})
    jobs.configure(faults=faults, polls=0)
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", f"drawing/{model}"]
    stopped(limner(*words, "--painter-arg", "poll_pause_s=0.001", "--budget", "0.25", code=4), 0.25)
    paid = sum(jobs.counts()["paid"].values())
    assert 0 < paid * 0.02 <= 0.25 + 1e-9


PRICED = {"input_price": 1.0, "output_price": 1.0}
UNKNOWN: dict[str, tuple[dict[str, Mapping[str, Any]], list[str], str]] = {
    "the judge's price": (
        {},
        ["--painter", "control/blank", "--judge", "judging/nobody", "--judge-arg", "max_tokens=9"],
        'judging/nobody has no price: add input_price and output_price under [models."judging/nobody"] in limner.toml, '
        "0 for a server of your own",
    ),
    "half of the judge's price": (
        {"models.judging/half": {"input_price": 1.0}},
        ["--painter", "control/blank", "--judge", "judging/half", "--judge-arg", "max_tokens=9"],
        'judging/half has no price: add input_price and output_price under [models."judging/half"] in limner.toml, '
        "0 for a server of your own",
    ),
    "a limit that is none": (
        {"models.judging/endless": PRICED},
        ["--painter", "control/blank", "--judge", "judging/endless", "--judge-arg", "max_tokens=many"],
        "judging/endless has no limit on its replies: add --judge-arg max_completion_tokens=N",
    ),
    "the painter's price": (
        {"providers.drawing": {"base_url": "http://127.0.0.1:9", "image_shape": "openai-images"}},
        ["--painter", "drawing/free", "--judge", "ocr"],
        'drawing/free has no price: add image_price (or image_bound) under [painters."drawing/free"] in limner.toml',
    ),
}


@pytest.mark.parametrize(("sections", "words", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_budget_is_refused_if_price_is_unknown(
    here: Path,
    exam: SmallExam,
    judge: BilledChat,
    sections: Mapping[str, Mapping[str, Any]],
    words: list[str],
    message: str,
) -> None:
    write_toml(here, {**judging(judge), **sections})
    result = limner("run", "genexam", "--data", exam.data, *words, "--budget", "5", code=2)
    assert (result.out, result.err) == ("", f"limner: --budget cannot be enforced: {message}\n")
    assert judge.counts()["total"] == 0
    assert not (here / "limner-store").exists()


@pytest.mark.parametrize("limit", ["0", "-3", "nan"])
def test_invalid_budget_is_refused(here: Path, exam: SmallExam, judge: BilledChat, limit: str) -> None:
    write_toml(here, judging(judge))
    result = limner(*marking(exam), "--budget", limit, code=2)
    assert result.err == f"limner: --budget takes dollars above 0, not {limit}\n"
    assert judge.counts()["total"] == 0
    assert not (here / "limner-store").exists()


@pytest.mark.slow
def test_free_painter_needs_no_price(here: Path, exam: SmallExam) -> None:
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    assert limner(*words, "--budget", "0.001", "--format=json").json()["failed"] == 0


@pytest.mark.slow
def test_limits_in_settings_apply_to_service(
    here: Path, exam: SmallExam, judge: BilledChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[tuple[Limits, int]] = []

    class Seen(RateLimit):
        async def enter(self, tokens: int = 0) -> None:
            entered.append((self.limits, tokens))
            await super().enter(tokens)

    monkeypatch.setattr("limner.calls.journal.RateLimit", Seen)
    given = {"requests_per_minute": 6000, "tokens_per_minute": 10**9, "timeout_s": 20, "call_timeout_s": 50}
    write_toml(here, judging(judge, **given))
    limner(*marking(exam, limit=5))
    assert {limits for limits, _ in entered} == {Limits(6000, 10**9, 20, 50)}
    # Each attempt went through it, with no fewer tokens than the service counts.
    bill = judge.counts()["bill"]
    assert len(entered) == bill["replies"] == 5
    assert sum(tokens for _, tokens in entered) >= bill["tokens_in"]


def estimated(*words: str) -> Any:
    body = limner("estimate", *words, "--format=json").json()
    (judging,) = [step for step in body["steps"] if step["role"] == "judge"]
    return judging


@pytest.mark.slow
def test_estimate_is_close_after_first_run(here: Path, judge: BilledChat) -> None:
    """Lengths differ from reply to reply, and some have to be asked for again."""
    count = 60
    exam = write_exam(here, 2 * count)
    write_toml(here, judging(judge))
    judge.configure(seed=5, thinking=[100, 900], faults={"prose": 0.06, "wrong_count": 0.06}, fault_first=1)
    words = marking(exam)
    before = estimated(*words[1:])
    assert (before["steps"], before["basis"]) == (2 * count, "rule of thumb")
    limner(*words, "--limit", str(count), code=None)
    first = charged(judge.counts()["bill"])
    guess = estimated(*words[1:], "--retry-failed")
    assert guess["basis"] == "stored calls"
    # A few may have been unreadable three times, and are to be marked again.
    assert count <= guess["steps"] == guess["calls"] <= 1.1 * count
    limner(*words, "--retry-failed", code=None)
    second = charged(judge.counts()["bill"]) - first
    assert guess["dollars"] == pytest.approx(second, rel=0.2)
    after = estimated(*words[1:])
    assert (after["steps"], after["calls"], after["dollars"]) == (0, 0, 0.0)


@pytest.mark.slow
def test_spending_by_exam_and_painter_equals_bill_of_service(
    here: Path, exam: SmallExam, judge: BilledChat, painting: BilledImages
) -> None:
    drawing = {"base_url": painting.base_url, "image_shape": "openai-images"}
    facts = {"input_price": IMAGE_PRICES[0], "output_price": IMAGE_PRICES[1]}
    write_toml(here, {**judging(judge), "providers.drawing": drawing, "models.drawing/gpt-image-1": facts})
    (here / "own.toml").write_text('name = "own"\nkind = "genexam"\ndata = "data"\n', "utf-8")
    other = here / "other"
    other.mkdir()
    for number, id in enumerate(exam.ids):
        (other / f"{id}.png").write_bytes(picture(500 + number))
    judge.configure(seed=8, thinking=[0, 900], faults={"refusal": 0.1, "length": 0.1, "prose": 0.1}, fault_first=1)
    painting.configure(seed=8, thinking=[0, 900], faults={"truncated_base64": 0.1, "http_500": 0.1}, fault_first=1)
    runs = {
        ("genexam", "one"): f"folder/{exam.drawings}",
        ("genexam", "two"): "drawing/gpt-image-1",
        ("own", "one"): f"folder/{other}",
    }
    chats: dict[tuple[str, str], Any] = {}
    for (name, painter), spec in runs.items():
        before = judge.counts()["bill"]
        words = [name if name == "genexam" else "own.toml", "--data", str(exam.data), "--judge", JUDGE]
        for more in ((), ("--retry-failed",)):
            limner("run", *words, "--painter", f"{painter}={spec}", *more, code=None)
        after = judge.counts()["bill"]
        chats[name, painter] = {kind: after[kind] - before[kind] for kind in after}

    books = limner("spend", "--by", "kind", "--by", "exam", "--by", "painter", "--format=json").json()
    chatted = {(b["group"]["exam"], b["group"]["painter"]): b for b in books if b["group"]["kind"] == "chat"}
    assert chatted.keys() == chats.keys()
    for group, bill in chats.items():
        row = chatted[group]
        assert row["dollars"] == pytest.approx(charged(bill))
        assert (row["tokens_in"], row["tokens_out"]) == (bill["tokens_in"], bill["tokens_out"])
        # The replies that were of no use are among them.
        assert row["attempts"] == bill["replies"]
        assert row["failed"] > 0
    (painted,) = [b for b in books if b["group"]["kind"] == "paint"]
    bill = painting.counts()["bill"]
    assert painted["group"] == {"kind": "paint", "exam": "genexam", "painter": "two"}
    assert painted["dollars"] == pytest.approx(charged(bill, IMAGE_PRICES))
    assert (painted["tokens_in"], painted["tokens_out"]) == (bill["tokens_in"], bill["tokens_out"])
    assert (painted["attempts"], painted["failed"]) == (painting.counts()["total"], painted["attempts"] - QUESTIONS)

    whole = charged(judge.counts()["bill"]) + charged(bill, IMAGE_PRICES)
    for by in ("target", "kind", "exam", "painter"):
        sums = limner("spend", "--by", by, "--format=json").json()
        assert sum(one["dollars"] for one in sums) == pytest.approx(whole)
        assert [one["dollars"] for one in sums] == sorted((one["dollars"] for one in sums), reverse=True)
    assert f"${whole:.2f}" in limner("spend").out
