"""Spending on PostgreSQL, which is stricter about what stands in JSON."""

from __future__ import annotations

from typing import Any

import pytest

from limner.calls import Fault
from limner.running.estimate import mean_use, spent
from limner.store import Store
from tests.running.test_spending import GEMINI, IMAGES, OPENAI, good, make, refused

pytestmark = pytest.mark.slow


def test_the_same_sums_as_on_sqlite(postgres: str, store: Store) -> None:
    odd: list[dict[str, Any]] = [{"usage": []}, {"usage": {"prompt_tokens": 3.0, "completion_tokens": None}}, {}]
    found = []
    with Store(postgres) as server:
        for place in (store, server):
            make(place, Fault("network", "dropped", cost=None), good(OPENAI, 0.25), target="sums/a")
            make(place, refused(OPENAI, 0.125), target="sums/a", n=1)
            for n, raw in enumerate([IMAGES, GEMINI, *odd], 2):
                make(place, good(raw, 0.5), kind="paint", target=f"sums/{n}", n=n)
            sums = {one.group["target"]: one for one in spent(place, ["target"]) if "sums" in str(one.group)}
            found.append((sums, mean_use(place, "sums/a")))
    assert found[0] == found[1]
    assert len(found[0][0]) == 6
