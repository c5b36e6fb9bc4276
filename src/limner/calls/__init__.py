"""Calls: the one durable journal under painters, models and probes."""

from .faults import KINDS, PASSING, STOPPING, Fault, Kind
from .journal import Attempt, Calls, Outcome, Result
from .keys import Request, canonical, digest

__all__ = [
    "KINDS",
    "PASSING",
    "STOPPING",
    "Attempt",
    "Calls",
    "Fault",
    "Kind",
    "Outcome",
    "Request",
    "Result",
    "canonical",
    "digest",
]
