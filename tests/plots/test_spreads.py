"""How scores of single drawings spread, computed once more by other means."""

from __future__ import annotations

from collections.abc import Callable

from limner.plots.source import StoreSource
from limner.plots.spreads import distribution

Sources = Callable[..., StoreSource]


def test_distributions_hold_every_settled_drawing(source: Sources) -> None:
    found = source("fepbench")
    frame = distribution(found)
    assert frame.scores == ("if (of 1)", "re (of 1)", "sp (of 1)")
    for place, name in enumerate(("if", "re", "sp")):
        for entries, values in zip(found.field.inside, frame.values[place], strict=True):
            own = [entry.scores[name] for entry in entries]
            abstained = any(mark.verdict == "abstain" for entry in entries for mark in entry.marks)
            assert sorted(values) == ([] if abstained else sorted(value for value in own if value is not None))
    assert "1 left out: the judge abstained" in frame.caption
    # GenExam's strict score is all or nothing, so it is no distribution.
    assert distribution(source("genexam")).scores[0] == "relaxed (of 100)"
    assert distribution(source("genexam", score="logic")).scores == ("logic (of 2)",)
