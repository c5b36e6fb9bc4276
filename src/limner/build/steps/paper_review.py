"""Review of papers with their questions: like `review`, for items of this sort."""

from __future__ import annotations

from dataclasses import replace

from .review import STEP as REVIEW

STEP = replace(REVIEW, name="paper-review", takes="paper", makes="paper")
