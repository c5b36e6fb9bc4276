"""The generated table of docs/choose.md: what a judge costs on each exam, by the code of ``limner estimate``."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache

from limner import exams
from limner.core.settings import Settings, load_shipped
from limner.exams import DataSource
from limner.running.estimate import Estimate, marking_cost
from limner.running.setup import Asking, make_plan
from limner.store import Store
from tests.docs.blocks import ROOT

CHOICE_PAGE = ROOT / "docs" / "choose.md"
SETTINGS = Settings.model_validate(load_shipped())
JUDGES = (
    "openai/gpt-6.1-sol",
    "openai/gpt-6-luna",
    "gemini/gemini-3.8-flash",
    "anthropic/claude-sonnet-5-5",
    "openrouter/qwen/qwen3-vl-235b-a22b-instruct",
)
SMALL = 100
"""The questions of the small set, as ``--sample 100`` takes them."""


def estimated(exam: str, judge: str, source: DataSource) -> Estimate:
    """Return the cost of marking one drawing per question, for questions as long as those of the sample."""
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        plan = make_plan(f"sample/{exam}", store, asking=Asking(judges=[judge]), painters=["control/blank"])
        line = marking_cost(plan.judges[0], plan.exam.questions, store, SETTINGS)
        times = source.calls / line.calls if source.calls else source.questions / len(plan.exam.questions)
    assert line.dollars is not None
    scaled = {name: round(getattr(line, name) * times) for name in ("steps", "calls", "tokens_in", "tokens_out")}
    return replace(line, **scaled, dollars=line.dollars * times)


@cache
def cost_rows() -> list[tuple[str, ...]]:
    """Return a row for each exam: questions, calls, tokens, and dollars for the whole and the small set by judge."""
    rows = []
    for exam in exams.SHIPPED:
        source = exams.kind(exam).data_source
        assert source is not None
        whole = [estimated(exam, judge, source) for judge in JUDGES]
        counts = (source.questions, whole[0].calls, whole[0].tokens_in, whole[0].tokens_out)
        cells = [
            f"{_dollars(line.dollars)}, {_dollars((line.dollars or 0) * SMALL / source.questions)}" for line in whole
        ]
        rows.append((exam, *(f"{count:,}" for count in counts), *cells))
    return rows


def _dollars(amount: float | None) -> str:
    assert amount is not None
    return f"${amount:,.0f}" if amount >= 10 else f"${amount:.2f}"


HEAD = ("exam", "questions", "calls", "tokens in", "tokens out", *(f"`{judge}`" for judge in JUDGES))
