"""How a recipe's items are shown to reviewers: its ``review.toml``, where it has one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ..core.schema import StrictModel, read_model

FILE = "review.toml"


class FieldHint(StrictModel):
    """How one field is shown.

    Attributes:
        kind: ``line`` or ``long`` for texts, ``choice`` among `choices`, ``key`` for one of the keys of its neighbour
            `of`, ``fixed`` for what is shown and not changed, ``hidden`` for what is not shown.
        label: What it is called.
    """

    kind: Literal["line", "long", "choice", "key", "fixed", "hidden"] | None = None
    label: str | None = None
    choices: tuple[str, ...] = ()
    of: str | None = None


class ReviewHints(StrictModel):
    """How items are shown.

    Attributes:
        title: The field that names an item for people.
        guide: What reviewers are asked to look for.
        pictures: Fields with hashes of pictures.
        drawings: Fields with SVG.
        texts: Fields with text to read beside.
        fields: Path of a field, with ``*`` for the places of a list -> how it is shown.
    """

    title: str = ""
    guide: str = "Is it right, clear and complete? Accept it, mend it, add what is missing, or reject it."
    pictures: tuple[str, ...] = ("image",)
    drawings: tuple[str, ...] = ()
    texts: tuple[str, ...] = ("source_text", "caption")
    fields: dict[str, FieldHint] = Field(default_factory=dict)


def read_hints(folder: Path) -> ReviewHints:
    """A recipe's hints, or the usual ones."""
    path = folder / FILE
    return read_model(path, ReviewHints) if path.is_file() else ReviewHints()
