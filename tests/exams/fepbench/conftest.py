"""Sources of plots, as the tests of plots have them."""

from tests.report.plots.conftest import source

__all__ = ["source"]
