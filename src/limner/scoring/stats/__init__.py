"""Statistics: the uncertainty of numbers, and the agreement of judges, painters and exams. Pure functions.

Results do not depend on the order of the input, with one exception: `bootstrap` and `spreads` draw clusters by index,
so their callers sort clusters by name. A missing number is None with a reason.
"""

from .agreement import FORMS, Flips, RatedUnit, chance_corrected, flips, icc, krippendorff_alpha, mark_agreement
from .correlation import (
    MEASURES,
    Correlation,
    RankInterval,
    correlate,
    exchange_p,
    exchangeable_blocks,
    kendall,
    pearson,
    rank_agreement,
    rank_intervals,
    spearman,
    spearman_spread,
)
from .paired import Paired, difference_interval, holm, paired, questions_needed
from .resample import (
    ALPHA,
    MIN_CLUSTERS,
    Interval,
    Measure,
    Parts,
    as_parts,
    bootstrap,
    interval,
    ratios,
    resampled,
    score_interval,
    spreads,
    wilson,
)
