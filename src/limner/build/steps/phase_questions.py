"""Questions of level 3, about how phases connect."""

from __future__ import annotations

from ..level_questions import level_step

STEP = level_step("phase", "questions of level 3, how do the phases join?")
