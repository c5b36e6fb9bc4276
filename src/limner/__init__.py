"""Limner examines text-to-image models on knowledge: can they draw what a textbook would show, and draw it right?

Example::

    import limner

    limner.run("sample/genexam", painters=["control/reference"], judges=["ocr"], store="results")
    for standing in limner.scores("sample/genexam", store="results"):
        print(standing.painter, standing.bounds["relaxed"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    # Loaded on first use: importing the package must stay quick for the command line.
    if name not in _HOMES:
        raise AttributeError(f"module 'limner' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    # What is loaded on first use is offered by tab completion before.
    return sorted({*globals(), *__all__})
