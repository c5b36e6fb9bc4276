"""Calls: the one durable journal under painters, models and probes."""

from ..core.faults import KINDS, STOPPING, TRANSIENT, Fault, Kind
from .budget import Budget, BudgetReached
from .journal import Attempt, Calls, Outcome, Result
from .keys import Request, canonical, digest, purpose, setup_id
from .turns import Limits
from .usage import Bill, bill, charged_to
