"""Calls: the one durable journal under painters, models and probes."""

from .budget import Budget, BudgetReached
from .faults import KINDS, PASSING, STOPPING, Fault, Kind
from .journal import Attempt, Calls, Outcome, Result
from .keys import Request, canonical, digest
from .lanes import Limits
from .purpose import purpose

__all__ = [
    "KINDS",
    "PASSING",
    "STOPPING",
    "Attempt",
    "Budget",
    "BudgetReached",
    "Calls",
    "Fault",
    "Kind",
    "Limits",
    "Outcome",
    "Request",
    "Result",
    "canonical",
    "digest",
    "purpose",
]
