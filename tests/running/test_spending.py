"""Spending: sums over all attempts, grouped as requested, with the tokens that services report."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Attempt, Calls, Fault, Request, Result, purpose
from limner.running.estimate import Spent, mean_drawing, mean_marking, mean_use, spent
from limner.store import Store
from limner.store.markings import Marking, save_marking
from limner.store.records import Drawing, save_drawing, save_setup
from tests.cli.invoke import limner

OPENAI: dict[str, Any] = {"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}
IMAGES: dict[str, Any] = {"data": [{}], "usage": {"input_tokens": 7, "output_tokens": 1000}}
GEMINI: dict[str, Any] = {
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 1290, "thoughtsTokenCount": 40}
}


def make(
    store: Store,
    *outcomes: Result | Fault,
    kind: str = "chat",
    target: str = "service/model",
    n: int = 0,
    purposes: tuple[str | None, str | None] = ("genexam", "mine"),
) -> None:
    """One call that meets these outcomes in turn."""
    left = iter(outcomes)

    async def perform(_attempt: Attempt) -> Result:
        outcome = next(left)
        if isinstance(outcome, Fault):
            raise outcome
        return outcome

    async def run() -> None:
        journal = Calls(store)
        journal._wait = lambda _tries: 0.0
        with purpose(*purposes):
            try:
                await journal.do(Request(kind, target, {"n": n}), perform)
            except Fault:
                assert next(left, None) is None

    asyncio.run(run())


def good(raw: dict[str, Any], cost: float | None) -> Result:
    return Result({"text": "", "raw": raw}, cost)


def refused(raw: dict[str, Any], cost: float | None) -> Fault:
    """A fault keeps the reply as it came."""
    return Fault("refusal", "no", cost=cost, result=raw)


def test_all_attempts_count_and_unpriced_ones_are_counted_separately(store: Store) -> None:
    make(store, Fault("network", "dropped", cost=None), Fault("server", "busy"), good(OPENAI, 0.25))
    make(store, refused(OPENAI, 0.125), n=1)
    make(store, good(OPENAI, None), n=2)
    (total,) = spent(store)
    assert total == Spent(
        {"kind": "chat", "target": "service/model", "exam": "genexam"},
        calls=3, attempts=5, failed=3, unpriced=2, dollars=0.375, tokens_in=300, tokens_out=60,
    )  # fmt: skip
    assert json.loads(json.dumps(total.to_json()))["dollars"] == 0.375


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        (OPENAI, (100, 20)),
        (IMAGES, (7, 1000)),
        (GEMINI, (5, 1330)),
        ({"usageMetadata": {"promptTokenCount": 5}}, (5, 0)),
        ({"usage": {"prompt_tokens": 3.0, "completion_tokens": 4}}, (3, 4)),
        ({"usage": None}, (0, 0)),
        ({"usage": []}, (0, 0)),
        ({}, (0, 0)),
    ],
)
def test_tokens_are_read_from_usage_formats_of_all_services(
    store: Store, raw: dict[str, Any], tokens: tuple[int, int]
) -> None:
    make(store, good(raw, 0.0), kind="paint")
    make(store, refused(raw, 0.0), kind="paint", n=1)
    (total,) = spent(store)
    assert (total.tokens_in, total.tokens_out) == (2 * tokens[0], 2 * tokens[1])


def test_spending_is_grouped_as_requested_and_sorted_by_cost(store: Store) -> None:
    make(store, good({}, 0.5), target="a/x", n=1, purposes=("one", "mine"))
    make(store, good({}, 2.0), target="a/y", n=2, purposes=("two", "mine"), kind="paint")
    make(store, good({}, 1.0), target="a/x", n=3, purposes=("two", "yours"))
    make(store, good({}, 0.25), target="a/x", n=4, purposes=(None, None))
    make(store, good({}, 0.0), target="ocr/engine", n=5, kind="probe")

    def by(*names: str) -> list[tuple[tuple[str | None, ...], float]]:
        return [(tuple(one.group[name] for name in names), one.dollars) for one in spent(store, names)]

    assert by("target") == [(("a/y",), 2.0), (("a/x",), 1.75)]
    assert by("kind") == [(("paint",), 2.0), (("chat",), 1.75)]
    assert by("exam") == [(("two",), 3.0), (("one",), 0.5), ((None,), 0.25)]
    assert by("painter") == [(("mine",), 2.5), (("yours",), 1.0), ((None,), 0.25)]
    assert by("exam", "painter")[0] == (("two", "mine"), 2.0)
    assert [one.calls for one in spent(store, ["kind"])] == [1, 3]


def test_spend_command_shows_rows_and_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store("store") as store:
        make(store, Fault("timeout", "slow", cost=None), good(OPENAI, 0.25))
        make(store, good(IMAGES, 0.04), kind="paint", target="a/draws", purposes=(None, None))
    result = limner("spend", "--store", "store")
    assert "spent in store: at least $0.29 (1 call without a known price)" in result.out
    assert "unpriced: attempts whose cost is not known" in result.out
    assert "–" in result.out  # No exam was named for it.
    rows = limner("spend", "--store", "store", "--by", "target", "--format=json").json()
    assert [(row["group"], row["dollars"], row["attempts"]) for row in rows] == [
        ({"target": "service/model"}, 0.25, 2),
        ({"target": "a/draws"}, 0.04, 1),
    ]
    assert "no store at nowhere" in limner("spend", "--store", "nowhere", code=1).err
    assert "'moon' is not one of" in limner("spend", "--store", "store", "--by", "moon", code=2).err


def test_mean_use_counts_only_accepted_replies(store: Store) -> None:
    longer = {"usage": {"prompt_tokens": 300, "completion_tokens": 60}}
    make(store, refused({"usage": {"prompt_tokens": 9000, "completion_tokens": 9000}}, 0.5), n=1)
    make(store, Fault("server", "busy"), good(OPENAI, 0.25), n=2)
    make(store, good(longer, 0.25), n=3)
    make(store, good({}, 0.25), n=4)  # Says nothing of tokens.
    make(store, good(longer, 0.25), n=5, target="service/other")
    assert mean_use(store, "service/model") == (200.0, 40.0)
    assert mean_use(store, "service/nobody") is None


def drawing(n: int, **more: Any) -> Drawing:
    usual: dict[str, Any] = {"spec": "service/draws", "options": {}, "status": "done", "cost": 0.5, "image": "0" * 64}
    fields = {**usual, **more}
    return Drawing(
        f"d{n}", "genexam", f"q{n}", "h", "mine", fields.pop("spec"), "direct", 0, fields.pop("status"), **fields
    )


def keep(store: Store, *rows: Drawing | Marking) -> None:
    from limner.store.schema import exams

    store.write(
        lambda connection: store.insert_new(connection, exams, {"name": "genexam", "kind": "x", "created": 1.0})
    )
    for setup in ("s1", "s2"):
        save_setup(store, setup, {"judge": "j"})
    for row in rows:
        written: Any = save_drawing(store, row) if isinstance(row, Drawing) else save_marking(store, row)
        written.result()


def test_mean_drawing_cost_is_for_same_painter_and_options(store: Store) -> None:
    keep(
        store,
        drawing(1, cost=0.25),
        drawing(2, cost=0.75),
        drawing(3, cost=9.0, options={"quality": "high"}),
        drawing(4, cost=9.0, spec="service/other"),
        drawing(5, cost=None),
        drawing(6, cost=0.0, status="failed"),
    )
    assert mean_drawing(store, "service/draws", "direct", {"quality": "high"}) == 9.0
    assert mean_drawing(store, "service/draws", "direct", {"quality": "low"}) is None
    assert mean_drawing(store, "service/draws", "direct", {}) == 0.5
    assert mean_drawing(store, "service/draws", "rewrite[planner=a/b]", {}) is None


def test_mean_marking_cost_is_for_same_setup(store: Store) -> None:
    def marking(n: int, setup: str, cost: float | None, **more: Any) -> Marking:
        fields: dict[str, Any] = {"status": "done", **more}
        return Marking(f"m{n}", "d1", "h", None, setup, n, fields.pop("status"), cost=cost, **fields)

    keep(
        store,
        drawing(1),
        marking(1, "s1", 0.25),
        marking(2, "s1", 0.75),
        marking(3, "s1", None),
        marking(4, "s1", 9.0, status="failed", fault="refusal"),
        marking(5, "s1", 9.0, origin="import"),
        marking(6, "s2", 9.0),
    )
    assert mean_marking(store, "s1") == 0.5
