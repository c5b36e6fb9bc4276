"""Faults that the user can repair are not kept: after the repair, the same command retries only those."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limner.core.faults import Kind
from tests.cli.invoke import limner
from tests.end_to_end.shop import JUDGE, BilledChat, BilledImages, settle
from tests.support import SmallExam, write_exam

QUESTIONS, DONE, LEFT = 6, 2, 4
"""All questions, those that succeed at first, and those that fail until something is repaired."""
ASKS_AGAIN = "No failure was stored: fix this, then run the same command again."


@pytest.fixture
def exam(here: Path) -> SmallExam:
    return write_exam(here, QUESTIONS)


def words_for(exam: SmallExam, side: str) -> list[str]:
    """The command that draws, or the one that marks finished drawings."""
    how = ["genexam", "--data", str(exam.data), "--format=json", "--concurrency", "1"]
    if side == "judge":
        return ["run", *how, "--painter", f"mine=folder/{exam.drawings}", "--judge", JUDGE]
    return ["draw", *how, "--painter", "mine=drawing/gpt-image-1"]


@pytest.mark.parametrize(
    ("side", "fault", "kind", "asks_again"),
    [
        ("painter", "unverified", "auth", True),  # A 403 that says nothing of moderation.
        ("painter", "http_403", "refusal", False),  # A 403 by moderation.
        ("painter", "user_error", "bad_request", False),
        ("judge", "http_404", "setup", True),
    ],
)
def test_next_run_retries_faults_that_user_can_repair(
    here: Path,
    exam: SmallExam,
    judge: BilledChat,
    painting: BilledImages,
    side: str,
    fault: str,
    kind: Kind,
    asks_again: bool,
) -> None:
    settle(here, judge, painting)
    service, words = judge if side == "judge" else painting, words_for(exam, side)
    limner(*words, "--limit", str(DONE))
    service.configure(faults={fault: 1.0})
    ended = limner(*words, code=1 if asks_again else 3)
    asked = service.counts()["total"]
    if asks_again:
        # One message, and nothing more is asked that would fail alike.
        assert ASKS_AGAIN in ended.err
        assert asked == DONE + 1
    else:
        assert (ended.json()["failures"], ended.json()["asked_again"]) == ({kind: LEFT}, 0)
        assert asked == QUESTIONS
    service.configure()
    second = limner(*words, code=0 if asks_again else 3).json()
    assert second["failed"] == (0 if asks_again else LEFT)
    assert service.counts()["total"] == asked + (LEFT if asks_again else 0)
    assert service.counts()["answered"] == (QUESTIONS if asks_again else DONE)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda url: url.replace("http://", "https://"),  # No TLS is spoken there.
        lambda url: url.replace("/v1", "/v7"),
        lambda _: "http://127.0.0.1:9/v1",
    ],
    ids=["tls", "path", "port"],
)
def test_fault_from_wrong_address_is_retried_by_next_run(
    here: Path,
    exam: SmallExam,
    judge: BilledChat,
    painting: BilledImages,
    wrong: Callable[[str], str],
) -> None:
    settle(here, judge, painting, base_url=wrong(painting.base_url))
    words = words_for(exam, "painter")
    assert ASKS_AGAIN in limner(*words, code=1).err
    settle(here, judge, painting)
    before = painting.counts()["total"]
    assert limner(*words).json()["failed"] == 0
    assert painting.counts()["total"] == before + QUESTIONS


OWN_FUNCTION = """
import pathlib
from PIL import Image
HERE = pathlib.Path(__file__).parent

def draw(prompt):
    with (HERE / "calls.jsonl").open("a") as file:
        file.write("1\\n")
    if (HERE / "broken").exists() and len((HERE / "calls.jsonl").read_text().splitlines()) > {done}:
        raise {error}
    return Image.new("RGB", (8, 8), (len(prompt) % 256, 0, 0))

def open_model(device):
    return lambda batch: [draw(item.prompt) for item in batch]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("painter", "error", "detail"),
    [
        ("python/{}:draw", "ValueError('no palette')", "ValueError: no palette"),
        ("worker/{}:open_model", "ValueError('no palette')", "ValueError: no palette"),
        ("worker/{}:open_model", "RuntimeError('CUDA out of memory')", "out of memory"),
    ],
)
def test_local_fault_is_retried_by_next_run(here: Path, exam: SmallExam, painter: str, error: str, detail: str) -> None:
    # Python keeps modules by name, and this process makes several.
    module = f"own_{here.name}"
    (here / f"{module}.py").write_text(OWN_FUNCTION.format(error=error, done=DONE), "utf-8")
    (here / "broken").touch()
    options = ["--devices", "cpu", "--painter-arg", "batch_size=1"] if painter.startswith("worker/") else []
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", f"mine={painter.format(module)}", *options]

    def calls() -> int:
        return len((here / "calls.jsonl").read_text("utf-8").splitlines())

    body: dict[str, Any] = limner(*words, "--format=json", code=3).json()
    assert (body["failures"], body["asked_again"], body["done"]) == ({"local": LEFT}, LEFT, DONE)
    assert calls() == QUESTIONS
    errors = limner(*words, code=3).err
    assert "(local): " in errors
    assert detail in errors
    assert "Run the same command again to retry." in errors
    assert calls() == QUESTIONS + LEFT
    (here / "broken").unlink()
    assert limner(*words, "--format=json").json()["failed"] == 0
    assert calls() == QUESTIONS + 2 * LEFT
    assert limner(*words, "--format=json").json()["stored"] == QUESTIONS
    assert calls() == QUESTIONS + 2 * LEFT
