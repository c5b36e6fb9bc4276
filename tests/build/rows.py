"""The released annotations of GenExam, where they are."""

from __future__ import annotations

import json
from typing import Any

from tests.needs import released

Row = dict[str, Any]


def rows() -> list[Row]:
    """All of them; the test skips where they are not here."""
    file = released("genexam") / "annotations" / "All_Subjects.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
