"""The page of a study: what raters answer, and what its keepers watch."""

from .app import study_app

__all__ = ["study_app"]
