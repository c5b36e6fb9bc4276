"""The kinds of faults, with what each dose means and what must follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import damage, faults
from .faults import DOSES, MakeFault

Effect = Literal["fall", "stand", "open"]
"""What must become of a criterion: it must no longer be met, must still be met, or nobody can say."""


@dataclass(frozen=True)
class FaultKind:
    """A sort of fault in graded doses.

    Attributes:
        name: One word.
        doses: What each dose means.
        make: Makes it; None for kinds that are no change of the reference alone.
        touched: By dose, what must become of criteria that name a label it touches.
        beside: What must become of criteria that name other labels; with ``words`` of those that ask for words alone,
            for what else they ask may be touched.
        keeps_words: Whether the words still stand in the picture, so that a criterion that asks for them alone says
            nothing.
        about: A word for criteria that speak of what is touched, where that is no label.
    """

    name: str
    doses: tuple[str, ...]
    make: MakeFault | None
    touched: tuple[Effect, ...]
    beside: Literal["stand", "words", "open"]
    keeps_words: bool = False
    about: str | None = None


_ALL: tuple[Effect, ...] = ("fall", "fall", "fall")
_GRADUAL: tuple[Effect, ...] = ("stand", "open", "fall")

FAULTS: dict[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind("erase", ("one label", "half of them", "all"), faults.erase_labels, _ALL, "stand"),
        FaultKind("swap", ("one pair", "two pairs", "four pairs"), faults.swap_labels, _ALL, "stand", True),
        FaultKind("misspell", ("one letter", "two letters", "half the letters"), faults.misspell, _ALL, "stand"),
        FaultKind("number", ("last digit", "first digit", "every digit"), faults.change_number, _ALL, "stand"),
        FaultKind("mirror", ("one label", "half of them", "the whole picture"), faults.mirror, _ALL, "stand"),
        FaultKind("blur", ("readable", "hard to read", "unreadable"), damage.blur, _GRADUAL, "open"),
        FaultKind("shrink", ("14-pixel labels", "7 pixels", "3 pixels"), damage.shrink, _GRADUAL, "open"),
        FaultKind("cut", ("15% cut off", "35%", "60%"), damage.cut_off, _ALL, "words"),
        FaultKind("region", ("10% deleted", "25%", "50%"), damage.delete_region, _ALL, "words"),
        FaultKind(
            "arrow", ("a gap in one", "one gone", "all that is drawn gone"), damage.break_arrows,
            ("open", "open", "fall"), "words", about="arrow",
        ),
        FaultKind("unsupported", ("one label", "three", "six"), damage.add_labels, ("open",) * 3, "stand"),
        FaultKind("other", ("another question's reference",), None, ("fall",), "open"),
        FaultKind("plea", ("a hint", "a request", "an order"), damage.plead, _ALL, "open"),
        FaultKind("unseen", ("no picture at all",), None, ("fall",), "open"),
    )
}  # fmt: skip
"""All kinds, in the order they are shown."""
GROSS = DOSES[-1]
"""The dose at which a fault cannot be overlooked."""
