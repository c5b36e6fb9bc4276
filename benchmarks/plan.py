"""A million drawings, worked out from what was measured, simulated and assumed: ``python -m benchmarks.plan``."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.assumed import assumed, plan_file
from benchmarks.results import figures_of
from benchmarks.simulation import SAMPLE
from benchmarks.table import CannotRun, Cell, Table, told
from limner import api
from limner.core import settings as settings_module
from limner.core.settings import load as load_settings
from limner.running.estimate import estimate, total
from limner.store import Store

HOUR_S = 3600.0
PROVIDERS = Path(settings_module.__file__).with_name("providers.toml")


@cache
def price(painter: str, judge: str) -> tuple[float, float]:
    """Dollars for one drawing and for one marking by Limner's own estimate of GenExam's sample."""
    with tempfile.TemporaryDirectory(prefix="limner-") as place, Store(Path(place) / "store") as store:
        plan = api.plan(SAMPLE, store, painters=[painter], asking=api.Asking(judges=[judge]))
        lines = estimate(plan, store, load_settings())
    dollars, unknown = total(lines)
    if unknown:
        raise CannotRun(f"no price is known of {', '.join(unknown)}")
    by_role = {line.role: (line.dollars or 0.0) / line.steps for line in lines}
    assert abs(sum(by_role.values()) * lines[0].steps - dollars) < 1e-9
    return by_role["painter"], by_role["judge"]


def batch_terms(spec: str) -> tuple[float, float] | None:
    """The share of the price that a call in a batch costs, and the hours it may take; as the provider list has it."""
    provider = tomllib.loads(PROVIDERS.read_text("utf-8"))["providers"].get(spec.partition("/")[0], {})
    found: Mapping[str, Any] | None = provider.get("batch")
    if found is None:
        return None
    hours = float(found["window_s"]) / HOUR_S if "window_s" in found else assumed("batch_hours")
    return float(found.get("share", assumed("batch_share"))), hours


def rows(quick: bool = False) -> Table:
    """Hours and dollars of every case that is part of the plan, and of batches."""
    count = int(plan_file()["drawings"])
    figures = figures_of("simulated", quick)
    prices = [(one, *price(one["painter"], one["judge"])) for one in plan_file()["services"]]
    made: list[tuple[Cell, ...]] = []
    best = float("inf")
    for row in plan_file()["case"]:
        if not row.get("plan"):
            continue
        name = row["name"]
        more = count - figures[f"{name}: marked"]
        hours = (figures[f"{name}: seconds"] + more / figures[f"{name}: rate"]) / HOUR_S
        best = min(best, hours)
        machines = hours * row["machines"] * assumed("machine_dollars")
        services, draw, mark = prices[0]
        made.append(_row(name, row["machines"], hours, services, count * draw, count * mark, machines))
    for services, draw, mark in prices[1:]:
        made.append(
            _row("The services of any row above, changed", None, None, services, count * draw, count * mark, None)
        )
    for services, draw, mark in prices:
        made.append(_in_batches(services, count * draw, count * mark))
    heads = (
        "way", "machines", "hours", "painter and judge", "dollars for drawings", "for marks", "for machines", "in all",
    )  # fmt: skip
    note = (
        f"{count:,} drawings, one marking each. Hours follow from the simulated cases, dollars from Limner's price "
        "list by its own estimate of GenExam's sample, those for machines from the assumed price."
    )
    return Table(heads, tuple(made), {"best hours": best}, note)


def _row(
    name: str, machines: int | None, hours: float | None, services: Mapping[str, str], draw: float, mark: float,
    rent: float | None,
) -> tuple[Cell, ...]:  # fmt: skip
    both = f"`{services['painter']}`, `{services['judge']}`"
    return name, machines, hours, both, draw, mark, rent, draw + mark + (rent or 0.0)


def _in_batches(services: Mapping[str, str], draw: float, mark: float) -> tuple[Cell, ...]:
    terms = [batch_terms(services[who]) or (assumed("batch_share"), assumed("batch_hours")) for who in services]
    (draw_share, draw_hours), (mark_share, mark_hours) = terms
    # What is drawn is marked afterwards: one wave after the other, each within its window.
    hours = draw_hours + mark_hours
    rent = hours * assumed("machine_dollars")
    return _row("In batches, two waves, at most", 1, hours, services, draw * draw_share, mark * mark_share, rent)


if __name__ == "__main__":
    print(told(rows()))
