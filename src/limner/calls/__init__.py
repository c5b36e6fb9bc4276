"""Calls: the one durable journal under painters, models and probes."""

from ..core.faults import KINDS, PASSING, STOPPING, Fault, Kind
from .attempts import Attempt, Outcome, Result
from .budget import Budget, BudgetReached
from .journal import Calls
from .keys import Request, canonical, digest, purpose, setup_id
from .rate_limit import Limits
from .tally import charged_to
from .usage import Bill, bill

__all__ = [
    "KINDS",
    "PASSING",
    "STOPPING",
    "Attempt",
    "Bill",
    "Budget",
    "BudgetReached",
    "Calls",
    "Fault",
    "Kind",
    "Limits",
    "Outcome",
    "Request",
    "Result",
    "bill",
    "canonical",
    "charged_to",
    "digest",
    "purpose",
    "setup_id",
]
