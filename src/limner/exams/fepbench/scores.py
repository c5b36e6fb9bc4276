"""The paper's equations, and the scores of a drawing by them. None stands for what the marks do not settle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.marks import Mark, values
from .data import MODALITIES, ROLES, Atoms, Modality
from .replies import LAYOUT, PARTS

BETA = 0.5
PARTS_OF = {
    **{f"if_{m}": f"mean match of {m} atoms that the prompt asks for" for m in MODALITIES},
    "if_layout": "share of the three layout atoms met",
    **{f"re_{m}": f"mean match of {m} atoms of the reference alone" for m in MODALITIES},
    **{f"sp_{m}": f"share of the {m} content drawn that is supported" for m in MODALITIES},
}
"""The parts of the three scores."""
TITLES = {"if": "IF", "re": "RE", "sp": "SP"}
TITLES |= {name: f"{TITLES[name[:2]]} {name[3:]}" for name in PARTS_OF}
"""The scores and their parts as the paper writes them: IF, IF visual, …"""


def match(gate: int | None, first: int | None, second: int | None) -> float | None:
    """How well one text, visual or relation atom is realised: nothing without its gate, half for each part.

    A match is known as soon as it can have one value only.

    >>> match(1, 1, 0), match(0, 1, 1), match(1, 0, 0)
    (0.5, 0.0, 0.0)
    >>> match(0, None, 1), match(None, 0, 0), match(None, 1, 0), match(1, None, 1)
    (0.0, 0.0, None, None)
    """
    if gate == 0 or (first == 0 and second == 0):
        return 0.0
    if gate is None or first is None or second is None:
        return None
    return BETA * first + BETA * second


def mean(values: Iterable[float | None]) -> float | None:
    """The mean, or None where a value is not known.

    >>> mean([1.0, 0.5]), mean([1.0, None])
    (0.75, None)
    """
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) / len(found) if found and len(known) == len(found) else None


def precision(supported: int, unexpected: int) -> float | None:
    """The share of what is drawn that prompt or reference support; None where nothing is drawn at all.

    >>> precision(3, 1), precision(0, 2), precision(0, 0)
    (0.75, 0.0, None)
    """
    drawn = supported + unexpected
    return 1 - unexpected / drawn if drawn else None


def overall_precision(parts: Sequence[float | None]) -> float | None:
    """The mean of the defined parts; None where none is.

    >>> overall_precision([1.0, 0.5, None]), overall_precision([None, None, None])
    (0.75, None)
    """
    return mean(part for part in parts if part is not None)


def score_atoms(atoms: Atoms, marks: Sequence[Mark]) -> dict[str, float | None]:
    """The scores of one drawing; ``sp`` only where the marks settle all its parts."""
    known = values(marks)
    found: dict[str, float | None] = {}
    for role, name in zip(ROLES, ("if", "re"), strict=True):
        for modality in MODALITIES:
            matches = [
                match(*(known.get(f"{modality}/{atom.id}/{part}") for part in PARTS[modality]))
                for atom in atoms.of(modality)
                if atom.role == role
            ]
            found[f"{name}_{modality}"] = mean(matches)
    found["if_layout"] = mean(known.get(f"layout/{part}") for part in LAYOUT)
    for name in ("if", "re"):
        found[name] = mean(value for key, value in found.items() if key.startswith(f"{name}_"))
    counts = {modality: drawn(atoms, marks, modality) for modality in MODALITIES}
    for modality, count in counts.items():
        found[f"sp_{modality}"] = None if count is None else precision(*count)
    if None not in counts.values():
        found["sp"] = overall_precision([found[f"sp_{modality}"] for modality in MODALITIES])
    return found


def drawn(atoms: Atoms, marks: Sequence[Mark], modality: Modality) -> tuple[int, int] | None:
    """How many gold atoms are realised (their gate is 1) and how many items are unexpected; None where not known."""
    known = values(marks)
    gates = [known.get(f"{modality}/{atom.id}/{PARTS[modality][0]}") for atom in atoms.of(modality)]
    items = sum(mark.criterion.startswith(f"unexpected/{modality}/") for mark in marks)
    nothing = known.get(f"unexpected/{modality}")
    if None in gates or nothing is None or bool(nothing) == bool(items):
        return None
    return gates.count(1), items
