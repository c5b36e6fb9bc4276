"""How sure a number is, and how far judges, painters and exams agree. Pure functions.

Nothing depends on the order of what is given, with one exception: `bootstrap` and `spreads` draw clusters by their
place, so their callers keep clusters in the order of their names. Where there is no number, there is None and a reason.
"""

from .agreement import (
    FORMS,
    Flips,
    MarkAgreement,
    RatedUnit,
    chance_corrected,
    flips,
    icc,
    krippendorff_alpha,
    mark_agreement,
)
from .clustered import ClusteredShare, clustered_gap, clustered_share, sequential_moves
from .correlation import (
    MEASURES,
    Correlation,
    RankInterval,
    correlate,
    exchange_p,
    exchangeable_blocks,
    kendall,
    ordinal,
    pearson,
    rank_agreement,
    rank_intervals,
    spearman,
    spearman_spread,
)
from .paired import POWER, Paired, difference_interval, holm, paired, questions_needed, sign_flip, spread_of_differences
from .resample import MIN_CLUSTERS, bootstrap, interval, ratios, resampled, score_interval, spreads, wilson
from .types import ALPHA, RESAMPLES, SEED, Interval, Measure, Parts, as_parts

__all__ = [
    "ALPHA",
    "FORMS",
    "MEASURES",
    "MIN_CLUSTERS",
    "POWER",
    "RESAMPLES",
    "SEED",
    "ClusteredShare",
    "Correlation",
    "Flips",
    "Interval",
    "MarkAgreement",
    "Measure",
    "Paired",
    "Parts",
    "RankInterval",
    "RatedUnit",
    "as_parts",
    "bootstrap",
    "chance_corrected",
    "clustered_gap",
    "clustered_share",
    "correlate",
    "difference_interval",
    "exchange_p",
    "exchangeable_blocks",
    "flips",
    "holm",
    "icc",
    "interval",
    "kendall",
    "krippendorff_alpha",
    "mark_agreement",
    "ordinal",
    "paired",
    "pearson",
    "questions_needed",
    "rank_agreement",
    "rank_intervals",
    "ratios",
    "resampled",
    "score_interval",
    "sequential_moves",
    "sign_flip",
    "spearman",
    "spearman_spread",
    "spread_of_differences",
    "spreads",
    "wilson",
]
