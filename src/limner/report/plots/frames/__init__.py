"""What each plot shows, as numbers: made from a store's scores, apart from any drawing."""

from .cells import Cell, Grid
from .failures import failures
from .grids import categories, heatmap, levels, profile
from .pairs import judges, panels, regimes
from .points import Point, Points, cost, front, if_re, logic_aesthetics
from .spreads import Atoms, Bin, Regions, Spread, atoms, distribution, regions

__all__ = [
    "Atoms",
    "Bin",
    "Cell",
    "Grid",
    "Point",
    "Points",
    "Regions",
    "Spread",
    "atoms",
    "categories",
    "cost",
    "distribution",
    "failures",
    "front",
    "heatmap",
    "if_re",
    "judges",
    "levels",
    "logic_aesthetics",
    "panels",
    "profile",
    "regimes",
    "regions",
]
