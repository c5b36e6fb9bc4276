"""Limner tests what text-to-image models know: whether they draw what a textbook would show, and draw it right.

Example::

    import limner

    limner.run("sample/genexam", painters=["control/reference"], judges=["ocr"], store="results")
    for standing in limner.scores("sample/genexam", store="results"):
        print(standing.painter, standing.bounds["relaxed"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core.registry import lazy_attributes

if TYPE_CHECKING:
    from .api import Asking, agree, compare, groups, open_store, plot, run, scores, show, table
    from .core.errors import DataError, LimnerError, UsageError
    from .core.exam import Exam, Question, Selection
    from .core.marks import Criterion, Mark
    from .running.import_results import import_results
    from .store import Store

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        ("Asking", "agree", "compare", "groups", "open_store", "plot", "run", "scores", "show", "table"), "api"
    ),
    "DataError": "core.errors", "LimnerError": "core.errors", "UsageError": "core.errors",
    "Exam": "core.exam", "Question": "core.exam", "Selection": "core.exam",
    "import_results": "running.import_results", "Criterion": "core.marks", "Mark": "core.marks", "Store": "store",
}  # fmt: skip
__all__ = [
    "Asking", "Criterion", "DataError", "Exam", "LimnerError", "Mark", "Question", "Selection", "Store",
    "UsageError", "agree", "compare", "groups", "import_results", "open_store", "plot", "run", "scores", "show",
    "table",
]  # fmt: skip

__getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
