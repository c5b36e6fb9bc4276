"""The demo's table: what the examiner could decide of each control's drawings, one line an exam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..scoring import Standing
from .model import MISSING, Cells, Table, simple_table

TOLD = {
    "reference": "the right drawing",
    "shuffled": "another question's drawing",
    "blank": "a blank sheet",
}
"""The demo's controls, as its sentences call them."""


def demo_table(found: Mapping[str, Sequence[Standing]]) -> Table:
    """A row for every exam: how much was decided, and how much of that each control met."""
    body: list[Cells] = []
    for name, standings in found.items():
        rows = _by_control(standings)
        decided = [row.decided["share"] for row in rows.values() if row.decided.get("share") is not None]
        share = f"{sum(decided) / len(decided):.0%}" if decided else MISSING
        body.append(
            [name, str(max((row.n for row in rows.values()), default=0)), share, *(_met(rows, c) for c in TOLD)]
        )
    heads = ["exam", "n", "decided", *(f"control/{name}" for name in TOLD)]
    notes = [
        "n: questions. decided: share of criteria that the built-in examiner, which only reads words, can decide. "
        "Then, of those, the share that each control's drawings meet"
    ]
    return simple_table("the bundled samples · judge ocr", heads, body, notes)


def demo_sentence(name: str, title: str, standings: Sequence[Standing]) -> str:
    """What an exam asks, and how its controls did."""
    rows = _by_control(standings)
    met = [f"{told} {_met(rows, control)}" for control, told in TOLD.items() if control in rows]
    told = f"met of what could be decided: {', '.join(met)}" if met else "nothing was marked"
    return f"{name}: {title.partition(': ')[2] or title}. {told[0].upper()}{told[1:]}."


def _by_control(standings: Sequence[Standing]) -> dict[str, Standing]:
    return {row.painter.removeprefix("control/"): row for row in standings}


def _met(rows: Mapping[str, Standing], control: str) -> str:
    met = rows[control].decided.get("met") if control in rows else None
    return MISSING if met is None else f"{met:.0%}"
