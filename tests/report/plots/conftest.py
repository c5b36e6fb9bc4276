"""Sources of plots from the made-up stores."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from limner.report.plots.source import PlotChoice, StoreSource, load_source
from limner.store import Store
from tests.needs import need


@pytest.fixture(scope="session")
def source(filled: dict[str, Store]) -> Callable[..., StoreSource]:
    """By exam kind, with what is chosen; the same source is made once."""
    made: dict[tuple[str, str], StoreSource] = {}

    def get(kind: str, **chosen: object) -> StoreSource:
        key = kind, repr(chosen)
        if key not in made:
            made[key] = load_source(kind, PlotChoice(store=filled[kind], **chosen))  # type: ignore[arg-type]
        return made[key]

    return get


@pytest.fixture
def matplotlib() -> None:
    """For tests that draw."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        need("plots", False, "matplotlib is not installed: pip install 'limner[plots]'")
