"""The page of a review: who was invited judges what a build has made."""

from .app import review_app

__all__ = ["review_app"]
