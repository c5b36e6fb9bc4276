"""Numbers of single drawings: how scores spread. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import UsageError
from ...core.plot_data import Spread, abstained, left_out, shown
from ...core.protocol import Score
from ...scoring import MET, Entry
from ...scoring.parts import shares
from ..source import Source

MOST_SCORES = 3
FEW = 5
"""A score that takes no more values than this has no distribution worth a look."""


def distribution(source: Source) -> Spread:
    """Numbers of single drawings: of the score asked for, or of up to three leading ones that take many values."""
    protocol = source.field.protocol
    if source.choice.score or source.score is MET:
        chosen = [source.score]
    else:
        main = [score for score in protocol.scored if score.main]
        columns = {score.name: [_values(source, entries, score) for entries in source.field.inside] for score in main}
        many = [score for score in main if len({value for row in columns[score.name] for value in row}) > FEW]
        chosen = (many or [source.score])[:MOST_SCORES]
    values = tuple(tuple(_values(source, entries, score) for entries in source.field.inside) for score in chosen)
    if not any(row for score in values for row in score):
        raise UsageError(f"{source.exam}: no drawing has the score {chosen[0].name}; pick another with --score")
    caption = source.caption + _abstained(source, chosen)
    return Spread(
        source.names, tuple(map(shown, chosen)), tuple(score.top for score in chosen), values, caption, source.controls
    )


def _values(source: Source, entries: tuple[Entry, ...], score: Score) -> tuple[float, ...]:
    if score is MET:
        met = [list(shares(entry, source.field.protocol).values()) for entry in entries]
        return tuple(100 * sum(each) / len(each) for each in met if each)
    if abstained([entry.row for entry in entries], score.name):
        return ()
    return tuple(value for entry in entries if (value := entry.scores.get(score.name)) is not None)


def _abstained(source: Source, chosen: Sequence[Score]) -> str:
    if MET in chosen:
        return ""
    rows = [[entry.row for entry in entries] for entries in source.field.inside]
    count = sum(any(abstained(each, score.name) for score in chosen) for each in rows)
    return left_out(count, "the judge abstained")
