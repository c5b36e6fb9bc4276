"""From frames to pictures; nothing is computed here but where things stand."""

from .maps import differences, matrices, scores
from .multiples import bands, profiles
from .plane import points
from .rows import dots, histograms, kinds, violins

__all__ = ["bands", "differences", "dots", "histograms", "kinds", "matrices", "points", "profiles", "scores", "violins"]
