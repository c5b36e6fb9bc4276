"""Questions of level 4: what is the whole for?"""

from __future__ import annotations

from ..level_questions import level_step

STEP = level_step("semantics", "questions of level 4, what is the whole for?")
