"""FEPBench's figures of all painters together: how far they differ, how scores hang together, two prompts' drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

from ...core.errors import UsageError
from ...core.plot_data import (
    Dispersion,
    Gallery,
    Plot,
    ScorePair,
    ScorePairs,
    Source,
    Tile,
    abstained,
    left_out,
    spread_and_gap,
)
from ...core.protocol import Row
from .. import paper
from .analysis import SCORES, correlations
from .data import MODALITIES, REGIMES

SUBMETRICS = (
    *(f"if_{name}" for name in (*MODALITIES, "layout")),
    *(f"{score}_{name}" for score in ("re", "sp") for name in MODALITIES),
)
"""The ten parts of the three scores, in the order of the paper's Table 2."""
CLOSED = {"closed-source": "closed", "open-source": "open"}
"""What the paper's groups of models say of them."""


def dispersion(source: Source) -> Dispersion:
    """How far painters differ in each of the ten parts, and closed painters less open ones; the paper's beside them.

    Raises:
        UsageError: There are not two painters, or the judge settles none of the parts.
    """
    rivals = [n for n, name in enumerate(source.names) if name not in source.controls]
    if len(rivals) < 2:
        raise UsageError(f"{source.exam}: only {len(rivals)} painter is no control; it takes two to differ")
    words, access = source.access(), []
    access = [words[n] for n in rivals]
    numbers = []
    for name in SUBMETRICS:
        cells = source.cells(name)
        numbers.append(spread_and_gap([cells[n].value for n in rivals], access))
    if not any(deviation is not None for deviation, _ in numbers):
        raise UsageError(f"{source.exam}: this judge decides none of if, re, sp; mark with a model, not with ocr")
    counts = {side: access.count(side) for side in ("closed", "open")}
    told = f" · {len(rivals)} painters: {counts['closed']} closed, {counts['open']} open"
    unknown = len(rivals) - sum(counts.values())
    told += f", {unknown} not known: say it in limner.toml" if unknown else ""
    caption = f"{source.caption}{told} · paper: from its Table 2, nine models"
    deviations, gaps = (tuple(pair[side] for pair in numbers) for side in (0, 1))
    columns = tuple(map(source.protocol.called, SUBMETRICS))
    return Dispersion(columns, deviations, gaps, caption, "score (of 1)", _published())


def _published() -> tuple[tuple[float | None, float | None], ...]:
    """The same two numbers from the paper's Table 2."""
    found = []
    for name in SUBMETRICS:
        score, _, modality = name.partition("_")
        cells = [
            (float(row["value"]), CLOSED.get(row["model_group"]))
            for row in paper.rows("fepbench")
            if (row["table"], row["metric"], row["category"]) == ("Table 2", score.upper(), modality)
        ]
        found.append(spread_and_gap([value for value, _ in cells], [side for _, side in cells]))
    return tuple(found)


def pairs(source: Source) -> ScorePairs:
    """Every two of the three scores, over the drawings of all painters together; controls are no part of it.

    Raises:
        UsageError: No drawing has two of them.
    """
    kept = [
        (name, rows)
        for name, rows in zip(source.names, source.rows, strict=True)
        if name not in source.controls and not any(abstained(rows, score) for score in SCORES)
    ]
    pooled = correlations([row for _, rows in kept for row in rows])
    found = []
    for one, other in combinations(SCORES, 2):
        drawn = [(name, _both(rows, one, other)) for name, rows in kept]
        means = tuple((name, fmean(x for x, _ in both), fmean(y for _, y in both)) for name, both in drawn if both)
        told = pooled[f"{one}-{other}"]
        drawings = tuple(pair for _, both in drawn for pair in both)
        called = source.protocol.called
        found.append(ScorePair(called(one), called(other), drawings, means, told["pearson"], told["spearman"]))
    if not any(pair.drawings for pair in found):
        raise UsageError(f"{source.exam}: this judge decides no two of if, re, sp; mark with a model, not with ocr")
    rivals = sum(name not in source.controls for name in source.names)
    return ScorePairs(tuple(found), source.caption + left_out(rivals - len(kept), "the judge abstained"))


def _both(rows: Sequence[Row], one: str, other: str) -> list[tuple[float, float]]:
    pairs = [(row.scores.get(one), row.scores.get(other)) for row in rows]
    return [(x, y) for x, y in pairs if x is not None and y is not None]


def two_regimes(source: Source) -> Gallery:
    """One figure as every painter drew it from the free prompt and from the structured one, with its scores.

    Raises:
        UsageError: No painter has drawn both, or there is no such figure.
    """
    rows = {(n, row.question.id): row for n, rows in enumerate(source.rows) for row in rows}
    regimes: dict[str, dict[str, str]] = {}
    for row in rows.values():
        tags = row.question.tags
        regimes.setdefault(tags.get("sample", ""), {})[tags.get("regime", "")] = row.question.id
    both = [sample for sample, ids in regimes.items() if ids.keys() >= set(REGIMES)]
    if not both:
        raise UsageError(f"{source.exam}: no figure was drawn from both kinds of prompt and marked")
    # The figure itself, or one of its two questions.
    wanted = (source.wanted or both[0]).removesuffix("/free").removesuffix("/structured")
    if wanted not in both:
        some = ", ".join(both[:5])
        raise UsageError(f"--question {source.wanted}: not drawn from both kinds of prompt by all; there is: {some}")
    asked = [regimes[wanted][regime] for regime in REGIMES]
    images = source.pictures(asked)
    tiles = []
    for id in asked:
        line = [Tile(images[0].get(id))]
        line += [Tile(images[n + 1].get(id), _told(rows.get((n, id)))) for n in range(len(source.names))]
        tiles.append(tuple(line))
    columns = ("reference", *source.names)
    if not images[0]:
        columns, tiles = columns[1:], [line[1:] for line in tiles]
    names = tuple(f"{regime} prompt" for regime in REGIMES)
    return Gallery(names, columns, tuple(tiles), wanted, source.caption)


def _told(row: Row | None) -> tuple[str, ...]:
    """The three scores of a drawing, and how many things in it are unexpected."""
    if row is None:
        return ("not drawn or not marked",)
    known = [(name, row.scores.get(name)) for name in SCORES]
    said = [f"{name.upper()} {'–' if value is None else f'{value:.2f}'}" for name, value in known]
    marked = any(mark.criterion.startswith("unexpected/") and mark.value is not None for mark in row.marks)
    items = sum(mark.criterion.count("/") > 1 and mark.criterion.startswith("unexpected/") for mark in row.marks)
    return (" · ".join(said[:2]), said[2], *([f"{items} unexpected"] if marked else []))


FIGURES: Mapping[str, Plot] = {
    "dispersion": Plot("how far painters differ in each part, and closed less open", dispersion, "dispersion"),
    "correlations": Plot("IF, RE and SP against each other, all painters together", pairs, "pairs"),
    "drawings": Plot("one figure drawn from both kinds of prompt", two_regimes, "gallery"),
}
