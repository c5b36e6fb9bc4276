"""Painters with a known right outcome."""
