"""A small exam of our own in WorldGenBench's shape, with references drawn by the code beside it."""
