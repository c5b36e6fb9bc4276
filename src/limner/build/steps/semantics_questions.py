"""Questions of level 4, about the purpose of the whole."""

from __future__ import annotations

from ..level_questions import level_step

STEP = level_step("semantics", "questions of level 4, what is the whole for?")
