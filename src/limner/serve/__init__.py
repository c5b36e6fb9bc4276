"""Servers of Limner's own: one base for the page of a study and the page of a review."""
