"""A small exam of our own in the format of FEPBench's atom sets, with references drawn by the code beside it."""
