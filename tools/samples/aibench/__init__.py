"""Invented methods with their figures, in the release's layout."""
