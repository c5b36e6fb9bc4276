"""From stored marks to painters' numbers: entries, the questions painters are compared on, summaries, standings."""

from ..core.evaluator import Evaluator, EvaluatorFilter
from .comparable import ON, Comparable, Cut, On, comparable, comparables
from .entries import FLAGGED, Entry, Group, evaluators_of, load_groups, without_flagged
from .numbers import MET, SUMMARIES, Numbers, columns, numbers, score_parts, summary
from .standings import SORTS, Standing, standings, standings_of

__all__ = [
    "FLAGGED",
    "MET",
    "ON",
    "SORTS",
    "SUMMARIES",
    "Comparable",
    "Cut",
    "Entry",
    "Evaluator",
    "EvaluatorFilter",
    "Group",
    "Numbers",
    "On",
    "Standing",
    "columns",
    "comparable",
    "comparables",
    "evaluators_of",
    "load_groups",
    "numbers",
    "score_parts",
    "standings",
    "standings_of",
    "summary",
    "without_flagged",
]
