"""Analyses of FEPBench's paper: scores by complexity, correlations, gaps between conditions; and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import UsageError
from ...core.exam import Question
from ...core.plot_data import (
    Bands,
    Bin,
    Dispersion,
    Gallery,
    Grid,
    Plot,
    PlotSource,
    Point,
    Points,
    Quantity,
    ScorePair,
    ScorePairs,
    Tile,
    describe_left_out,
    has_abstentions,
    spread_and_gap,
)
from ...core.protocol import Protocol, Row
from .. import paper
from .data import MODALITIES, REGIMES, ROLES, Atoms

SCORES = ("if", "re", "sp")
BINS = 4
"""The number of bins; the paper uses quantiles without saying how many, we use quartiles."""
MIN_DRAWINGS = 3
"""The minimum number of drawings for a correlation."""
CONDITIONS = {
    "structured - free": ("regime", "structured", "free"),
    "multi - single": ("panel_type", "multi", "single"),
}


def complexity(rows: Sequence[Row], bins: int = BINS) -> list[dict[str, Any]]:
    """Return the mean and quartiles of each score, in bins by number of semantic atoms; equal numbers share a bin."""
    if not rows:
        return []
    counts = np.array([row.question.rubric.count for row in rows])
    inner = np.unique(np.quantile(counts, np.linspace(0, 1, bins + 1)[1:-1], method="inverted_cdf"))
    bin_of = np.searchsorted(inner, counts, side="left")
    groups = []
    for number in np.unique(bin_of):
        inside = [row for row, where in zip(rows, bin_of, strict=True) if where == number]
        sizes = counts[bin_of == number]
        body = {name: _spread(_column(inside, name)) for name in SCORES}
        groups.append({"atoms": [int(sizes.min()), int(sizes.max())], "n": len(inside), **body})
    return groups


def correlations(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the Pearson and Spearman correlation of each pair of scores, over drawings that have both."""
    from scipy.stats import rankdata

    coefficients = {}
    for first, second in combinations(SCORES, 2):
        pairs = [(row.scores.get(first), row.scores.get(second)) for row in rows]
        both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        x, y = both[:, 0], both[:, 1]
        body: dict[str, Any] = {"n": len(both), "pearson": _correlation(x, y)}
        coefficients[f"{first}-{second}"] = body | {"spearman": _correlation(rankdata(x), rankdata(y))}
    return coefficients


def gaps(rows: Sequence[Row], protocol: Protocol[Any]) -> dict[str, dict[str, float]]:
    """Return the difference in each score between conditions; regimes are compared on samples that have both."""
    differences = {}
    for name, (tag, first, second) in CONDITIONS.items():
        sides: list[Mapping[str, float]] = []
        kept = _paired(rows) if tag == "regime" else rows
        for value in (first, second):
            sides.append(protocol.summary([row for row in kept if row.question.tags.get(tag) == value]))
        differences[name] = {score: sides[0][score] - sides[1][score] for score in sides[0] if score in sides[1]}
    return differences


def count_atoms(question: Question[Atoms], *kinds: str) -> int:
    """Return the number of atoms, by default all, or those of the given roles and modalities."""
    roles = [role for role in ROLES if role in kinds] or ROLES
    modalities = [modality for modality in MODALITIES if modality in kinds] or MODALITIES
    return sum(atom.role in roles for modality in modalities for atom in question.rubric.of(modality))


def _paired(rows: Sequence[Row]) -> list[Row]:
    regimes: dict[str, set[str]] = {}
    for row in rows:
        regimes.setdefault(row.question.tags.get("sample", ""), set()).add(row.question.tags.get("regime", ""))
    return [row for row in rows if len(regimes[row.question.tags.get("sample", "")]) > 1]


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    return np.array([value for row in rows if (value := row.scores.get(name)) is not None], dtype=np.float64)


def _spread(values: NDArray[np.float64]) -> dict[str, float] | None:
    if not len(values):
        return None
    low, middle, high = (float(edge) for edge in np.quantile(values, [0.25, 0.5, 0.75]))
    return {"mean": float(values.mean()), "q1": low, "median": middle, "q3": high}


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    if len(x) < MIN_DRAWINGS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


PERCENT = 100.0


def atoms(source: PlotSource) -> Bands:
    """Return the three scores by number of semantic atoms, in the bins of `complexity`.

    Raises:
        UsageError: The judge's marks determine none of the scores.
    """
    bins = []
    for rows in source.rows:
        groups: list[dict[str, Any]] = source.protocol.analyses(rows)["complexity"]
        bins.append(tuple(() if has_abstentions(rows, name) else _bins(groups, name) for name in SCORES))
    if not any(row for painter in bins for row in painter):
        raise UsageError(f"{source.exam}: this judge decides none of if, re, sp; mark with a model, not with ocr")
    count = sum(any(has_abstentions(rows, name) for name in SCORES) for rows in source.rows)
    caption = source.caption + (f" · {count} without lines: the judge abstained" if count else "")
    sizes = tuple(tuple(row.question.rubric.count for row in rows) for rows in source.rows)
    return Bands(source.names, SCORES, tuple(bins), sizes, caption, "semantic atoms of a question")


def _bins(groups: Sequence[Mapping[str, Any]], name: str) -> tuple[Bin, ...]:
    return tuple(
        Bin((each["atoms"][0], each["atoms"][1]), each["n"], each[name]["mean"], each[name]["q1"], each[name]["q3"])
        for each in groups
        if each[name]
    )


def if_re(source: PlotSource) -> Points:
    """Return reasoning enrichment against instruction faithfulness, coloured by semantic precision.

    Raises:
        UsageError: The judge's marks determine neither.
    """
    x, y, colour = (source.cells(name) for name in SCORES)
    points = [
        Point(name, a, b, c.value, name in source.controls)
        for name, a, b, c in zip(source.names, x, y, colour, strict=True)
        if a.value is not None and b.value is not None
    ]
    if not points:
        raise UsageError(f"{source.exam}: this judge decides neither if nor re; mark with a model, not with ocr")
    caption = source.caption + describe_left_out(len(source.names) - len(points), "the judge abstained")
    return Points(tuple(points), "instruction faithfulness, IF (of 1)",
                  "reasoning enrichment, RE (of 1)", caption, "semantic precision, SP (of 1)")  # fmt: skip


def panels(source: PlotSource) -> Grid:
    """Return the difference in each score between figures with several panels and with one."""
    return _gaps(source, "multi - single", "several panels minus one")


def regimes(source: PlotSource) -> Grid:
    """Return the difference in each score between structured and free prompts."""
    return _gaps(source, "structured - free", "structured prompts minus free ones")


def _gaps(source: PlotSource, key: str, words: str) -> Grid:
    differences = []
    for rows in source.rows:
        undecided = any(mark.verdict == "abstain" for row in rows for mark in row.marks)
        # If the judge abstained, the remaining drawings are not a fair sample of either condition.
        differences.append({} if undecided else source.protocol.analyses(rows)["gaps"][key])
    if not any(differences):
        first, second = key.split(" - ")
        raise UsageError(
            f"{source.exam}: the questions that all painters share do not include both {first} and {second}; "
            "draw and mark more, or choose painters with --painter"
        )
    names = [name for name in source.protocol.dimensions if any(name in gaps for gaps in differences)]
    cells = tuple(tuple(Quantity(_points(gaps.get(name))) for name in names) for gaps in differences)
    label = f"{words}, hundredths of a score"
    caption = source.caption + (" · –: the judge abstained" if not all(differences) else "")
    columns = tuple(map(source.protocol.called, names))
    return Grid(source.names, columns, cells, label, PERCENT, caption, source.controls)


def _points(gap: float | None) -> float | None:
    return None if gap is None else PERCENT * gap


SUBMETRICS = (
    *(f"if_{name}" for name in (*MODALITIES, "layout")),
    *(f"{score}_{name}" for score in ("re", "sp") for name in MODALITIES),
)
"""The ten parts of the three scores, in the order of the paper's Table 2."""
ACCESS_OF_GROUP = {"closed-source": "closed", "open-source": "open"}
"""The paper's group of models -> our word for access."""


def dispersion(source: PlotSource) -> Dispersion:
    """Return the spread between painters and the lead of closed ones for each of the ten parts, here and in the paper.

    Raises:
        UsageError: There are fewer than two painters, or the judge's marks determine none of the parts.
    """
    rivals = [n for n, name in enumerate(source.names) if name not in source.controls]
    if len(rivals) < 2:
        raise UsageError(f"{source.exam}: only {len(rivals)} painter is not a control; two are needed")
    words, access = source.access(), []
    access = [words[n] for n in rivals]
    numbers = []
    for name in SUBMETRICS:
        cells = source.cells(name)
        numbers.append(spread_and_gap([cells[n].value for n in rivals], access))
    if not any(deviation is not None for deviation, _ in numbers):
        raise UsageError(f"{source.exam}: this judge decides none of if, re, sp; mark with a model, not with ocr")
    counts = {side: access.count(side) for side in ("closed", "open")}
    counted = f" · {len(rivals)} painters: {counts['closed']} closed, {counts['open']} open"
    unknown = len(rivals) - sum(counts.values())
    counted += f", {unknown} unknown: set it in limner.toml" if unknown else ""
    caption = f"{source.caption}{counted} · paper: from its Table 2, nine models"
    deviations, gaps = (tuple(pair[side] for pair in numbers) for side in (0, 1))
    columns = tuple(map(source.protocol.called, SUBMETRICS))
    return Dispersion(columns, deviations, gaps, caption, "score (of 1)", _published())


def _published() -> tuple[tuple[float | None, float | None], ...]:
    """Return spread and lead for each part, computed from the paper's Table 2."""
    numbers = []
    for name in SUBMETRICS:
        cells = [
            (each.value, ACCESS_OF_GROUP.get(each.row["model_group"]))
            for each in paper.printed_scores("fepbench")
            if each.score == name
        ]
        numbers.append(spread_and_gap([value for value, _ in cells], [side for _, side in cells]))
    return tuple(numbers)


def pairs(source: PlotSource) -> ScorePairs:
    """Return each pair of the three scores, over the drawings of all painters except controls.

    Raises:
        UsageError: No drawing has two of them.
    """
    kept = [
        (name, rows)
        for name, rows in zip(source.names, source.rows, strict=True)
        if name not in source.controls and not any(has_abstentions(rows, score) for score in SCORES)
    ]
    pooled = correlations([row for _, rows in kept for row in rows])
    score_pairs = []
    for first, second in combinations(SCORES, 2):
        drawn = [(name, _score_pairs(rows, first, second)) for name, rows in kept]
        means = tuple((name, fmean(x for x, _ in both), fmean(y for _, y in both)) for name, both in drawn if both)
        coefficients = pooled[f"{first}-{second}"]
        drawings = tuple(pair for _, both in drawn for pair in both)
        called = source.protocol.called
        pearson, spearman = coefficients["pearson"], coefficients["spearman"]
        score_pairs.append(ScorePair(called(first), called(second), drawings, means, pearson, spearman))
    if not any(pair.drawings for pair in score_pairs):
        raise UsageError(f"{source.exam}: this judge decides no two of if, re, sp; mark with a model, not with ocr")
    rivals = sum(name not in source.controls for name in source.names)
    return ScorePairs(tuple(score_pairs), source.caption + describe_left_out(rivals - len(kept), "the judge abstained"))


def _score_pairs(rows: Sequence[Row], first: str, second: str) -> list[tuple[float, float]]:
    pairs = [(row.scores.get(first), row.scores.get(second)) for row in rows]
    return [(x, y) for x, y in pairs if x is not None and y is not None]


def two_regimes(source: PlotSource) -> Gallery:
    """Return one figure as drawn by every painter from the free and the structured prompt, with scores.

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
    # The user may name the figure or one of its two questions.
    wanted = (source.wanted or both[0]).removesuffix("/free").removesuffix("/structured")
    if wanted not in both:
        some = ", ".join(both[:5])
        raise UsageError(
            f"--question {source.wanted}: not drawn from both kinds of prompt by all painters; choose from: {some}"
        )
    asked = [regimes[wanted][regime] for regime in REGIMES]
    images = source.pictures(asked)
    tiles = []
    for id in asked:
        line = [Tile(images[0].get(id))]
        line += [Tile(images[n + 1].get(id), _describe_drawing(rows.get((n, id)))) for n in range(len(source.names))]
        tiles.append(tuple(line))
    columns = ("reference", *source.names)
    if not images[0]:
        columns, tiles = columns[1:], [line[1:] for line in tiles]
    names = tuple(f"{regime} prompt" for regime in REGIMES)
    return Gallery(names, columns, tuple(tiles), wanted, source.caption)


def _describe_drawing(row: Row | None) -> tuple[str, ...]:
    """Return lines with the three scores of a drawing and the number of its unexpected items."""
    if row is None:
        return ("not drawn or not marked",)
    scores = [(name, row.scores.get(name)) for name in SCORES]
    texts = [f"{name.upper()} {'–' if value is None else f'{value:.2f}'}" for name, value in scores]
    marked = any(mark.criterion.startswith("unexpected/") and mark.value is not None for mark in row.marks)
    items = sum(mark.criterion.count("/") > 1 and mark.criterion.startswith("unexpected/") for mark in row.marks)
    return (" · ".join(texts[:2]), texts[2], *([f"{items} unexpected"] if marked else []))


PLOTS: Mapping[str, Plot] = {
    "dispersion": Plot("the spread between painters in each part, and closed minus open", dispersion, "dispersion"),
    "correlations": Plot("IF, RE and SP against each other, over all painters", pairs, "pairs"),
    "drawings": Plot("one figure drawn from both kinds of prompt", two_regimes, "gallery"),
    "atoms": Plot("scores against the number of atoms", atoms, "bands"),
    "if-re": Plot("IF against RE, coloured by SP", if_re, "points"),
    "panels": Plot("several panels minus one, score by score", panels, "differences"),
    "regimes": Plot("structured prompts minus free ones", regimes, "differences"),
}
