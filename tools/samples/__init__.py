"""Redraws the pictures of the bundled sample exams."""
