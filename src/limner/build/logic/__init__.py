"""The logic of a method: its log, its graph, and questions that are checked against the graph. Pure functions."""
