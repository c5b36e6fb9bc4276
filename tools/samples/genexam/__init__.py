"""A small exam of our own in the GenExam release layout, with references drawn by the code beside it."""
