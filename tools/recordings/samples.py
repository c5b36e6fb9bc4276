"""What the tool needs to know of the bundled samples."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from tests.cli.invoke import limner


@cache
def checklist() -> list[dict[str, Any]]:
    """The questions of AIBench's sample as the release has them, each with the sample's `id` as `sample`."""
    text = (resources.files("limner") / "exams/aibench/sample/AIBench.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return [one | {"sample": row["id"]} for row in rows for one in row["checklist"]]


@cache
def criteria(sample: str, question: str) -> dict[str, dict[str, Any]]:
    """The criteria of a question that is in the store of the working folder, by id."""
    return {one["id"]: one for one in limner("show", sample, question, "--format=json").json()["criteria"]}
