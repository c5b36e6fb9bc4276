"""Painters, judges and exams held against each other, from what a store has.

>>> import limner.compare as compare
>>> compare.painters("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.judges("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.exams(["sample/genexam", "sample/mmmg"], store="results")  # doctest: +SKIP
"""

from ..scoring import MET, Comparable, comparable
from .across import Across, Column, exams
from .agreed import Agreement, Order, Twosome
from .pairs import painters
from .raters import Rater
from .results import Comparison, Pair, Place
from .twosomes import judges

__all__ = [
    "MET",
    "Across",
    "Agreement",
    "Column",
    "Comparable",
    "Comparison",
    "Order",
    "Pair",
    "Place",
    "Rater",
    "Twosome",
    "comparable",
    "exams",
    "judges",
    "painters",
]
