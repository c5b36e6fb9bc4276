"""Questions of level 2, about connections between parts."""

from __future__ import annotations

from ..level_questions import level_step

STEP = level_step("topology", "questions of level 2, what leads where?")
