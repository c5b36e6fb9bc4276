"""What each plot shows, as numbers: made from a store's scores, apart from any drawing."""

from .failures import failures
from .given import given
from .grids import LEVELS, categories, heatmap, levels, profile
from .pairs import judges
from .points import cost
from .spreads import distribution

__all__ = [
    "LEVELS",
    "categories",
    "cost",
    "distribution",
    "failures",
    "given",
    "heatmap",
    "judges",
    "levels",
    "profile",
]
