"""A small exam of our own in the layout of MMMG's release, with references drawn by the code beside it."""
