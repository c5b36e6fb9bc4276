"""Intraclass correlation: how much of the spread of scores is the drawings' and how much the judges'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kinds import Measure, known

FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
"""The forms of Shrout and Fleiss: judges differ from drawing to drawing (1); the same judges, a sample of many (2);
these judges and no others (3). ``1`` is for the score of a single judge, ``k`` for the mean of all."""


def icc(table: Sequence[Sequence[float | None]]) -> dict[str, Measure]:
    """Every form of the intraclass correlation; a drawing that some judge lacks is left out.

    Args:
        table: One row per drawing, one column per judge.

    >>> found = icc([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> {form: round(each.value, 2) for form, each in found.items()}
    {'ICC(1,1)': 0.17, 'ICC(2,1)': 0.29, 'ICC(3,1)': 0.71, 'ICC(1,k)': 0.44, 'ICC(2,k)': 0.62, 'ICC(3,k)': 0.91}
    """
    kept = sorted([float(value) for value in row if value is not None] for row in table if all(map(known, row)))
    n, k = len(kept), len(kept[0]) if kept else 0
    if n < 2 or k < 2:
        what = "drawings" if n < 2 else "judges"
        return dict.fromkeys(FORMS, Measure(None, n, f"fewer than two {what} in common"))
    scores = np.array(kept)
    mean = scores.mean()
    total = ((scores - mean) ** 2).sum()
    if total <= 1e-12 * max(1.0, float(mean) ** 2):
        return dict.fromkeys(FORMS, Measure(None, n, "all scores are the same"))
    rows = k * ((scores.mean(axis=1) - mean) ** 2).sum()
    columns = n * ((scores.mean(axis=0) - mean) ** 2).sum()
    between = rows / (n - 1)
    judges = columns / (k - 1)
    within = (total - rows) / (n * (k - 1))
    rest = max(0.0, total - rows - columns) / ((n - 1) * (k - 1))
    fractions = {
        "ICC(1,1)": (between - within, between + (k - 1) * within),
        "ICC(2,1)": (between - rest, between + (k - 1) * rest + k * (judges - rest) / n),
        "ICC(3,1)": (between - rest, between + (k - 1) * rest),
        "ICC(1,k)": (between - within, between),
        "ICC(2,k)": (between - rest, between + (judges - rest) / n),
        "ICC(3,k)": (between - rest, between),
    }
    why = "the drawings do not differ: there is nothing to recognise"
    return {
        form: Measure(float(top / bottom), n) if bottom > 1e-12 * total else Measure(None, n, why)
        for form, (top, bottom) in fractions.items()
    }
