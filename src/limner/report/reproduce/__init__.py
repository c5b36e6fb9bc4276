"""Reproduction of a paper: what its tables and figures lack, what that costs, and a document with all of them."""

from .checklist import Checklist, make_checklist
from .request import Reproduction
