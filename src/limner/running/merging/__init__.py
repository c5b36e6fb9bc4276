"""Stores are brought together: nothing is lost, nothing doubled, and what contradicts itself is told."""

from .images import copy_images
from .merge import MergeReport, SourceReport, merge
from .rules import RULES, Contradiction, Rule

__all__ = ["RULES", "Contradiction", "MergeReport", "Rule", "SourceReport", "copy_images", "merge"]
