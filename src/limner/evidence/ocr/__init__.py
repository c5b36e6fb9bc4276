"""Readers of text in pictures."""
