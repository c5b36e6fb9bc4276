"""Reproducing a paper: what its tables and figures lack, what that costs, and all of them in one document."""

from .checklist import Checklist, make_checklist
from .request import Reproduction

__all__ = ["Checklist", "Reproduction", "make_checklist"]
