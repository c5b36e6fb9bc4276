"""Questions of level 1, about the presence of parts."""

from __future__ import annotations

from ..level_questions import level_step

STEP = level_step("component", "questions of level 1, are the parts there?")
