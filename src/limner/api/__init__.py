"""The Python API: what the command line calls, in a few functions."""

from ..running.setup import Asking
from ..running.setup import make_plan as plan
from ..scoring.groups import find_groups as groups
from .modes import Sorting, sorting
from .results import agree, compare, plot, scores, show, table
from .runs import open_store, run

__all__ = [
    "Asking",
    "Sorting",
    "agree",
    "compare",
    "groups",
    "open_store",
    "plan",
    "plot",
    "run",
    "scores",
    "show",
    "sorting",
    "table",
]
