"""Recordings: the numbers that every reporting command gives for one store per exam, kept to compare with later code.

`store` makes a store through the command line, `outputs` asks every command, `normal` drops what may change,
`compare` tells whether numbers are the same. See `python -m tools.recordings --help`.
"""
