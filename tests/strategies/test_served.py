"""Strategies against services of their own: killed and resumed, estimated, kept within a budget, shown."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.store import Store
from limner.store.records import load_drawings
from limner.store.schema import calls
from tests.end_to_end.shop import BilledImages, Ended, charged, limner, write_toml
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer
from tests.support import Gated, write_exam

pytestmark = pytest.mark.slow

QUESTIONS, SEED = 12, 5
IMAGE_PRICE = 0.04
WORDS = ("--strategy", "best-of-4+edit", "-S", "chooser=studio/eye", "-S", "critic=studio/eye", "-S", "rounds=2")
PRICES = (2.0, 8.0)


@pytest.fixture
def studio() -> Iterator[StudioServer]:
    with StudioServer(keep=5000, seed=SEED) as server:
        yield server


@pytest.fixture
def easel() -> Iterator[ImageServer]:
    with BilledImages(keep=5000, seed=SEED) as server:
        yield server


def settle(folder: Path, studio: StudioServer, easel: ImageServer, **chat: Any) -> None:
    priced = {"input_price": PRICES[0], "output_price": PRICES[1], "max_output_tokens": 4000}
    write_toml(
        folder,
        {
            "providers.studio": {"base_url": studio.base_url, "timeout_s": 30, **chat},
            "providers.easel": {
                "base_url": easel.base_url, "image_shape": "openai-images", "seeds": True, "timeout_s": 30,
            },
            "painters.easel/brush": {"image_price": IMAGE_PRICE, "image_input": True},
            "models.studio/eye": priced,
            "models.studio/mind": priced,
        },
    )  # fmt: skip


def test_killed_at_seeded_calls_each_candidate_is_drawn_once(
    tmp_path: Path, studio: StudioServer, easel: ImageServer
) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    settle(tmp_path, studio, easel)
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", "easel/brush", *WORDS]
    words += ["--store", "store", "--concurrency", "3", "--format=json"]
    plan: dict[str, Any] = {"seed": SEED, "latency_s": [0.02, 0.06]}
    chance = random.Random(SEED)
    following = Gated(*words, cwd=tmp_path)
    kills = [(easel, chance.randint(5, 12)) if n % 2 else (studio, chance.randint(2, 8)) for n in range(2)]
    try:
        for server, at in kills:
            process, following = following, Gated(*words, cwd=tmp_path)
            for each in (studio, easel):
                each.configure(**plan)
            server.configure(**plan, kill={"pid": process.pid, "at_request": at})
            process.go()
            assert process.end().returncode == -signal.SIGKILL
        for each in (studio, easel):
            each.configure(**plan)
        following.go()
        last = following.end()
    finally:
        following.stop()
    assert (last.returncode, last.stderr.count("Traceback")) == (0, 0)
    with Store(tmp_path / "store") as store:
        drawings = list(load_drawings(store, "genexam"))
        with store.reading() as connection:
            made = connection.execute(sa.select(calls)).all()
    assert {row.status for row in made} == {"done"}
    assert [drawing.status for drawing in drawings] == ["done"] * QUESTIONS
    candidates = Counter(
        (drawing.question_id, step["seed"])
        for drawing in drawings
        for step in (drawing.notes or {})["steps"]
        if step["step"] == "candidate"
    )
    assert candidates == {(id, seed): 1 for id in exam.ids for seed in range(4)}
    # Asked for more than once is only what was in flight at a kill.
    for server in (studio, easel):
        counts = server.counts()
        lost = sum(len(kill["keys"]) for kill in counts["killed_in_flight"])
        extra = counts["answered"] - len(counts["by_key"])
        # Another server's requests in flight are abandoned with the process too.
        assert 0 <= extra <= counts["abandoned"] + lost
    painted = [row for row in made if row.kind == "paint"]
    assert len({row.key for row in painted}) == len(painted)
    edited = sum(step["step"] == "edit" for d in drawings for step in (d.notes or {})["steps"])
    assert len(painted) == 4 * QUESTIONS + edited
    assert edited > 0


@pytest.mark.parametrize(
    ("word", "roles"),
    [
        ("rewrite+best-of-2", ("planner", "chooser")),
        ("reason", ("planner",)),
        ("edit", ("critic", "chooser")),
    ],
)
def test_estimate_is_within_20_percent_of_cost(
    word: str, roles: tuple[str, ...], tmp_path: Path, studio: StudioServer, easel: ImageServer
) -> None:
    exam = write_exam(tmp_path, 60)
    settle(tmp_path, studio, easel)
    studio.configure(seed=SEED, thinking=[20, 900])
    given = ["genexam", "--data", str(exam.data), "--painter", "easel/brush", "--strategy", word, "--store", "store"]
    for role in roles:
        given += ["-S", f"{role}=studio/mind"]
    first = limner("draw", *given, "--limit", "20", "--format=json", cwd=tmp_path).json()
    estimate = limner("estimate", *given, "--format=json", cwd=tmp_path).json()
    rest = limner("draw", *given, "--format=json", cwd=tmp_path).json()
    assert (first["done"], rest["done"]) == (20, 40)
    assert estimate["dollars"] == pytest.approx(rest["spent"], rel=0.2)
    bill = charged(studio.counts()["bill"], PRICES) + easel.counts()["bill"]["replies"] * IMAGE_PRICE
    assert first["spent"] + rest["spent"] == pytest.approx(bill, abs=1e-6)


def test_budget_covers_all_steps(tmp_path: Path, studio: StudioServer, easel: ImageServer) -> None:
    exam = write_exam(tmp_path, 10)
    settle(tmp_path, studio, easel)
    words = ["draw", "genexam", "--data", str(exam.data), "--painter", "easel/brush", *WORDS]
    ended: Ended = limner(*words, "--budget", "1", cwd=tmp_path, code=4)
    paid = charged(studio.counts()["bill"], PRICES) + easel.counts()["bill"]["replies"] * IMAGE_PRICE
    assert 0.5 < paid <= 1.0
    assert "budget" in ended.err


def test_show_lists_strategy_steps(tmp_path: Path, studio: StudioServer, easel: ImageServer) -> None:
    exam = write_exam(tmp_path, 1)
    settle(tmp_path, studio, easel)
    words = ["genexam", "--data", str(exam.data), "--painter", "easel/brush", "--strategy", "direct"]
    limner("draw", *words, "--strategy", "reason+best-of-2", "-S", "planner=studio/mind", "-S", "chooser=studio/eye",
           cwd=tmp_path)  # fmt: skip
    shown = limner("show", "genexam", exam.ids[0], cwd=tmp_path).out
    for word in ("trace", "description", "candidate (seed 0)", "candidate (seed 1)", "choice"):
        assert word in shown
    body = json.loads(limner("show", "genexam", exam.ids[0], "--format=json", cwd=tmp_path).out)
    chain = "reason+best-of-2[chooser=studio/eye,planner=studio/mind]"
    assert {drawing["strategy"] for drawing in body["drawings"]} == {"direct", chain}
