"""Drawing and marking from Python, and the store that everything stands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.exam import Selection
from ..running.batch import make_runner
from ..running.progress import Progress
from ..running.setup import Asking
from ..running.setup import make_plan as plan
from ..store import DEFAULT, Store
from ..store.store import open_store as opened


def open_store(store: str | Path = DEFAULT, *, create: bool = False) -> Store:
    """A store by its place: a folder, ``sqlite:///FILE.db`` or ``postgresql://…?blobs=FOLDER``.

    Every function takes it as ``store=``. Close it with ``close()``, or use it in a ``with`` block.

    Raises:
        NoStore: There is none, and it is not to be made.
    """
    return Store(store, create=create)


def run(
    exam: str,
    *,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
    data: Path | str | None = None,
    store: Store | str | Path = DEFAULT,
    selection: Selection | None = None,
    asking: Asking | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> Progress:
    """Draw and mark what is missing; run it again to resume.

    Args:
        exam: An installed exam's name, ``sample/NAME``, or the path of an exam.toml.
        painters: Such as ``folder/./images`` or ``mine=folder/./images``; without judges they only draw.
        judges: Such as ``ocr`` or ``openai/gpt-6-sol``.
        data: The exam's data folder; not needed once the store has the exam.
        store: A folder or database URL.
        selection: Which questions; all by default.
        asking: Everything about the judges beyond their names; `judges` go before its own.
        watch: Called after every step.
        **how: ``strategies``, ``strategy_options``, ``seeds``, ``repeats``, ``concurrency``, ``retry_failed``,
            ``draw``, ``batch``; see `plan` and `limner.running.plan.Plan`.
    """
    with opened(store, create=True) as found:
        asking = asking or Asking()
        if judges:
            asking = replace(asking, judges=judges)
        made = plan(exam, found, data=data, painters=painters, asking=asking, selection=selection, **how)
        return make_runner(made, found, watch).run()
