"""Comparisons of painters, judges and exams in a store.

>>> import limner.scoring.compare as compare
>>> compare.painters("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.judges("sample/genexam", store="results")  # doctest: +SKIP
>>> compare.exams(["sample/genexam", "sample/mmmg"], store="results")  # doctest: +SKIP
"""

from .. import MET
from .judges import judges
from .opinions import AgreementNumber, Opinion
from .pairs import Across, exams, painters
from .results import Agreement, Comparison, Pair
