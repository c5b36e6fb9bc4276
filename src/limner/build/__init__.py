"""Builds: exams made by recipes, from images, topics or papers."""
