"""Comparisons of painters, judges and exams in a store.

>>> import limner.scoring.compare as compare
>>> compare.painters("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.judges("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.exams(["sample/genexam", "sample/mmmg"], store="results")  # doctest: +SKIP
"""

from .. import MET, Comparable, comparable
from .across import Across, ExamColumn, exams
from .everyone import Replacement
from .judges import judges
from .opinions import AgreementNumber, Opinion
from .pairs import painters
from .results import Agreement, Comparison, Pair, Place

__all__ = [
    "MET",
    "Across",
    "Agreement",
    "AgreementNumber",
    "Comparable",
    "Comparison",
    "ExamColumn",
    "Opinion",
    "Pair",
    "Place",
    "Replacement",
    "comparable",
    "exams",
    "judges",
    "painters",
]
