"""What the plan for a million drawings assumes: ``plan.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.table import Table, told

FILE = Path(__file__).with_name("plan.toml")


@cache
def plan_file() -> dict[str, Any]:
    """The file as it is."""
    return tomllib.loads(FILE.read_text("utf-8"))


def assumed(name: str) -> float:
    """One assumption."""
    return float(plan_file()["assumed"][name]["value"])


def rows(quick: bool = False) -> Table:
    """Every assumption with its reason."""
    made = tuple((one["words"], one["value"], one["why"]) for one in plan_file()["assumed"].values())
    return Table(("what", "assumed", "why"), made)


if __name__ == "__main__":
    print(told(rows()))
