"""Queued plans as a table."""

from __future__ import annotations

from collections.abc import Sequence

from ..running.work import PlanState
from .model import MISSING, Table, simple_table

WORDS = {"working": "being worked on", "failures": "done, with failures"}
"""States whose name alone would say too little."""


def plans_table(store: str, found: Sequence[PlanState]) -> Table:
    """A row for every plan of a store, the oldest first."""
    rows, notes = [], []
    for one in found:
        result = one.plan.result or {}
        steps = result.get("done", 0) + result.get("stored", 0)
        if one.workers:
            steps = max(worker.settled for worker in one.workers)
        failed = str(result["failed"]) if result else MISSING
        body = one.plan.body
        who = [*body["painters"], *body["strategies"], *body["asking"]["judges"]]
        rows.append([one.plan.name, one.plan.exam, WORDS.get(one.state, one.state), str(len(one.workers)),
                     str(steps) if result or one.workers else MISSING, failed, ", ".join(who)])  # fmt: skip
        notes += [f"{one.plan.name}: {one.plan.detail}"] if one.state == "stopped" else []
        notes += [f"{one.plan.name}: {_machines(one)}"] if one.workers else []
    heads = ["plan", "exam", "state", "workers", "steps done", "failed", "who draws and marks"]
    return simple_table(f"plans in {store}", heads, rows, notes, names=3, prose=["who draws and marks"])


def _machines(one: PlanState) -> str:
    """Who works on it; a step is a drawing, a measurement or a marking, whoever made it."""
    told = [f"process {w.pid} on {w.host.partition('|')[0]} ({w.settled} of {w.total} steps)" for w in one.workers]
    return ", ".join(told)
