"""From stored marks to painters' numbers: entries, the questions painters are compared on, summaries, standings."""

from ..core.evaluator import EvaluatorFilter
from .comparable import ON, Comparable, Cut, On, comparable, comparables
from .entries import FLAGGED, Entry, Group, evaluators_of, load_groups
from .numbers import MET, Numbers, columns, numbers
from .standings import Standing, standings, standings_of
