"""The Python API: what the command line calls, in a few functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.registry import loaded_on_use

if TYPE_CHECKING:
    from ..running.setup import Asking
    from ..running.setup import make_plan as plan
    from ..scoring.groups import find_groups as groups
    from .modes import Sorting, sorting
    from .results import agree, compare, plot, scores, show, table
    from .runs import open_store, run

# Who wants scores alone need not wait for all that a run needs.
__getattr__, __dir__ = loaded_on_use(
    __name__,
    {
        "Asking": ".running.setup", "plan": ".running.setup:make_plan", "groups": ".scoring.groups:find_groups",
        **dict.fromkeys(("Sorting", "sorting"), "modes"), **dict.fromkeys(("open_store", "run"), "runs"),
        **dict.fromkeys(("agree", "compare", "plot", "scores", "show", "table"), "results"),
    },
)  # fmt: skip

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
