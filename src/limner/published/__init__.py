"""Figures the papers print, as the papers print them; README.md beside this file says what the columns mean."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
COLUMNS = (
    "benchmark", "table", "model", "model_group", "breakdown", "category", "metric", "value", "unit", "judge", "note",
)  # fmt: skip


@cache
def rows(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of ``NAME.csv``, such as ``genexam`` or ``genexam_taxonomy``; every value is text, as printed.

    >>> [row["value"] for row in rows("genexam") if row["category"] == "Prompt length"]
    ['24', '173', '74.8']
    """
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
