"""From frames to pictures; nothing is computed here but where things stand."""

from .maps import differences, matrices, scores
from .multiples import atoms, profiles
from .plane import points
from .rows import dots, histograms, kinds, violins

__all__ = ["atoms", "differences", "dots", "histograms", "kinds", "matrices", "points", "profiles", "scores", "violins"]
