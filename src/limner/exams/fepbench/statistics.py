"""What the paper counts on a question."""

from __future__ import annotations

from ...core.exam import Question
from .atoms import MODALITIES, ROLES, Atoms


def atoms(question: Question[Atoms], *kinds: str) -> int:
    """The atoms, or those of the roles and modalities that `kinds` names."""
    roles = [role for role in ROLES if role in kinds] or ROLES
    modalities = [modality for modality in MODALITIES if modality in kinds] or MODALITIES
    return sum(atom.role in roles for modality in modalities for atom in question.rubric.of(modality))
