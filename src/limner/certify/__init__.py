"""Certificates: what a judge sees and misses on faults of known effect, and whether its answers change over time."""
