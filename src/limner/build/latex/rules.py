"""What makes a section the method section, and a figure its picture."""

from __future__ import annotations

from ...core.data_files import StrictModel

Weights = dict[str, float]


class MethodRules(StrictModel):
    """Which headings make a section the method section.

    Attributes:
        yes: Words of its heading, with their weights.
        no: Words that its heading never has.
        before: Headings that stand before it, where its own tells nothing.
        after: Headings that stand after it.
        least_words: A shorter one is not taken.
    """

    yes: Weights
    no: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    least_words: int


class FigureRules(StrictModel):
    """What a figure's file name, caption and place count for.

    Attributes:
        in_method: For standing in the method section.
        panel: For being one of several pictures in a figure.
    """

    names: Weights
    captions: Weights
    in_method: float
    panel: float
