"""Review of prompts with their checklists: like `review`, for items of this sort."""

from __future__ import annotations

from dataclasses import replace

from .review import STEP as REVIEW

STEP = replace(REVIEW, name="prompt-review", takes="prompt", makes="prompt")
